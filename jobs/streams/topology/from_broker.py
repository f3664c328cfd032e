"""The description of a topology that the broker has (KIP-1331), as the text of `Topology#describe()`. Pure.

Members tell it to the broker: untrusted. What reads a pasted text reads this one, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from jobs import limits
from jobs.cluster.group_members import (
    DescriptionStatus,
    StreamsDescription,
    StreamsGroup,
    StreamsNode,
)
from jobs.streams.topology.described import (
    DescribedSubtopology,
    DescribedTopology,
    NodeKind,
    TopologyNode,
)
from jobs.streams.topology.reading import DescriptionError, read_description

_KINDS = dict(enumerate(NodeKind, start=1))
_SOURCE = 1
_MOST_DIGITS = 9
_ERROR = "The broker could not get the description of the topology: its log says why."
_UNUSED = "The description that the broker has is not used."
_DAMAGED = "Its arrows lead nowhere or in a circle, or its names hold what separates names."


def broker_text(group: StreamsGroup) -> tuple[str, str]:
    """Return the description that the broker has of a group, as text, and a sentence on why there is none.

    Both are empty where the broker has none, which is usual: it takes a plugin of the broker.
    """
    if group.description is None:
        return "", _ERROR if group.description_status == DescriptionStatus.ERROR else ""
    try:
        described = described_by_broker(group, group.description)
    except DescriptionError as wrong:
        return "", f"{_UNUSED} {wrong}"
    text = text_of(described)
    if len(text.encode(errors="surrogatepass")) > limits.DESCRIPTION:
        return "", f"{_UNUSED} It is larger than {limits.DESCRIPTION:,} bytes."
    return (text, "") if _says(text, described) else ("", f"{_UNUSED} {_DAMAGED}")


def _says(text: str, described: DescribedTopology) -> bool:
    try:
        # No column takes NUL.
        return "\0" not in text and read_description(text) == described
    except DescriptionError:
        return False


def read_broker_text(text: str) -> DescribedTopology | None:
    """Return the description of a text of `broker_text`; None without one."""
    return replace(read_description(text), is_of_broker=True) if text else None


def described_by_broker(group: StreamsGroup, told: StreamsDescription) -> DescribedTopology:
    """Return a description of a group; global stores are numbered behind the subtopologies.

    Raises DescriptionError.
    """
    found = []
    for name, nodes in told.subtopologies:
        if not (name.isascii() and name.isdigit() and len(name) <= _MOST_DIGITS):
            raise DescriptionError("A subtopology has no number.")
        own = tuple(_nodes(nodes, group, name))
        found.append(DescribedSubtopology(int(name), is_global=False, nodes=own))
    for at, pair in enumerate(told.global_stores, start=len(found)):
        found.append(DescribedSubtopology(at, is_global=True, nodes=tuple(_nodes(pair, group))))
    return DescribedTopology(tuple(found))


def text_of(described: DescribedTopology) -> str:
    """Return a description as `Topology#describe()` prints it, without the arrows back."""
    return "\n".join(("Topologies:", *_lines(described), ""))


def _lines(described: DescribedTopology) -> Iterator[str]:
    for one in described.subtopologies:
        end = " for global store (will not generate tasks)" if one.is_global else ""
        yield f"  Sub-topology: {one.number}{end}"
        for node in one.nodes:
            yield f"    {_told(node)}"
            yield f"      --> {', '.join(node.successors) or 'none'}"


def _told(node: TopologyNode) -> str:
    if node.kind is NodeKind.SOURCE:
        return f"Source: {node.name} (topics: {_listed(node.topics)})"
    if node.kind is NodeKind.PROCESSOR:
        return f"Processor: {node.name} (stores: {_listed(node.stores)})"
    return f"Sink: {node.name} (topic: {node.topics[0] if node.topics else 'null'})"


def _listed(names: Collection[str]) -> str:
    return f"[{', '.join(names)}]"


def _nodes(
    nodes: Collection[StreamsNode], group: StreamsGroup, subtopology: str = ""
) -> Iterator[TopologyNode]:
    """Yield the nodes; a source by pattern reads what the others of its subtopology do not name."""
    patterns = 0
    for one in nodes:
        kind = _KINDS.get(one.kind)
        if kind is None:
            raise DescriptionError(f"A node is of kind {one.kind}, which is not known.")
        topics, stores = one.topics, one.stores if kind is NodeKind.PROCESSOR else ()
        if kind is NodeKind.SOURCE and not topics:
            patterns += 1
            topics = _not_named(nodes, group, subtopology)
        if patterns > 1:
            raise DescriptionError("It does not say which topics each of several patterns reads.")
        yield TopologyNode(one.name, kind, topics, None, stores, one.successors)


def _not_named(
    nodes: Collection[StreamsNode], group: StreamsGroup, subtopology: str
) -> tuple[str, ...]:
    named = {topic for one in nodes if one.kind == _SOURCE for topic in one.topics}
    named |= {f"{group.group_id}-{topic}" for topic in named}
    read = {
        topic
        for one in group.subtopologies or ()
        if one.subtopology == subtopology
        for topic in (*one.source_topics, *one.repartition_source_topics)
    }
    return tuple(sorted(read - named))
