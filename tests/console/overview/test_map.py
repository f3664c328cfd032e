from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from console.overview.map import BOX_W, MOST_COLUMNS, columns_of, lay_out

HUB = [(0, n) for n in range(1, 20)]
RING = [(n, (n + 1) % 20) for n in range(20)]
DENSE = [(n % 20, (n * 7 + 3) % 20) for n in range(50)]
PAIRS = [(n, n + 1) for n in range(0, 20, 2)] + [(n + 1, n) for n in range(0, 20, 2)]


def overlap(one, other):
    return (
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


def assert_readable(layout):
    drawn = [*layout.boxes.values(), *(link.label for link in layout.links.values())]
    for one in drawn:
        assert min(one.x, one.y) >= 0
        assert one.x + one.width <= layout.width
        assert one.y + one.height <= layout.height
    assert [pair for pair in combinations(drawn, 2) if overlap(*pair)] == []


@pytest.mark.parametrize(
    "edges",
    [
        pytest.param(HUB, id="one source of all"),
        pytest.param([(b, a) for a, b in HUB], id="one target of all"),
        pytest.param(RING, id="ring"),
        pytest.param(DENSE, id="50 flows"),
        pytest.param(PAIRS, id="active-active pairs"),
        pytest.param([], id="no flow"),
    ],
)
def test_nothing_overlaps_with_twenty_clusters(edges):
    layout = lay_out(dict.fromkeys(range(20), 90), edges)
    assert set(layout.links) == set(edges)
    assert len(layout.boxes) == 20
    assert_readable(layout)


@given(
    st.dictionaries(st.integers(0, 30), st.integers(40, 200), min_size=1, max_size=20),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=50),
)
@settings(max_examples=100, deadline=None)
def test_any_flows_give_boxes_inside_the_picture(heights, edges):
    layout = lay_out(heights, edges)
    assert set(layout.boxes) == set(heights)
    assert_readable(layout)


def test_a_target_is_right_of_its_source():
    assert columns_of([1, 2, 3], [(1, 2), (2, 3), (1, 3)]) == [[1], [2], [3]]


def test_an_active_active_pair_has_two_columns_and_two_labels():
    layout = lay_out({1: 90, 2: 90}, [(1, 2), (2, 1)])
    assert layout.boxes[2].x > layout.boxes[1].x + BOX_W
    assert layout.links[1, 2].label != layout.links[2, 1].label


def test_a_long_chain_stays_within_its_columns():
    columns = columns_of(list(range(20)), [(n, n + 1) for n in range(19)])
    assert len(columns) == MOST_COLUMNS


def test_the_same_flows_give_the_same_picture():
    heights = dict.fromkeys(range(20), 90)
    assert lay_out(heights, DENSE) == lay_out(heights, DENSE[::-1])


def test_without_clusters_the_picture_is_empty():
    layout = lay_out({}, [])
    assert (layout.boxes, layout.links) == ({}, {})
