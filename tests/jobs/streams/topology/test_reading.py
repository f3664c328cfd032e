"""What `Topology#describe()` prints is read as it is pasted; anything else is refused with its line."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.streams.topology import reading
from jobs.streams.topology.described import NodeKind
from jobs.streams.topology.reading import DescriptionError, read_description
from tests.jobs.streams.topology.descriptions import ORDERS, chain, description
from tests.support import REPORTED


def only_node(*lines):
    return read_description(description(*lines)).subtopologies[0].nodes[0]


def test_subtopologies_have_their_numbers_and_a_global_store_is_marked():
    read = read_description(ORDERS).subtopologies
    assert [(one.number, one.is_global) for one in read] == [(0, False), (1, False), (2, True)]


def test_nodes_have_their_kinds_topics_stores_and_successors_in_the_order_of_the_text():
    source, join, *_, table = read_description(ORDERS).subtopologies[1].nodes
    assert (source.kind, source.topics) == (NodeKind.SOURCE, ("by-customer-repartition",))
    assert source.successors == ("KSTREAM-JOIN-0000000012", "KSTREAM-AGGREGATE-0000000009")
    assert (join.kind, join.stores) == (NodeKind.PROCESSOR, ("customers",))
    assert (table.name, table.successors) == ("KTABLE-SOURCE-0000000011", ())


@pytest.mark.parametrize(
    "text",
    [
        ORDERS.replace("\n", "\r\n"),
        "\n".join(line.strip() for line in ORDERS.splitlines()),
        ORDERS.replace("    ", "\t"),
        f"\n\n{ORDERS}\n\n",
        f"\ufeff{ORDERS}",
        ORDERS.removeprefix("Topologies:\n"),
    ],
    ids=["CRLF", "no indentation", "tabs", "empty lines", "byte order mark", "no header"],
)
def test_a_description_may_be_pasted_in_any_form(text):
    assert read_description(text) == read_description(ORDERS)


@pytest.mark.parametrize(
    ("line", "topics", "pattern"),
    [
        ("Source: a (topics: [x, y.z_1])", ("x", "y.z_1"), None),
        ("Source: a (topics: [])", (), None),
        ("Source: a (topics: orders-.*)", (), "orders-.*"),
        ("Source: a (topics: [a-z]+|[0-9])", (), "[a-z]+|[0-9]"),
        ("Source: a (topics: (eu|us)-orders)", (), "(eu|us)-orders"),
        ("Source: a (topics: x)", ("x",), None),
        ("Source: a (topics: x, y.z_1)", ("x", "y.z_1"), None),
        ("Source:  a\t(topics: [x])", ("x",), None),
        ("Sink: a (topic: out)", ("out",), None),
        ("Sink: a (topic: null)", (), None),
        ("Sink: a (extractor class: com.example.ByRegion@1f)", (), None),
    ],
    ids=[
        "topics",
        "none",
        "pattern",
        "classes",
        "brackets",
        "before 2.1",
        "several before 2.1",
        "spaces",
        "sink",
        "null",
        "extractor",
    ],
)
def test_sources_have_topics_or_a_pattern_and_sinks_a_topic_or_none(line, topics, pattern):
    node = only_node(line)
    assert (node.name, node.topics, node.pattern) == ("a", topics, pattern)


@pytest.mark.parametrize("name", ["a(b)", "a (b", "(stores:", "a:b", "größe", "my node", "-->"])
def test_a_name_may_hold_almost_any_character(name):
    read = only_node(
        f"Processor: {name} (stores: [s])", f"--> {name}2", f"Sink: {name}2 (topic: t)"
    )
    assert (read.name, read.successors) == (name, (f"{name}2",))


def test_without_brackets_a_name_is_a_pattern_beside_one_with_brackets():
    text = description("Source: a (topics: [x])", "Source: b (topics: y.z)")
    assert [one.pattern for one in read_description(text).subtopologies[0].nodes] == [None, "y.z"]


def test_nodes_and_global_stores_of_1_0_are_lines():
    text = """Sub-topologies:
  Sub-topology: 0
    Source: a(topics: x, y) --> b, c
    Processor: b(stores: [s]) --> c <-- a
    Sink: c(topic: out) <-- a, b
Global Stores:
  GlobalStore: g(topic: names) -> h(store: names)
