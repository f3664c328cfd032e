"""A topology as nodes and edges of a picture, from its description or from what a cluster tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from jobs.streams.topology.described import (
    DescribedSubtopology,
    DescribedTopology,
    NodeKind,
    TopologyNode,
)

GraphKind = Literal["topic", "source", "processor", "sink", "store", "subtopology"]
_REPARTITION = "-repartition"


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node; `subtopology` names the group that it is in, None of what belongs to no single one.

    `note` has a line for each thing that is worth a small line below the label; empty for none.
    """

    key: str
    label: str
    kind: GraphKind
    subtopology: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """Where records go, by the keys of nodes; from a processor to a store means that it uses the store."""

    start: str
    end: str


@dataclass(frozen=True, slots=True)
class TopologyGraph:
    """Nodes with different keys, and edges between them, each once."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class SubtopologyShape:
    """A subtopology from outside: topics that it reads, topics that it writes, its state stores."""

    source_topics: tuple[str, ...]
    sink_topics: tuple[str, ...]
    stores: tuple[str, ...]


def graph_of_description(described: DescribedTopology) -> TopologyGraph:
    """Return every node of every subtopology, with its stores, between the topics."""
    graph = _Building()
    for place, subtopology in enumerate(described.subtopologies):
        for node in subtopology.nodes:
            _add_node(graph, f"{place}", title_of(subtopology), node)
    return graph.built()


def graph_of_subtopologies(shapes: Mapping[str, SubtopologyShape]) -> TopologyGraph:
    """Return subtopologies as single nodes between the topics; the mapping's keys are their ids."""
    graph = _Building()
    for number, shape in shapes.items():
        key = f"subtopology:{number}"
        topics = [graph.topic(topic) for topic in shape.source_topics]
        note = "\n".join(shape.stores)
        graph.add(GraphNode(key, f"Sub-topology {number}", "subtopology", None, note))
        graph.join((topic, key) for topic in topics)
        graph.join((key, graph.topic(topic)) for topic in shape.sink_topics)
    return graph.built()


def shapes_of(described: DescribedTopology) -> dict[str, SubtopologyShape]:
    """Return a description from outside, for what is too large to be drawn node by node.

    A pattern counts as a topic. Ids of named topologies begin with their names.
    """
    found = {}
    for one in described.subtopologies:
        read = (
            topic
            for node in one.nodes
            if node.kind is NodeKind.SOURCE
            for topic in (*node.topics, *([node.pattern] if node.pattern else []))
        )
        written = (
            topic for node in one.nodes if node.kind is NodeKind.SINK for topic in node.topics
        )
        stores = (store for node in one.nodes for store in node.stores)
        number = f"{one.topology}:{one.number}" if one.topology else f"{one.number}"
        # Other tools number global stores from the count of subtopologies on: the number may be taken.
        number += " (global store)" if number in found else ""
        found[number] = SubtopologyShape(
            *(tuple(dict.fromkeys(it)) for it in (read, written, stores))
        )
    return found


def title_of(subtopology: DescribedSubtopology) -> str:
    """Return the title of a subtopology's group; no two of one description have the same."""
    title = f"Sub-topology {subtopology.number}"
    title += " (global store)" if subtopology.is_global else ""
    return f"{subtopology.topology}: {title}" if subtopology.topology else title


@dataclass(slots=True)
class _Building:
    nodes: dict[str, GraphNode] = field(default_factory=dict)
    edges: dict[Edge, None] = field(default_factory=dict)

    def add(self, node: GraphNode) -> str:
        self.nodes.setdefault(node.key, node)
        return node.key

    def topic(self, name: str, note: str = "") -> str:
        note = note or ("repartition topic" if name.endswith(_REPARTITION) else "")
        return self.add(GraphNode(f"topic:{name}", name, "topic", None, note))

    def join(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.edges.update((Edge(start, end), None) for start, end in pairs)

    def built(self) -> TopologyGraph:
        return TopologyGraph(tuple(self.nodes.values()), tuple(self.edges))


def _add_node(graph: _Building, place: str, group: str, node: TopologyNode) -> None:
    key = f"{place}/node/{node.name}"
    kind: GraphKind = node.kind.value
    is_dynamic = node.kind is NodeKind.SINK and not node.topics
    note = "topic from an extractor" if is_dynamic else ""
    if node.kind is NodeKind.SOURCE:
        graph.join((graph.topic(topic), key) for topic in node.topics)
        if node.pattern is not None:
            graph.join([(graph.topic(node.pattern, "topics by pattern"), key)])
    graph.add(GraphNode(key, node.name, kind, group, note))
    graph.join((key, f"{place}/node/{successor}") for successor in node.successors)
    if node.kind is NodeKind.SINK:
        graph.join((key, graph.topic(topic)) for topic in node.topics)
    for store in node.stores:
        held = graph.add(GraphNode(f"{place}/store/{store}", store, "store", group))
        graph.join([(key, held)])
