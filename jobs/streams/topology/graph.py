"""A topology as a graph, from its description or from what a cluster tells; its picture as DOT, its list."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from jobs.streams.application import Application
from jobs.streams.topology.described import (
    DescribedSubtopology,
    DescribedTopology,
    NodeKind,
    TopologyNode,
)
from jobs.visible import visible_line

GraphKind = Literal["topic", "source", "processor", "sink", "store", "subtopology"]
_REPARTITION = "-repartition"
_LABEL_WIDTH, _MOST_NOTES = 32, 6
_SHAPES: dict[GraphKind, str] = {
    "topic": ", style=rounded",
    "store": ", shape=cylinder",
    "subtopology": ", shape=component",
}
_FONT = 'fontname="Verdana"'
_HEADS = (
    "rankdir=LR; nodesep=0.15; ranksep=0.4; labeljust=l;",
    f'bgcolor="transparent"; {_FONT}; fontsize=12;',
    f'node [shape=box, {_FONT}, fontsize=11, height=0.35, margin="0.14,0.06"];',
    "edge [arrowsize=0.6];",
)


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node; `subtopology` names the group that it is in, None of what belongs to no single one."""

    key: str
    label: str
    kind: GraphKind
    subtopology: str | None = None
    notes: tuple[str, ...] = ()


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

    def groups(self) -> dict[str | None, list[GraphNode]]:
        """Return the nodes by their subtopologies, those of no single one under None."""
        found: dict[str | None, list[GraphNode]] = {}
        for node in self.nodes:
            found.setdefault(node.subtopology, []).append(node)
        return found


def graph_of_description(described: DescribedTopology) -> TopologyGraph:
    """Return every node of every subtopology, with its stores, between the topics."""
    graph = _Building()
    for place, subtopology in enumerate(described.subtopologies):
        for node in subtopology.nodes:
            _add_node(graph, f"{place}", title_of(subtopology), node)
    return graph.built()


def graph_of_application(application: Application) -> TopologyGraph:
    """Return the subtopologies that run as single nodes between the topics."""
    graph = _Building()
    for number, one in application.subtopologies.items():
        stores = tuple(store.name for store in application.stores_of(number))
        key = graph.add(
            GraphNode(f"subtopology:{number}", f"Subtopology {number}", "subtopology", None, stores)
        )
        graph.join((graph.topic(topic), key) for topic in one.source_topics)
        graph.join((key, graph.topic(topic)) for topic in one.sink_topics or ())
    return graph.built()


def by_subtopologies(graph: TopologyGraph) -> TopologyGraph:
    """Return a graph whose subtopologies are single nodes, for one that is too large to be drawn."""
    coarse = _Building()
    keys: dict[str, str] = {}
    for title, nodes in graph.groups().items():
        if title is None:
            keys |= {node.key: coarse.add(node) for node in nodes}
        else:
            stores = tuple(node.label for node in nodes if node.kind == "store")
            whole = coarse.add(
                GraphNode(f"subtopology:{title}", title, "subtopology", None, stores)
            )
            keys |= dict.fromkeys((node.key for node in nodes), whole)
    pairs = ((keys[edge.start], keys[edge.end]) for edge in graph.edges)
    coarse.join((start, end) for start, end in pairs if start != end)
    return coarse.built()


def title_of(subtopology: DescribedSubtopology) -> str:
    """Return the title of a subtopology's group; no two of one description have the same."""
    title = f"Subtopology {subtopology.number}"
    title += " (global store)" if subtopology.is_global else ""
    return f"{subtopology.topology}: {title}" if subtopology.topology else title


