"""No box overlaps another, no line runs through a box, no group holds a box of another."""

from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.streams.topology import layout
from jobs.streams.topology.graph import (
    Edge,
    GraphNode,
    TopologyGraph,
    graph_of_description,
    graph_of_subtopologies,
    shapes_of,
)
from jobs.streams.topology.layout import (
    LONGEST_LINE,
    TooLargeToDraw,
    label_lines,
    lay_out,
    note_lines,
    text_width,
)
from jobs.streams.topology.reading import read_description
from tests.examples import examples
from tests.jobs.streams.topology.descriptions import ORDERS, description, wide_topology

_STEPS = 24


@st.composite
def graphs(draw, most=40, *, is_acyclic=False):
    """Graphs of boxes with labels of any length, in groups or in none."""
    count = draw(st.integers(1, most))
    groups = st.sampled_from([None, "a", "b", "c"])
    nodes = tuple(
        GraphNode(f"{at}", draw(st.text(max_size=30)), "processor", draw(groups))
        for at in range(count)
    )
    ends = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    pairs = draw(st.lists(ends, max_size=2 * count, unique=True))
    if is_acyclic:
        pairs = list(dict.fromkeys((min(pair), max(pair)) for pair in pairs))
    return TopologyGraph(nodes, tuple(Edge(f"{start}", f"{end}") for start, end in pairs))


def overlap(one, other):
    across = one.x < other.x + other.width and other.x < one.x + one.width
    return across and one.y < other.y + other.height and other.y < one.y + one.height


def curve(line):
    """Return points along a line as it is drawn: level, then a curve with level ends, and so on."""
    points = []
    for at, ((x, y), (end_x, end_y)) in enumerate(pairwise(line.points)):
        for step in range(_STEPS + 1):
            part = step / _STEPS
            rise = part if at % 2 == 0 else part * part * (3 - 2 * part)
            along = part if at % 2 == 0 else 1.5 * part * (1 - part) + part**3
            points.append((x + (end_x - x) * along, y + (end_y - y) * rise))
    return points


def check(graph):
    """Check everything that makes a picture readable."""
    laid = lay_out(graph)
    assert [box.node for box in laid.boxes] == list(graph.nodes)
    check_rectangles(laid)
    check_lines(laid)
    return laid


def check_rectangles(laid):
    assert not [pair for pair in combinations(laid.boxes, 2) if overlap(*pair)]
    assert not [pair for pair in combinations(laid.groups, 2) if overlap(*pair)]
    for group in laid.groups:
        inside = [box for box in laid.boxes if overlap(box, group)]
        assert inside == [box for box in laid.boxes if box.node.subtopology == group.title]
        assert all(box.x > group.x and box.y > group.y for box in inside)
    for box in (*laid.boxes, *laid.groups):
        assert min(box.x, box.y) >= 0
        assert box.x + box.width <= laid.width
        assert box.y + box.height <= laid.height


def check_lines(laid):
    by_key = {box.node.key: box for box in laid.boxes}
    for line in laid.lines:
        ends = by_key[line.edge.start], by_key[line.edge.end]
        assert line.points[0] in sides(ends[0])
        assert line.points[-1] in sides(ends[1])
        points = curve(line)
        assert all(0 <= x <= laid.width and 0 <= y <= laid.height for x, y in points)
        assert not [box for box in laid.boxes if box not in ends and runs_through(points, box)]


def runs_through(points, box):
    return any(box.x < x < box.x + box.width and box.y < y < box.y + box.height for x, y in points)


def sides(box):
    middle = box.y + box.height // 2
    return (box.x, middle), (box.x + box.width, middle)


@examples(150)
@given(graphs(is_acyclic=True))
def test_a_graph_without_cycles_is_readable_and_flows_to_the_right(graph):
    for line in check(graph).lines:
        assert line.points[0][0] < line.points[-1][0]


@examples(150)
@given(graphs())
def test_a_graph_with_cycles_is_readable(graph):
    laid = check(graph)
    assert len(laid.lines) == sum(edge.start != edge.end for edge in graph.edges)


@pytest.mark.parametrize("text", [ORDERS, wide_topology()], ids=["orders", "40 nodes"])
def test_a_topology_is_readable(text):
    described = read_description(text)
    check(graph_of_description(described))
    check(graph_of_subtopologies(shapes_of(described)))


@examples(30)
@given(graphs())
def test_the_same_graph_is_laid_out_the_same(graph):
    assert lay_out(graph) == lay_out(graph)


def test_a_topic_that_is_written_again_stays_on_the_left():
    laid = lay_out(graph_of_description(read_description(wide_topology())))
    places = {box.node.label: box.x for box in laid.boxes if box.node.kind == "topic"}
    assert places["orders"] < places["part-0-repartition"] < places["part-1-repartition"]


def test_a_topic_of_a_late_subtopology_is_beside_it():
    laid = lay_out(graph_of_description(read_description(ORDERS)))
    places = {(box.node.kind, box.node.label): box.x for box in laid.boxes}
    assert places["topic", "customers"] > places["sink", "by-customer-repartition-sink"]


def test_a_line_that_crosses_no_other_is_straight():
    text = description("Source: a (topics: [t])", "--> b", "Sink: b (topic: u)")
    laid = lay_out(graph_of_description(read_description(text)))
    assert len({y for line in laid.lines for _, y in line.points}) == 1


def test_an_empty_graph_has_an_empty_picture():
    assert lay_out(TopologyGraph((), ())).boxes == ()


def test_what_nobody_could_read_is_refused():
    nodes = tuple(GraphNode(f"{at}", "x", "topic") for at in range(layout.MOST_NODES + 1))
    with pytest.raises(TooLargeToDraw, match="251 nodes and 0 edges"):
        lay_out(TopologyGraph(nodes, ()))
    chain = tuple(Edge(f"{at}", f"{at + 1}") for at in range(200))
    jumps = tuple(Edge("0", f"{at}") for at in range(2, 201))
    with pytest.raises(TooLargeToDraw, match="pass by too many nodes"):
        lay_out(TopologyGraph(nodes[:201], chain + jumps))


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("orders", ("orders",)),
        ("KSTREAM-SINK-0000000013", ("KSTREAM-SINK-13",)),
        ("KSTREAM-KEY-SELECT-0000000001", ("KSTREAM-KEY-", "SELECT-1")),
        ("by-customer-repartition", ("by-customer-", "repartition")),
        ("a" * 20, ("a" * 10, "a" * 10)),
        ("app-" + "x" * 30, ("app-", "x…" + "x" * 16)),
        ("x" * 30 + "-changelog", ("x" * 17 + "…", "changelog")),
    ],
)
def test_a_name_is_broken_at_the_seam_nearest_to_its_middle(name, lines):
    assert label_lines(name) == lines


@given(st.text(min_size=1))
def test_no_line_is_longer_than_a_box(name):
    assert 1 <= len(label_lines(name)) <= 2
    assert max(len(line) for line in (*label_lines(name), *note_lines(name))) <= LONGEST_LINE


def test_many_notes_are_counted():
    assert note_lines("") == ()
    assert note_lines("\n".join("abcdefg")) == tuple("abcdefg")
    assert note_lines("\n".join("abcdefgh")) == (*"abcdef", "and 2 more")


def test_capitals_and_other_scripts_take_more_room():
    assert text_width("orders") < text_width("ORDERS") < text_width("注文注文注文")
