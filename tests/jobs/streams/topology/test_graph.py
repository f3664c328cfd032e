"""A topology as a graph: from a description, or subtopologies as nodes; its DOT text and its list."""

import re

import pytest

from jobs.streams.application import Application, Protocol, Subtopology
from jobs.streams.topology.graph import (
    Edge,
    GraphNode,
    TopologyGraph,
    by_subtopologies,
    dot_of,
    graph_of_application,
    graph_of_description,
    outline_of,
)
from jobs.streams.topology.reading import read_description
from tests.jobs.streams.topology.descriptions import (
    HOSTILE_NAMES,
    ORDERS,
    description,
    hostile_topology,
)


def named(graph):
    """Return edges as labels."""
    labels = {node.key: f"{node.kind} {node.label}" for node in graph.nodes}
    return {(labels[edge.start], labels[edge.end]) for edge in graph.edges}


def test_topics_lead_to_sources_sinks_to_topics_and_processors_to_their_stores():
    assert named(graph_of_description(read_description(ORDERS))) >= {
        ("topic orders", "source KSTREAM-SOURCE-0000000000"),
        ("source KSTREAM-SOURCE-0000000000", "processor KSTREAM-KEY-SELECT-0000000001"),
        ("sink by-customer-repartition-sink", "topic by-customer-repartition"),
        ("topic by-customer-repartition", "source by-customer-repartition-source"),
        ("processor KSTREAM-JOIN-0000000012", "store customers"),
        ("processor KTABLE-SOURCE-0000000011", "store customers"),
    }


def test_nodes_and_stores_are_in_their_subtopology_and_topics_in_none():
    nodes = graph_of_description(read_description(ORDERS)).nodes
    groups = {node.label: node.subtopology for node in nodes if node.kind in {"store", "sink"}}
    assert groups["customers"] == groups["KSTREAM-SINK-0000000013"] == "Subtopology 1"
    assert groups["regions"] == "Subtopology 2 (global store)"
    assert {node.subtopology for node in nodes if node.kind == "topic"} == {None}


def test_notes_tell_repartition_topics_patterns_and_extractors():
    text = description(
        "Source: a (topics: eu-.*)",
        "Source: b (topics: [x-repartition])",
        "Sink: c (extractor class: E)",
    )
    notes = {node.label: node.notes for node in graph_of_description(read_description(text)).nodes}
    assert notes == {
        "eu-.*": ("topics by pattern",),
        "a": (),
        "x-repartition": ("repartition topic",),
        "b": (),
        "c": ("topic from an extractor",),
    }


def test_a_node_and_a_store_of_one_name_are_two():
    text = description("Processor: store/x (stores: [x, node/store/x])")
    nodes = graph_of_description(read_description(text)).nodes
    assert len({node.key for node in nodes}) == 3


def running(*subtopologies):
    """Return an application whose members told these subtopologies."""
    by_name = {one.subtopology: one for one in subtopologies}
    return Application("app", Protocol.STREAMS, "Stable", 0, (), by_name, {}, {}, None, {})


def test_without_a_description_subtopologies_are_nodes_between_topics():
    graph = graph_of_application(
        running(
            Subtopology("0", ("orders",), 4, sink_topics=("app-x-repartition",)),
            Subtopology("1", ("app-x-repartition",), 4),
        )
    )
    assert named(graph) == {
        ("topic orders", "subtopology Subtopology 0"),
        ("subtopology Subtopology 0", "topic app-x-repartition"),
        ("topic app-x-repartition", "subtopology Subtopology 1"),
    }


def test_an_edge_is_there_once():
    graph = graph_of_application(running(Subtopology("0", ("a", "a"), 1)))
    assert graph.edges == (Edge("topic:a", "subtopology:0"),)


def test_a_description_is_drawn_by_subtopologies_too():
    graph = by_subtopologies(graph_of_description(read_description(ORDERS)))
    assert named(graph) == {
        ("topic orders", "subtopology Subtopology 0"),
        ("subtopology Subtopology 0", "topic by-customer-repartition"),
        ("topic by-customer-repartition", "subtopology Subtopology 1"),
        ("topic customers", "subtopology Subtopology 1"),
        ("subtopology Subtopology 1", "topic orders-enriched"),
        ("topic regions", "subtopology Subtopology 2 (global store)"),
    }
    notes = {node.label: node.notes for node in graph.nodes if node.kind == "subtopology"}
    assert notes["Subtopology 1"] == ("customers", "totals-by-customer")


def test_dot_has_subtopologies_as_clusters_and_kinds_as_shapes_and_classes():
    dot = dot_of(graph_of_description(read_description(ORDERS)))
    assert re.findall(r"subgraph \w+ \{\s+label=(.*);", dot) == [
        '"Subtopology 0"',
        '"Subtopology 1"',
        '"Subtopology 2 (global store)"',
    ]
    assert '[label="orders", class="topic", style=rounded];' in dot
    assert '[label="totals-by-customer", class="store", shape=cylinder];' in dot
    assert '[label="KSTREAM-SINK-0000000013", class="sink"];' in dot
    assert dot.count("->") == 18
    assert dot.count('[class="state", style=dashed, dir=none]') == 4


# What Graphviz's lexer takes: words, numbers, signs, and quoted text with escapes.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*|[\d.]+|->|[][{}=,;]|\s+')


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_name_is_one_quoted_text(name):
    dot = dot_of(TopologyGraph((GraphNode("x", name, "topic"),), ()))
    plain = dot_of(TopologyGraph((GraphNode("x", "plain", "topic"),), ()))
    assert "".join(_TOKEN.findall(dot)) == dot
    assert re.sub(r'"(?:[^"\\]|\\.)*"', "", dot) == re.sub(r'"[^"]*"', "", plain)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("\\N", r"\\N"),
        ('"]', r"\"]"),
        ("&lt;", "&amp;lt;"),
        ("a\nb", r"a\\u000ab"),
        ("by-customer-and-by-region-and-by-day", r"by-customer-and-by-region-and-\nby-day"),
        ("x" * 40, "x" * 32 + r"\n" + "x" * 8),
    ],
    ids=["escape", "quote", "entity", "end of a line", "long", "long without a seam"],
)
def test_a_label_shows_the_name_itself(name, label):
    assert f'label="{label}"' in dot_of(TopologyGraph((GraphNode("x", name, "topic"),), ()))


def test_many_notes_are_counted():
    node = GraphNode("x", "x", "subtopology", None, tuple("abcdefgh"))
    assert r'"x\na\nb\nc\nd\ne\nf\nand 2 more"' in dot_of(TopologyGraph((node,), ()))


def test_the_list_has_subtopologies_their_nodes_and_what_each_leads_to():
    listed = dict(outline_of(graph_of_description(read_description(ORDERS))))
    assert list(listed) == [
        "Between subtopologies",
        "Subtopology 0",
        "Subtopology 1",
        "Subtopology 2 (global store)",
    ]
    found = {one.text: one.successors for nodes in listed.values() for one in nodes}
    assert found["by-customer-repartition (topic, repartition topic)"] == (
        "by-customer-repartition-source (source)",
    )
    assert found["KSTREAM-JOIN-0000000012 (processor)"] == (
        "KSTREAM-SINK-0000000013 (sink)",
        "customers (store)",
    )


def test_the_list_has_names_as_they_are():
    listed = outline_of(graph_of_description(read_description(hostile_topology())))
    texts = {one.text for _, nodes in listed for one in nodes}
    assert {f"{name} (store)" for name in HOSTILE_NAMES} <= texts
