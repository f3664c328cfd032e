"""A plan is applied in parts, in the order of its dead letters, and continues after its positions."""

from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.cluster.descriptions import TopicPartition
from jobs.tracing.replay.parts import in_order, left_of, parts_of, positions_after

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "topic": st.sampled_from(["a", "b"]),
            "partition": st.integers(0, 2),
            "offset": st.integers(0, 50),
            "bytes": st.integers(0, 40),
        }
    ),
    max_size=40,
    unique_by=lambda row: (row["topic"], row["partition"], row["offset"]),
).map(in_order)


@settings(deadline=None)
@given(ROWS, st.integers(1, 6), st.integers(1, 60))
def test_parts_have_all_rows_once_and_are_bounded(rows, most, most_bytes):
    parts = list(parts_of(rows, most, most_bytes))
    assert [row for part in parts for row in part] == rows
    assert all(len(part) <= most for part in parts)
    assert all(len(p) == 1 or sum(row["bytes"] for row in p) <= most_bytes for p in parts)


@settings(deadline=None)
@given(ROWS, st.integers(1, 6), st.data())
def test_after_any_part_exactly_the_rows_behind_it_are_left(rows, most, data):
    parts = list(parts_of(rows, most, 100))
    done = data.draw(st.integers(0, len(parts)))
    committed: dict[TopicPartition, int] = {}
    for part in parts[:done]:
        committed |= positions_after(part)
    assert left_of(rows, committed) == [row for part in parts[done:] for row in part]
