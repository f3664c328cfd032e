"""Reading what `Topology#describe()` prints, as people paste it: untrusted, bounded, without patterns.

Every version of Kafka is read: nodes of one line each and `GlobalStore:` (1.0), topics without brackets
(before 2.1, KAFKA-6966), the group tool's numbers of global stores and its `topic: null` (KAFKA-20626), and
headers that other tools add.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from graphlib import CycleError

from jobs.streams.topology.described import (
    DescribedSubtopology,
    DescribedTopology,
    NodeKind,
    TopologyNode,
    upstream_first,
)
from jobs.visible import visible_line

MOST_BYTES = 1024 * 1024
MOST_LINES = 20_000
MOST_NODES = 5_000
# Topics, stores and successors of all nodes together.
MOST_NAMES = 20_000

_GLOBAL = " for global store (will not generate tasks)"
_NONE = "none"
_ARROWS = ("-->", "<--")
_NO_TOPIC = "null"
_TOPIC_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_MOST_DIGITS = 9
_LONGEST_QUOTE = 80
_COPY_AGAIN = "Copy the whole output of Topology#describe()."
_LOGGER = "Leave out what a logger adds to its lines."
_HEADERS = (
    "Topology",
    "Topology:",
    "Sub-topologies:",
    "Sub-topologies: none",
    "Global Stores:",
    _NONE,
)
_ONE_ONLY = "Paste the description of one application."


class DescriptionError(ValueError):
    """A text is no description of a topology; `line` counts from 1, None where no single line is wrong."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(f"Line {line}: {problem}" if line else problem)
        self.line = line


@dataclass(slots=True)
class _Node:
    line: int
    node: TopologyNode
    successors: dict[str, None] = field(default_factory=dict)
    named: dict[str, int] = field(default_factory=dict)  # who is named by an arrow, in which line


@dataclass(slots=True)
class _Subtopology:
    number: int
    is_global: bool
    topology: str | None
    nodes: dict[str, _Node] = field(default_factory=dict)


