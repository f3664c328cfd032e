"""The description that a broker has (KIP-1331) becomes the text that a person would paste, or is not used."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs import limits
from jobs.cluster.group_members import (
    StreamsDescription,
    StreamsGroup,
    StreamsNode,
    StreamsSubtopology,
)
from jobs.cluster.protocol.groups.streams import read_streams_groups
from jobs.streams.topology.described import with_prefix
from jobs.streams.topology.from_broker import broker_text, read_broker_text
from jobs.streams.topology.reading import read_description
from tests.jobs.cluster.protocol.groups import test_streams

KAFKA_4_4 = json.loads(
    Path(test_streams.__file__).with_name("streams_describe_4.4.0.json").read_text("utf-8")
)
SINK = StreamsNode("sink", 3, ("totals",))
COUNT = StreamsNode("count", 2, (), ("totals",), ("sink",))


def group(*nodes, read=("orders",), name="0", **fields):
    part = StreamsSubtopology("0", read, ("app-by-day-repartition",), (), ())
    told = StreamsDescription(((name, nodes),))
    values = {"description_status": 3, "description": told} | fields
    return StreamsGroup("app", "Stable", 1, 1, 1, (part,), (), **values)


def source(*topics, name="source", into=("count",)):
    return StreamsNode(name, 1, topics, (), into)


def nodes_of(one):
    return {
        node.name: (node.kind, node.topics, node.stores, {*node.successors}) for node in one.nodes
    }


def test_what_a_real_broker_has_is_what_the_application_prints():
    seen = read_streams_groups(bytes.fromhex(KAFKA_4_4["response_hex"]), 1)["orders-app"]
    text, why = broker_text(seen)
    by_broker = read_broker_text(text)
    topics = {topic for one in seen.subtopologies for topic in one.repartition_source_topics}
    printed = with_prefix(read_description(KAFKA_4_4["topology"]), "orders-app", topics)
    assert why == ""
    assert by_broker.is_of_broker
    assert [nodes_of(one) for one in by_broker.subtopologies] == [
        nodes_of(one) for one in printed.subtopologies
    ]


def test_a_source_by_pattern_reads_what_no_other_source_names():
    read = ("hay-east", "hay-west", "orders")
    text, _ = broker_text(
        group(source(), source("orders", "by-day-repartition", name="s2"), COUNT, SINK, read=read)
    )
    assert read_description(text).subtopologies[0].nodes[0].topics == ("hay-east", "hay-west")


def test_a_global_store_follows_the_subtopologies():
    told = StreamsDescription(
        (("0", (source("orders"), COUNT, SINK)),),
        ((source("rates", name="r", into=("t",)), StreamsNode("t", 2, (), ("table",))),),
    )
    _, table = read_description(broker_text(group(description=told))[0]).subtopologies
    assert (table.number, table.is_global, table.nodes[1].stores) == (1, True, ("table",))


@pytest.mark.parametrize(
    ("told", "why"),
    [
        pytest.param(group(description=None, description_status=0), "", id="not requested"),
        pytest.param(group(description=None, description_status=1), "", id="not stored"),
        pytest.param(group(description=None, description_status=2), "could not get", id="error"),
        pytest.param(group(source("orders"), name="first"), "no number", id="no number"),
        pytest.param(group(StreamsNode("n", 7)), "kind 7", id="unknown kind"),
        pytest.param(group(source(), source(name="s2"), COUNT, SINK), "patterns", id="two patterns"),
        pytest.param(group(source("orders")), "arrows lead nowhere", id="no such successor"),
        pytest.param(
            group(StreamsNode("a\n  Sink: b (topic: c)", 2)), "its names hold", id="a line in a name"
        ),
        pytest.param(
            group(StreamsNode("a" * (limits.DESCRIPTION + 1), 2)), "larger than", id="too large"
        ),
        pytest.param(group(StreamsNode("\ud800", 2, (), ("s",))), "", id="half a pair"),
    ],
)  # fmt: skip
def test_without_a_description_it_is_said_why(told, why):
    text, said = broker_text(told)
    assert text == "" or not why
    assert why in said


NAMES = st.text("ab-0 ,]:(\n", min_size=1, max_size=6)


@settings(deadline=None)
@given(
    st.lists(
        st.builds(
            StreamsNode, NAMES, st.integers(1, 3), st.lists(NAMES, max_size=2).map(tuple),
            st.lists(NAMES, max_size=2).map(tuple), st.lists(NAMES, max_size=2).map(tuple),
        ),
        max_size=4,
    )
)  # fmt: skip
def test_a_text_says_what_was_told_or_there_is_none(nodes):
    text, why = broker_text(group(*nodes))
    assert bool(text) != bool(why)
    if text:
        own = read_description(text).subtopologies[0].nodes
        assert [one.name for one in own] == [one.name for one in nodes]
        assert [one.successors for one in own] == [one.successors for one in nodes]


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(
            group(source("orders"), COUNT, SINK, name="9" * 5_000), id="number without end"
        ),
        pytest.param(
            group(source("orders", into=("co\0unt",)), replace(COUNT, name="co\0unt"), SINK),
            id="NUL",
        ),
    ],
)
def test_a_name_that_no_row_takes_is_not_used(one):
    text, why = broker_text(one)
    assert (text, "is not used" in why) == ("", True)


def test_a_description_of_a_group_without_topology_still_has_its_stores():
    text, _ = broker_text(replace(group(source("orders"), COUNT, SINK), subtopologies=None))
    assert "stores: [totals]" in text
