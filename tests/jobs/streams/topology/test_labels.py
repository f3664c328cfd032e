"""Names fit into their boxes: in one line or two, with what tells them apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.streams.topology.labels import LONGEST_LINE, label_lines, note_lines, text_width


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
