"""A topology as a graph: node by node from a description, or subtopologies as boxes."""

from jobs.streams.topology.graph import (
    Edge,
    GraphNode,
    SubtopologyShape,
    graph_of_description,
    graph_of_subtopologies,
    shapes_of,
)
from jobs.streams.topology.reading import read_description
from tests.jobs.streams.topology.descriptions import ORDERS, description


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
    assert groups["customers"] == groups["KSTREAM-SINK-0000000013"] == "Sub-topology 1"
    assert groups["regions"] == "Sub-topology 2 (global store)"
    assert {node.subtopology for node in nodes if node.kind == "topic"} == {None}


def test_notes_tell_repartition_topics_patterns_and_extractors():
    text = description(
        "Source: a (topics: eu-.*)",
        "Source: b (topics: [x-repartition])",
        "Sink: c (extractor class: E)",
    )
    notes = {node.label: node.note for node in graph_of_description(read_description(text)).nodes}
    assert notes == {
        "eu-.*": "topics by pattern",
        "a": "",
        "x-repartition": "repartition topic",
        "b": "",
        "c": "topic from an extractor",
    }


def test_a_node_and_a_store_of_one_name_are_two():
    text = description("Processor: store/x (stores: [x, node/store/x])")
    nodes = graph_of_description(read_description(text)).nodes
    assert len({node.key for node in nodes}) == 3


def test_without_a_description_subtopologies_are_boxes_between_topics():
    shapes = {
        "0": SubtopologyShape(("orders",), ("app-x-repartition",), ()),
        "1": SubtopologyShape(("app-x-repartition",), (), ("totals", "seen")),
    }
    graph = graph_of_subtopologies(shapes)
    assert (
        GraphNode("subtopology:1", "Sub-topology 1", "subtopology", None, "totals\nseen")
        in graph.nodes
    )
    assert named(graph) == {
        ("topic orders", "subtopology Sub-topology 0"),
        ("subtopology Sub-topology 0", "topic app-x-repartition"),
        ("topic app-x-repartition", "subtopology Sub-topology 1"),
    }


def test_an_edge_is_there_once():
    graph = graph_of_subtopologies({"0": SubtopologyShape(("a", "a"), (), ())})
    assert graph.edges == (Edge("topic:a", "subtopology:0"),)


def test_a_description_has_shapes_too():
    assert shapes_of(read_description(ORDERS)) == {
        "0": SubtopologyShape(("orders",), ("by-customer-repartition",), ()),
        "1": SubtopologyShape(
            ("by-customer-repartition", "customers"),
            ("orders-enriched",),
            ("customers", "totals-by-customer"),
        ),
        "2": SubtopologyShape(("regions",), (), ("regions",)),
    }