"""
    first, second = read_description(text).subtopologies
    assert [(one.topics, one.stores, one.successors) for one in first.nodes] == [
        (("x", "y"), (), ("b", "c")),
        ((), ("s",), ("c",)),
        (("out",), (), ()),
    ]
    assert (second.is_global, second.nodes[1].stores) == (True, ("names",))


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("formatter_of_the_group_tool", [("1", False, ["farm.eggs"]), ("1", True, ["farm.names"])]),
        ("one_line", [("0", False, ["farm.eggs"])]),
        ("viz", [("0", False, ["farm.eggs"])]),
        ("without_brackets", [("0", False, ["farm.eggs", "farm.milk"])]),
    ],
)
def test_descriptions_as_other_versions_and_tools_print_them_are_read(name, found):
    """tests/conformance/reported/describe_of_other_versions"""
    text = (REPORTED / "describe_of_other_versions" / f"{name}.txt").read_text("utf-8")
    assert [
        (
            one.name,
            one.is_global,
            [topic for node in one.nodes if node.kind is NodeKind.SOURCE for topic in node.topics],
        )
        for one in read_description(text).subtopologies
    ] == found


def test_a_logger_is_spoken_of_only_where_it_wrote():
    with pytest.raises(DescriptionError) as raised:
        read_description("nonsense")
    assert "logger" not in str(raised.value)


def test_named_topologies_may_use_the_same_numbers():
    text = "Topology: a:\nSub-topology: 0\nTopology - b:\nSub-topology: 0"
    read = read_description(text).subtopologies
    assert [(one.topology, one.number) for one in read] == [("a", 0), ("b", 0)]


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        (["INFO Source: a (topics: [t])"], 3, "Leave out what a logger adds to its lines."),
        (["Mapper: a (topics: [t])"], 3, "Expected one of Topologies:"),
        (["GlobalStore: a(topic: t)"], 3, "Expected NAME(topic: ...) -> NAME(store: ...)"),
        (["Source: a (topics: [t]) main"], 3, "Expected NAME (topics: ...) and nothing behind"),
        (["Source: a"], 3, "Expected NAME (topics: ...)"),
        (["Processor: a (stores: s)"], 3, "Expected NAME (stores: [...])"),
        (["Sink:  (topic: t)"], 3, "Expected NAME (topic: ...)"),
        (["Source: a (topics: [t])", "--> none [main]"], 4, '"none [main]" is no node'),
        (["Source: a (topics: [t])", "--> b"], 4, '"b" is no node of subtopology 0'),
        (["Sink: a (topic: t)", "<-- b"], 4, '"b" is no node of subtopology 0'),
        (["--> a"], 3, "Expected a line Source:, Processor: or Sink: before"),
        (["Source: a (topics: [t])", "-->"], 4, "names of nodes or none"),
        (["Sink: a (topic: t)", "Sink: a (topic: t)"], 4, "Expected each node once"),
        (["Sub-topology: 0"], 3, "described twice"),
        (["Sub-topology: x"], 3, "Expected a number"),
        (["Sub-topology: 1 (main)"], 3, "Expected a number"),
        (["Topologies: 3"], 3, "nothing behind Topologies:"),
        (["Topology: :"], 3, "Topology: NAME:"),
        (["Topologies:", "Sink: a (topic: t)"], 4, "before the first node"),
        (["Processor: a (stores: [])", "--> a"], 3, "leads back to itself"),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_what_is_no_description_is_refused_with_its_line(lines, line, words):
    with pytest.raises(DescriptionError) as raised:
        read_description(description(*lines))
    assert raised.value.line == line
    assert str(raised.value).startswith(f"Line {line}: ")
    assert words in str(raised.value)


@pytest.mark.parametrize("text", ["", "\n", "Topologies:"])
def test_a_text_without_subtopologies_is_refused(text):
    with pytest.raises(DescriptionError, match="no line Sub-topology: 0"):
        read_description(text)


def test_what_is_quoted_is_short_and_visible():
    with pytest.raises(DescriptionError) as raised:
        read_description("\x1b[31m" + "x" * 10_000)
    assert "\\u001b[31m" in str(raised.value)
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x" * (reading.MOST_BYTES + 1), "larger than 1,048,576 bytes"),
        ("é" * (reading.MOST_BYTES // 2 + 1), "larger than 1,048,576 bytes"),
        ("\n" * reading.MOST_LINES, "more than 20,000 lines"),
        (description(*chain(reading.MOST_NODES + 1)), "More than 5,000 nodes"),
        (description(f"Source: a (topics: [{', '.join(['t'] * 20_001)}])"), "More than 20,000"),
    ],
    ids=["letters", "bytes", "lines", "nodes", "names"],
)
def test_a_text_is_bounded(text, words):
    with pytest.raises(DescriptionError, match=words):
        read_description(text)


def test_the_largest_description_is_read():
    read = read_description(description(*chain(reading.MOST_NODES)))
    assert len(read.subtopologies[0].nodes) == reading.MOST_NODES


@given(st.text(alphabet="Source: ->Sink(topic)[],ab\n0", max_size=200))
def test_any_text_is_read_or_refused(rest):
    with suppress(DescriptionError):
        assert read_description(description(rest)).subtopologies
