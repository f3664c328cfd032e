"""Remote topics that belong to somebody else, or to two flows at once."""

import pytest

from jobs.cluster.connection import Connection
from jobs.replication.flow.spec import FlowSpec, OnExisting, PolicyName
from jobs.replication.policy import DefaultReplicationPolicy
from jobs.replication.topics.fan_in import (
    Existing,
    find_collisions,
    keeps_name,
    mixed_sources,
    refuse_existing,
    sources_of_name,
)
from tests.jobs.replication.topics.making import EAST, WEST, flow, topic

NORTH = Connection("north", "127.0.0.1:9292")
IDENTITY = {"policy": PolicyName.IDENTITY}


@pytest.mark.parametrize(
    ("existing", "words"),
    [
        pytest.param(Existing("orders", 0), None, id="empty"),
        pytest.param(
            Existing("orders", 7), "was written up to offset 7, and mm2-offsets.east.internal has no",
            id="written by somebody",
        ),
        pytest.param(
            Existing("orders", 7, is_made_by_crosslog=True), None, id="killed before its first commit"
        ),
        pytest.param(
            Existing("orders", 7, is_made_by_crosslog=True, other_sources=("north",)),
            "is written by a flow from north (see mm2-offsets.north.internal)",
            id="made by a flow from another source",
        ),
        pytest.param(Existing("orders", None), "did not answer", id="not known"),
    ],
)  # fmt: skip
def test_a_topic_that_is_there_is_refused_with_words(existing, words):
    refusal = refuse_existing(flow(**IDENTITY), existing)
    if words is None:
        assert refusal is None
    else:
        assert words in refusal


def test_a_refusal_says_what_to_do():
    refusal = refuse_existing(flow(**IDENTITY), Existing("orders", 7))
    assert "default policy" in refusal
    assert "on_existing to append" in refusal


def test_a_person_may_want_the_mixture():
    spec = flow(on_existing=OnExisting.APPEND, **IDENTITY)
    assert refuse_existing(spec, Existing("orders", 7, other_sources=("north",))) is None


@pytest.mark.parametrize(
    ("settings", "name", "keeps"),
    [
        pytest.param(IDENTITY, "orders", True, id="identity"),
        pytest.param(IDENTITY, "device-heartbeats", False, id="identity renames heartbeats"),
        pytest.param({}, "orders", False, id="default"),
    ],
)
def test_only_names_that_stay_can_meet_a_topic_of_somebody_else(settings, name, keeps):
    assert keeps_name(flow(**settings), name) is keeps


@pytest.mark.parametrize(
    ("positions", "names", "found"),
    [
        pytest.param({"north": ["orders"]}, ["orders"], ("north",), id="it keeps names"),
        pytest.param(
            {"north": ["orders"]}, ["orders", "north.orders"], (), id="it has a topic of its own"
        ),
        pytest.param({"north": ["other"]}, ["orders"], (), id="it copies something else"),
        pytest.param(
            {"south": ["orders"], "north": ["orders"]}, ["orders"], ("north", "south"), id="two"
        ),
    ],
)
def test_another_source_is_told_by_its_positions(positions, names, found):
    assert sources_of_name("orders", positions, names, DefaultReplicationPolicy()) == found


def test_records_that_are_mixed_already_are_told():
    assert "by this flow and by one from north" in mixed_sources(flow(), "orders", ["north"])


def named(name, source=EAST, target=WEST, **settings):
    return FlowSpec(name, source, target, **settings)


TOPICS = {"east": [topic("orders"), topic("e")], "north": [topic("orders"), topic("n")]}


@pytest.mark.parametrize(
    ("flows", "collisions"),
    [
        pytest.param(
            [named("a", **IDENTITY), named("b", NORTH, **IDENTITY)], ["orders"], id="fan-in"
        ),
        pytest.param([named("a"), named("b", NORTH)], [], id="names tell the source"),
        pytest.param([named("a", **IDENTITY), named("b", NORTH)], [], id="one of them renames"),
        pytest.param(
            [named("a", topics=("orders",)), named("b", topics=("e",))], [], id="other topics"
        ),
        pytest.param(
            [named("a"), named("b", topics=("orders",))], ["east.orders"], id="the same topic twice"
        ),
        pytest.param(
            [named("a", **IDENTITY), named("b", NORTH, EAST, **IDENTITY)], [], id="other targets"
        ),
    ],
)
def test_flows_that_write_one_topic_collide(flows, collisions):
    assert [collision.remote_topic for collision in find_collisions(flows, TOPICS)] == collisions


def test_a_collision_names_both_flows_and_sources():
    (found,) = find_collisions([named("a", **IDENTITY), named("b", NORTH, **IDENTITY)], TOPICS)
    assert "a (from orders on east) and b (from orders on north)" in str(found)
