"""Remote topics grow with their source topics, never shrink, and say when a key moves."""

import pytest

from jobs.replication.flow.spec import PolicyName
from jobs.replication.topics.changes import plan_growth
from tests.jobs.replication.topics.making import flow


def grow(wanted, there, cleanup_policy="delete", **settings):
    return plan_growth(flow(**settings), "orders", "east.orders", (wanted, there), cleanup_policy)


def test_a_remote_topic_with_fewer_partitions_grows_to_the_source_s_number():
    growth = grow(6, 4)
    assert (growth.before, growth.after, growth.warnings) == (4, 6, ())
    assert (
        str(growth.change())
        == "east.orders partitions: 4 -> 6 (The source topic orders has 6 partitions.)"
    )


@pytest.mark.parametrize(
    ("wanted", "there", "settings"),
    [
        pytest.param(4, 4, {}, id="as many"),
        pytest.param(4, 6, {}, id="more: never shrunk"),
        pytest.param(6, 4, {"grow_partitions": False}, id="the flow may not"),
    ],
)
def test_other_remote_topics_stay_as_they_are(wanted, there, settings):
    assert grow(wanted, there, **settings) is None


@pytest.mark.parametrize(
    ("policy", "cleanup_policy", "words"),
    [
        pytest.param(PolicyName.DEFAULT, "delete", [], id="no other writer, nothing is compacted"),
        pytest.param(
            PolicyName.IDENTITY, "delete", ["sends keys to other partitions"], id="names stay"
        ),
        pytest.param(PolicyName.DEFAULT, "compact", ["is compacted"], id="compacted"),
        pytest.param(PolicyName.DEFAULT, "compact,delete", ["is compacted"], id="compacted, too"),
        pytest.param(
            PolicyName.IDENTITY, "compact", ["sends keys", "is compacted"], id="both at once"
        ),
    ],
)
def test_growth_where_keys_matter_is_a_finding(policy, cleanup_policy, words):
    warnings = grow(3, 1, cleanup_policy, policy=policy).warnings
    assert len(warnings) == len(words)
    assert all(word in text for word, text in zip(words, warnings, strict=True))
