"""Which topics a flow replicates, against MirrorMaker 2's answers, and the reasons that people see."""

import pytest

from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicDescription
from jobs.replication.flow.selection import (
    GroupFilter,
    TopicFilter,
    copies_heartbeats,
    explain_topic,
    group_filter_of,
    policy_of,
    replicates_topic,
    select_topics,
    should_replicate,
)
from jobs.replication.flow.spec import FlowSpec, HeartbeatsTo, PolicyName
from jobs.replication.policy import DefaultReplicationPolicy, IdentityReplicationPolicy
from tests.jobs.replication.policies import FILE, policy_from
from tests.support import conformance_cases

FILTERS = {
    "accepts all": TopicFilter((".*",)),
    "rejects all": TopicFilter(),
    "DefaultTopicFilter without configuration": TopicFilter(),
}
EAST = Connection("east", "127.0.0.1:9092")
WEST = Connection("west", "127.0.0.1:9192")


def flow(**settings):
    return FlowSpec("f", EAST, WEST, **settings)


def topic(name, *, is_internal=False):
    return TopicDescription(name, "id", is_internal=is_internal, partitions=())


@pytest.mark.parametrize("case", conformance_cases(FILE, "should_replicate"))
def test_topics_are_replicated_as_upstream_does(case):
    answer = replicates_topic(
        policy_from(case["policy"]),
        FILTERS[case["topic_filter"]],
        case["topic"],
        target_alias=case["target_alias"],
        heartbeats_replication_enabled=case["heartbeats_replication_enabled"],
    )
    assert answer is case["expected"]


@pytest.mark.parametrize(
    ("pattern", "name", "accepted"),
    [
        pytest.param("orders", "orders", True, id="the name itself"),
        pytest.param("orders", "orders2", False, id="a pattern matches the whole name"),
        pytest.param("a|b", "b", True, id="an alternative"),
        pytest.param("o.*", "orders", True, id="a prefix"),
        pytest.param("o{1,2}", "oo", True, id="a comma inside a pattern splits nothing"),
        pytest.param("(?i)ORDERS", "orders", True, id="a flag belongs to its own pattern"),
    ],
)
def test_patterns_match_whole_names(pattern, name, accepted):
    assert TopicFilter(("never", pattern)).accepts(name) is accepted


def test_what_is_excluded_is_never_included():
    assert not GroupFilter((".*",), ("tmp-.*",)).accepts("tmp-1")


@pytest.mark.parametrize(
    ("settings", "described", "selected", "words"),
    [
        pytest.param({}, topic("orders"), True, "matches the pattern .*", id="selected"),
        pytest.param({"topics": ("a",)}, topic("b"), False, "No pattern", id="not named"),
        pytest.param(
            {"topics_exclude": ("b.*",)},
            topic("bb"),
            False,
            "excluded by the pattern b.*",
            id="out",
        ),
        pytest.param({}, topic("__x"), False, "internal topic", id="internal by its name"),
        pytest.param({}, topic("x", is_internal=True), False, "internal topic", id="internal"),
        pytest.param({}, topic("west.t"), False, "remote topic from west", id="a cycle"),
        pytest.param(
            {}, topic("a.west.t"), False, "remote topic from west", id="a cycle over two hops"
        ),
        pytest.param({}, topic("east.t"), False, "from east itself", id="a topic of the source"),
        pytest.param(
            {}, topic("a.east.t"), False, "from east itself", id="differing aliases, a hop further"
        ),
        pytest.param({}, topic("a.b.t"), True, "matches", id="from elsewhere over two hops"),
        pytest.param(
            {"policy": PolicyName.IDENTITY}, topic("west.t"), True, "matches", id="identity"
        ),
        pytest.param(
            {"policy": PolicyName.IDENTITY},
            topic("east.t"),
            True,
            "matches",
            id="identity tells no origin",
        ),
        pytest.param(
            {"separator": "_"},
            topic("west_t"),
            False,
            "remote topic from west",
            id="another separator",
        ),
        pytest.param({}, topic("heartbeats"), True, "matches", id="heartbeats that match"),
        pytest.param(
            {"topics": ("a",)},
            topic("heartbeats"),
            False,
            "No pattern",
            id="heartbeats that do not",
        ),
    ],
)
def test_every_answer_has_a_reason(settings, described, selected, words):
    found = explain_topic(flow(**settings), described)
    assert found.selected is selected
    assert words in found.reason
    if not described.is_internal:
        assert should_replicate(flow(**settings), described.name) is selected


@pytest.mark.parametrize(
    ("settings", "name", "copied"),
    [
        pytest.param({"topics": ("a",)}, "heartbeats", True, id="whatever the patterns say"),
        pytest.param({"topics_exclude": ("h.*",)}, "heartbeats", True, id="although excluded"),
        pytest.param({"topics": ("a",)}, "far.heartbeats", True, id="those of a hop further"),
        pytest.param({"topics": ("a",)}, "west.heartbeats", False, id="not back to the target"),
        pytest.param({"topics": ("a",)}, "east.heartbeats", False, id="not the source's own"),
        pytest.param({}, "heartbeats", False, id="not twice where a pattern names them"),
        pytest.param({"topics": ("a",)}, "orders", False, id="no other topic"),
        pytest.param(
            {"topics": ("a",), "heartbeats": HeartbeatsTo.NONE},
            "heartbeats",
            False,
            id="not where no heartbeats are wanted",
        ),
    ],
)
def test_heartbeats_are_copied_beside_the_topics_of_a_flow(settings, name, copied):
    assert copies_heartbeats(flow(**settings), name) is copied


def test_topics_keep_their_order():
    described = [topic("b"), topic("__c"), topic("a")]
    assert [t.name for t in select_topics(flow(), described)] == ["b", "a"]


def test_the_flow_chooses_the_policy():
    assert policy_of(flow(separator="-")).format_remote_topic("east", "t") == "east-t"
    assert isinstance(policy_of(flow()), DefaultReplicationPolicy)
    identity = policy_of(flow(policy=PolicyName.IDENTITY))
    assert isinstance(identity, IdentityReplicationPolicy)
    assert identity.topic_source("t") == "east"


@pytest.mark.parametrize(
    ("group", "accepted"), [("billing", True), ("console-consumer-1", False), ("connect-x", False)]
)
def test_groups_have_mirror_makers_defaults(group, accepted):
    assert group_filter_of(flow()).accepts(group) is accepted