def dot_of(graph: TopologyGraph) -> str:
    """Return a graph in Graphviz's language; names of strangers are text in it, whatever they hold."""
    ids = {node.key: f"n{at}" for at, node in enumerate(graph.nodes)}
    kinds = {node.key: node.kind for node in graph.nodes}
    lines = ["digraph topology {", *(f"  {head}" for head in _HEADS)]
    for at, (title, nodes) in enumerate(graph.groups().items()):
        drawn = [f"  {ids[node.key]} [{_look(node)}];" for node in nodes]
        if title is not None:
            drawn = [
                f"  subgraph cluster_{at} {{",
                f"    label={_quoted([title])};",
                *(f"  {line}" for line in drawn),
                "  }",
            ]
        lines += drawn
    for edge in graph.edges:
        look = ' [class="state", style=dashed, dir=none]' if kinds[edge.end] == "store" else ""
        lines.append(f"  {ids[edge.start]} -> {ids[edge.end]}{look};")
    return "\n".join([*lines, "}", ""])


class ListedNode(NamedTuple):
    """A node of a list in words, and those to which it leads."""

    text: str
    successors: tuple[str, ...]


def outline_of(graph: TopologyGraph) -> list[tuple[str, list[ListedNode]]]:
    """Return the graph as a list: titles of subtopologies, their nodes, and to which each leads."""
    texts = {
        node.key: f"{node.label} ({', '.join([node.kind, *node.notes])})" for node in graph.nodes
    }
    successors: dict[str, list[str]] = {key: [] for key in texts}
    for edge in graph.edges:
        successors[edge.start].append(texts[edge.end])
    return [
        (
            title or "Between subtopologies",
            [ListedNode(texts[node.key], tuple(successors[node.key])) for node in nodes],
        )
        for title, nodes in graph.groups().items()
    ]


def _look(node: GraphNode) -> str:
    more = len(node.notes) - _MOST_NOTES
    notes = node.notes if more <= 1 else (*node.notes[:_MOST_NOTES], f"and {more} more")
    shape = _SHAPES.get(node.kind, "")
    return f'label={_quoted([node.label, *notes])}, class="{node.kind}"{shape}'


_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "&": "&amp;"})


def _quoted(texts: Iterable[str]) -> str:
    """Return texts as the lines of a label, without escapes and entities of Graphviz (`\\N`, `&lt;`)."""
    lines = (
        line
        for text in texts
        for line in textwrap.wrap(visible_line(text), _LABEL_WIDTH, drop_whitespace=False)
    )
    return '"' + r"\n".join(line.translate(_ESCAPES) for line in lines) + '"'


@dataclass(slots=True)
class _Building:
    nodes: dict[str, GraphNode] = field(default_factory=dict)
    edges: dict[Edge, None] = field(default_factory=dict)

    def add(self, node: GraphNode) -> str:
        self.nodes.setdefault(node.key, node)
        return node.key

    def topic(self, name: str, *notes: str) -> str:
        if not notes and name.endswith(_REPARTITION):
            notes = ("repartition topic",)
        return self.add(GraphNode(f"topic:{name}", name, "topic", None, notes))

    def join(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.edges.update((Edge(start, end), None) for start, end in pairs)

    def built(self) -> TopologyGraph:
        return TopologyGraph(tuple(self.nodes.values()), tuple(self.edges))


def _add_node(graph: _Building, place: str, group: str, node: TopologyNode) -> None:
    key = f"{place}/node/{node.name}"
    kind: GraphKind = node.kind.value
    is_dynamic = node.kind is NodeKind.SINK and not node.topics
    notes = ("topic from an extractor",) if is_dynamic else ()
    if node.kind is NodeKind.SOURCE:
        graph.join((graph.topic(topic), key) for topic in node.topics)
        if node.pattern is not None:
            graph.join([(graph.topic(node.pattern, "topics by pattern"), key)])
    graph.add(GraphNode(key, node.name, kind, group, notes))
    graph.join((key, f"{place}/node/{successor}") for successor in node.successors)
    if node.kind is NodeKind.SINK:
        graph.join((key, graph.topic(topic)) for topic in node.topics)
    for store in node.stores:
        held = graph.add(GraphNode(f"{place}/store/{store}", store, "store", group))
        graph.join([(key, held)])