def read_description(text: str) -> DescribedTopology:
    """Read what `Topology#describe()` printed, in any indentation; raises DescriptionError."""
    if len(text) > MOST_BYTES or len(text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        raise DescriptionError(f"The text is larger than {MOST_BYTES:,} bytes. {_ONE_ONLY}")
    lines = text.removeprefix("\N{BYTE ORDER MARK}").split("\n")
    if len(lines) > MOST_LINES:
        raise DescriptionError(f"The text has more than {MOST_LINES:,} lines. {_ONE_ONLY}")
    reader = _Reader()
    for number, line in enumerate(lines, start=1):
        reader.read(number, line.strip())
    return reader.ended()


class _Reader:
    def __init__(self) -> None:
        self._line = self._nodes = self._names = 0
        self._topology: str | None = None
        self._has_brackets = False
        self._subtopologies: dict[tuple[str | None, int, bool], _Subtopology] = {}
        self._subtopology: _Subtopology | None = None
        self._node: _Node | None = None
        self._readers = {
            "Topologies:": self._begin_topologies,
            "Topology:": self._begin_topology,
            "Topology - ": self._begin_topology,
            "Sub-topology:": self._begin_subtopology,
            "GlobalStore:": self._read_global_store,
            "Source:": self._read_source,
            "Processor:": self._read_processor,
            "Sink:": self._read_sink,
            "-->": self._read_successors,
            "<--": self._read_predecessors,
        }

    def read(self, number: int, line: str) -> None:
        """Take the next line, without its indentation."""
        self._line = number
        if not line or line in _HEADERS:
            return
        line, arrows = _without_arrows(line)
        for start, read in self._readers.items():
            if line.startswith(start):
                read(line.removeprefix(start).strip())
                break
        else:
            starts = ", ".join(start.strip() for start in self._readers)
            hint = f" {_LOGGER}" if any(start in line for start in self._readers) else ""
            expected = f"one of {starts} at the beginning of the line"
            raise self._wrong(line, expected, hint)
        for arrow in arrows:
            self.read(number, arrow)

    def ended(self) -> DescribedTopology:
        """Return what was read, when its arrows lead somewhere."""
        if not self._subtopologies:
            raise DescriptionError(f"The text has no line Sub-topology: 0. {_COPY_AGAIN}")
        for node in (n for one in self._subtopologies.values() for n in one.nodes.values()):
            names = tuple((node.node.pattern or "").split(", "))
            # One list with brackets: this version prints them, and what has none is a pattern.
            if not self._has_brackets and _are_topics(names):
                node.node = replace(node.node, topics=names, pattern=None)
        return DescribedTopology(tuple(_checked(one) for one in self._subtopologies.values()))

    def _wrong(self, found: str, expected: str, hint: str = "") -> DescriptionError:
        return DescriptionError(
            f"Expected {expected}, found {_quoted(found)}. {_COPY_AGAIN}{hint}", self._line
        )

    def _begin_topologies(self, rest: str) -> None:
        if rest:
            raise self._wrong(rest, "nothing behind Topologies:")
        self._topology, self._subtopology, self._node = None, None, None

    def _begin_topology(self, rest: str) -> None:
        if not rest.endswith(":") or rest == ":":
            raise self._wrong(rest, "Topology: NAME: and nothing behind")
        self._topology, self._subtopology, self._node = rest[:-1], None, None

    def _begin_subtopology(self, rest: str) -> None:
        digits = rest.removesuffix(_GLOBAL)
        if not (digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS):
            raise self._wrong(rest, "a number behind Sub-topology:")
        begun = _Subtopology(int(digits), digits != rest, self._topology)
        key = (self._topology, begun.number, begun.is_global)
        if key in self._subtopologies:
            raise DescriptionError(
                f"Subtopology {begun.number} is described twice. {_ONE_ONLY}", self._line
            )
        self._subtopologies[key] = self._subtopology = begun
        self._node = None

    def _read_global_store(self, rest: str) -> None:
        source, arrow, processor = rest.partition(" -> ")
        if not arrow:
            raise self._wrong(rest, "NAME(topic: ...) -> NAME(store: ...)")
        self._begin_subtopology(f"{len(self._subtopologies)}{_GLOBAL}")
        (name, topic), (into, store) = self._split(source, "topic"), self._split(processor, "store")
        self._add(TopologyNode(name, NodeKind.SOURCE, topics=(topic,)))
        self._read_successors(into)
        self._add(TopologyNode(into, NodeKind.PROCESSOR, stores=(store,)))

    def _read_source(self, rest: str) -> None:
        name, value = self._split(rest, "topics")
        topics = _listed(value)
        if topics is None or not _are_topics(topics):
            self._count(value.count(", "))
            self._add(TopologyNode(name, NodeKind.SOURCE, pattern=value))
        else:
            self._has_brackets = True
            self._add(TopologyNode(name, NodeKind.SOURCE, topics=topics))

    def _read_processor(self, rest: str) -> None:
        name, value = self._split(rest, "stores")
        stores = _listed(value)
        if stores is None:
            raise self._wrong(rest, "NAME (stores: [...])")
        self._add(TopologyNode(name, NodeKind.PROCESSOR, stores=stores))

    def _read_sink(self, rest: str) -> None:
        is_dynamic = "(extractor class: " in rest
        name, value = self._split(rest, "extractor class" if is_dynamic else "topic")
        topics = () if is_dynamic or value == _NO_TOPIC else (value,)
        self._add(TopologyNode(name, NodeKind.SINK, topics=topics))

    def _read_successors(self, rest: str) -> None:
        node, names = self._arrow("-->", rest)
        self._count(len(names))
        node.successors.update(dict.fromkeys(names))

    def _read_predecessors(self, rest: str) -> None:
        self._arrow("<--", rest)

    def _arrow(self, arrow: str, rest: str) -> tuple[_Node, list[str]]:
        rest = rest.strip()
        if self._node is None:
            raise self._wrong(f"{arrow} {rest}", "a line Source:, Processor: or Sink: before")
        if not rest:
            raise self._wrong(arrow, f"{arrow} and names of nodes or {_NONE}")
        names = rest.split(", ") if rest != _NONE else []
        self._node.named.update(dict.fromkeys(names, self._line))
        return self._node, names

    def _split(self, rest: str, word: str) -> tuple[str, str]:
        """Split `NAME (word: VALUE)`; a name may hold brackets and spaces."""
        name, found, value = rest.partition(f" ({word}: ")
        if not found:
            name, _, value = rest.partition(f"({word}: ")
        name = name.strip()
        if not name or not value.endswith(")") or value == ")":
            raise self._wrong(rest, f"NAME ({word}: ...) and nothing behind")
        return name, value[:-1]

    def _count(self, names: int) -> None:
        self._names += names
        if self._names > MOST_NAMES:
            raise DescriptionError(
                f"More than {MOST_NAMES:,} topics, stores and successors. {_ONE_ONLY}", self._line
            )

    def _add(self, node: TopologyNode) -> None:
        self._nodes += 1
        self._count(len(node.topics) + len(node.stores))
        if self._nodes > MOST_NODES:
            raise DescriptionError(f"More than {MOST_NODES:,} nodes. {_ONE_ONLY}", self._line)
        if self._subtopology is None:
            raise self._wrong(node.name, "a line Sub-topology: before the first node")
        if node.name in self._subtopology.nodes:
            raise self._wrong(node.name, "each node once")
        self._node = self._subtopology.nodes[node.name] = _Node(self._line, node)


def _listed(value: str) -> tuple[str, ...] | None:
    """Return the names of `[a, b]`, None of another text."""
    if not (value.startswith("[") and value.endswith("]")):
        return None
    return tuple(value[1:-1].split(", ")) if value != "[]" else ()


def _are_topics(names: tuple[str, ...]) -> bool:
    return all(name and _TOPIC_LETTERS.issuperset(name) for name in names)


def _without_arrows(line: str) -> tuple[str, list[str]]:
    """Return a line without the arrows behind its node, and these."""
    if line.endswith(")") or line.startswith(_ARROWS):
        return line, []
    ends = [at for at in (line.find(f") {arrow} ") for arrow in _ARROWS) if at >= 0]
    if not ends:
        return line, []
    node, rest = line[: min(ends) + 1], line[min(ends) + 2 :]
    first, _, second = rest.partition(f" {_ARROWS[1]} ")
    return node, [first, *([f"{_ARROWS[1]} {second}"] if second else [])]


def _checked(read: _Subtopology) -> DescribedSubtopology:
    for name, line in (pair for one in read.nodes.values() for pair in one.named.items()):
        if name not in read.nodes:
            raise DescriptionError(
                f"{_quoted(name)} is no node of subtopology {read.number}. {_COPY_AGAIN}", line
            )
    nodes = tuple(
        replace(one.node, successors=tuple(one.successors)) for one in read.nodes.values()
    )
    try:
        upstream_first(nodes)
    except CycleError as error:
        name = error.args[1][0]
        raise DescriptionError(
            f"Node {_quoted(name)} leads back to itself, which Kafka Streams does not allow. {_COPY_AGAIN}",
            read.nodes[name].line,
        ) from None
    return DescribedSubtopology(read.number, read.is_global, nodes, read.topology)


def _quoted(text: str) -> str:
    short = (
        text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}\N{HORIZONTAL ELLIPSIS}"
    )
    return f'"{visible_line(short)}"'
