"""What `Topology#describe()` says of an application: its subtopologies, their nodes and state stores."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import StrEnum
from graphlib import TopologicalSorter


class NodeKind(StrEnum):
    """What a node of a subtopology does."""

    SOURCE = "source"
    PROCESSOR = "processor"
    SINK = "sink"


@dataclass(frozen=True, slots=True)
class TopologyNode:
    """A node; a source has topics or a pattern, a processor stores, a sink one topic.

    A sink without a topic asks an extractor class for the topic of each record.
    """

    name: str
    kind: NodeKind
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    stores: tuple[str, ...] = ()
    successors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DescribedSubtopology:
    """A subtopology and its nodes in the order of the text; successors are nodes of the same one, no cycles.

    `topology` is the name of a named topology, None of the usual one without a name.
    """

    number: int
    is_global: bool
    nodes: tuple[TopologyNode, ...]
    topology: str | None = None

    @property
    def name(self) -> str:
        """The subtopology as task ids name it."""
        return f"{self.topology}__{self.number}" if self.topology else str(self.number)


@dataclass(frozen=True, slots=True)
class DescribedTopology:
    """All subtopologies in the order of the text; `is_of_broker`: the broker has it, it was not pasted."""

    subtopologies: tuple[DescribedSubtopology, ...]
    is_of_broker: bool = False


@dataclass(frozen=True, slots=True)
class StorePlace:
    """The subtopology that holds a store, and the topics and patterns whose records reach it.

    `is_shared`: several processors have it, and not all of them are fed by the same sources.
    """

    subtopology: str
    source_topics: tuple[str, ...]
    is_global: bool
    patterns: tuple[str, ...] = ()
    is_shared: bool = False


def stores_of(described: DescribedTopology) -> dict[str, StorePlace]:
    """Return where each state store is; in a named topology, names begin with its own, as in changelogs."""
    found: dict[str, StorePlace] = {}
    for subtopology in described.subtopologies:
        sources, feeding = _feeding_sources(subtopology)
        start = f"{subtopology.topology}-" if subtopology.topology else ""
        masks: dict[str, int] = {}
        shared = set()
        for node in subtopology.nodes:
            for store in node.stores:
                if masks.setdefault(store, feeding[node.name]) != feeding[node.name]:
                    shared.add(store)
                masks[store] |= feeding[node.name]
        # Many stores are fed by the same sources: their topics are collected once.
        fed = {mask: _fed_by(mask, sources) for mask in set(masks.values())}
        for store, mask in masks.items():
            topics, patterns = fed[mask]
            is_global, is_shared = subtopology.is_global, store in shared
            place = StorePlace(subtopology.name, topics, is_global, patterns, is_shared)
            found.setdefault(f"{start}{store}", place)
    return found


def with_prefix(
    described: DescribedTopology, prefix: str, known_topics: Collection[str]
) -> DescribedTopology:
    """Return the same with the full names of internal topics, which `describe()` shows without their prefix.

    `prefix` is the application id. A topic gets it where the cluster has no topic of the short name but one
    of the full name; in a named topology, the prefix ends with the topology's name.
    """
    known = frozenset(known_topics)

    def full(topic: str, start: str) -> str:
        return f"{start}-{topic}" if topic not in known and f"{start}-{topic}" in known else topic

    changed = []
    for subtopology in described.subtopologies:
        start = f"{prefix}-{subtopology.topology}" if subtopology.topology else prefix
        nodes = tuple(
            replace(node, topics=tuple(full(topic, start) for topic in node.topics))
            for node in subtopology.nodes
        )
        changed.append(replace(subtopology, nodes=nodes))
    return replace(described, subtopologies=tuple(changed))


def _feeding_sources(
    subtopology: DescribedSubtopology,
) -> tuple[list[TopologyNode], dict[str, int]]:
    """Return the sources, and for each node those that reach it, as bits: bit 0 is the first source."""
    sources = [node for node in subtopology.nodes if node.kind is NodeKind.SOURCE]
    feeding = {node.name: 0 for node in subtopology.nodes}
    for bit, node in enumerate(sources):
        feeding[node.name] = 1 << bit
    successors = {node.name: node.successors for node in subtopology.nodes}
    for name in upstream_first(subtopology.nodes):
        for successor in successors[name]:
            feeding[successor] |= feeding[name]
    return sources, feeding


def upstream_first(nodes: Collection[TopologyNode]) -> tuple[str, ...]:
    """Return names of nodes, each after all that lead to it; raises graphlib.CycleError on a cycle."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for node in nodes:
        sorter.add(node.name)
        for successor in node.successors:
            sorter.add(successor, node.name)
    return tuple(sorter.static_order())


def _fed_by(mask: int, sources: list[TopologyNode]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    bits = reversed(f"{mask:b}")
    feeding = [source for source, bit in zip(sources, bits, strict=False) if bit == "1"]
    topics = dict.fromkeys(topic for source in feeding for topic in source.topics)
    return tuple(topics), tuple(one.pattern for one in feeding if one.pattern is not None)
