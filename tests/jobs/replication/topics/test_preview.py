"""The preview: every topic of the source, selected or not and why, and what would be made."""

import json

import pytest

from jobs.replication.flow.spec import PolicyName
from jobs.replication.topics.preview import PreviewInput, preview_topics
from tests.jobs.replication.topics.making import flow, override, topic


def preview(described, target=(), *, configs=None, refused=None, **settings):
    known = PreviewInput(
        [described],
        {there.name: there for there in target},
        {described.name: configs or {}},
        1,
        refused or {},
    )
    (found,) = preview_topics(flow(**settings), known)
    return found


def test_a_topic_that_is_not_selected_says_why_and_makes_nothing():
    found = preview(topic("orders", 2), topics=("other",))
    assert (found.is_selected, found.remote_topic, found.creates) == (False, "", None)
    assert found.reason == "No pattern of the flow's topics matches it."
    assert found.partitions == 2


def test_a_new_remote_topic_is_shown_as_it_would_be_made():
    found = preview(topic("orders", 2, replicas=3), configs={"segment.ms": override("8")})
    assert (found.is_selected, found.remote_topic) == (True, "east.orders")
    assert (found.creates.partitions, found.creates.replication_factor) == (2, 1)
    assert "only 1 live brokers" in found.creates.replication_factor_from
    assert found.creates.configs["segment.ms"] == "8"


def test_a_remote_topic_that_is_there_is_not_made_again():
    found = preview(topic("orders"), [topic("east.orders")])
    assert (found.creates, found.grows) == (None, None)


def test_a_remote_topic_that_would_grow_says_from_where_to_where():
    found = preview(topic("orders", 3), [topic("orders", 1)], policy=PolicyName.IDENTITY)
    assert found.grows == (1, 3)
    assert "sends keys to other partitions" in found.warnings[0]


def test_a_refused_topic_is_not_made_and_says_why():
    found = preview(
        topic("orders", 3),
        [topic("orders")],
        refused={"orders": "It is not ours."},
        policy=PolicyName.IDENTITY,
    )
    assert found.warnings == ("It is not ours.",)
    assert (found.creates, found.grows) == (None, None)


def test_a_surprise_is_beside_its_topic():
    assert "west has no topic orders" in preview(topic("west.orders")).warnings[0]


def test_a_name_that_gets_too_long_is_told():
    assert "has 250 letters; Kafka allows 249" in preview(topic("x" * 245)).warnings[0]


def test_what_is_not_known_of_the_target_is_not_guessed():
    (found,) = preview_topics(flow(), PreviewInput([topic("west.orders")]))
    assert (found.creates, found.warnings) == (None, ())


def test_a_preview_is_json():
    values = json.loads(json.dumps(preview(topic("orders")).to_mapping()))
    assert values["creates"]["partitions"] == 1
    assert "needed" not in values["creates"]


LEAST = {"min.insync.replicas": override("2")}


@pytest.mark.parametrize(
    ("facts", "configs", "words"),
    [
        pytest.param({"limits_min_isr": False}, LEAST, "west has brokers before Kafka 3.7, and they refuse",
                     id="an old target"),
        pytest.param({}, LEAST, "where west has brokers before Kafka 3.7, they refuse", id="not known"),
        pytest.param({"limits_min_isr": True}, LEAST, "", id="a new target"),
        pytest.param({"min_isr": 2}, {}, "min.insync.replicas 2", id="the target's own number"),
        pytest.param({"min_isr": 2}, {"min.insync.replicas": override("1")}, "", id="the topic's is smaller"),
        pytest.param({"min_isr": 1}, {}, "", id="enough replicas"),
    ],
)  # fmt: skip
def test_a_remote_topic_that_an_old_target_would_not_let_be_written_is_told(facts, configs, words):
    known = PreviewInput([topic("orders", 2, replicas=3)], {}, {"orders": configs}, 1, **facts)
    (found,) = preview_topics(flow(config_properties_exclude=()), known)
    assert words in " ".join(found.warnings)
    assert bool(found.warnings) is bool(words)
