"""Stores at a moment, against a replay of the log before compaction: what is answered is never wrong."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.spark.analyses.records.ranges import Span, Work
from jobs.spark.analyses.records.store_history import reduce_partition
from tests.jobs.spark.analyses.records.given_records import GivenReader, reader_of, record

KEYS = b"abcde"
SIZES = {"key": None, "show": "sizes"}


@st.composite
def compacted_logs(draw):
    """Keys and values by offset, the offsets that are left after some cleanings, and the log start."""
    one = st.tuples(st.sampled_from(KEYS), st.sampled_from([None, b"", b"1", b"22"]))
    log = draw(st.lists(one, max_size=25))
    # A pass of the cleaner may be under way: segments up to `swapped` are those it has done.
    cleaned, swapped, tombless = sorted(draw(st.tuples(*[st.integers(0, 25)] * 3)), reverse=True)
    last = {key: offset for offset, (key, _) in enumerate(log[:cleaned])}
    left = [
        offset
        for offset, (key, value) in enumerate(log)
        if offset >= swapped or (last[key] == offset and not (value is None and offset < tombless))
    ]
    start = draw(st.sampled_from([0, 0, 0, min(4, len(log))]))
    return log, [offset for offset in left if offset >= start], start


def reader(log, left, start=0, per_batch=3):
    records = [record(offset, bytes([log[offset][0]]), log[offset][1]) for offset in left]
    span = Span("cluster", "store-changelog", 0, start, len(log), start, len(log))
    return Lazy(span, records, per_batch)


class Lazy(GivenReader):
    """Bodies hold until the next chunk, as those of a real reader."""

    def __init__(self, span, records, per_batch):
        super().__init__(span)
        self.records, self.per_batch = records, per_batch

    def __iter__(self):
        for at in range(0, len(self.records), self.per_batch):
            yield from reader_of(self.records[at : at + self.per_batch]).chunks


def told(source, moment, **options):
    work = Work((source.span,), {"moment": moment})
    tables = reduce_partition([source], work, {**SIZES, **options})
    (row,) = tables["partitions"].to_pylist()
    return row, tables["changes"].to_pylist()


def replayed(log, moment):
    return {key: (offset, value) for offset, (key, value) in enumerate(log[:moment])}


@settings(deadline=None, max_examples=300)
@given(compacted_logs(), st.integers(0, 25))
def test_what_is_known_of_a_key_is_what_the_whole_log_says(given_log, moment):
    log, left, start = given_log
    moment = min(moment, len(log))
    for key in KEYS:
        row, changes = told(reader(log, left, start), moment, key=bytes([key]).hex(), show="values")
        offset, value = replayed(log, moment).get(key, (None, None))
        states = {"value": value is not None, "absent": value is None, "deleted": value is None}
        assert states.get(row["state"], True)
        since = row["complete_since"]
        if start == 0 and since is not None and moment > since:
            assert row["state"] != "unknown"
        if row["state"] in {"value", "deleted"}:
            (hit,) = [one for one in changes if one["place"] == "at"]
            assert (hit["offset"], hit["value"]) == (
                offset,
                None if value is None else value.decode(),
            )


@settings(deadline=None, max_examples=300)
@given(compacted_logs(), st.integers(0, 25))
def test_entries_of_the_whole_log_are_in_the_range_that_is_answered(given_log, moment):
    log, left, start = given_log
    moment = min(moment, len(log))
    row, _ = told(reader(log, left, start), moment)
    live = {key: one for key, (_, one) in replayed(log, moment).items() if one is not None}
    unknown = row["entries_unknown"] + row["deleted_unknown"]
    assert row["entries"] <= len(live) <= row["entries"] + unknown
    assert row["state"] == ("range" if unknown else "exact")
    since = row["complete_since"]
    if not unknown or (since is not None and moment >= since):
        assert row["entries"] == len(live)
        assert row["bytes"] == sum(1 + len(one) for one in live.values())


@pytest.mark.parametrize(
    ("left", "moment", "state", "place"),
    [
        ([0, 1, 2], 2, "value", 0),
        ([1, 2], 2, "unknown", None),
        ([1, 2], 3, "value", 2),
        ([0, 1], 1, "value", 0),
        ([1], 2, "unknown", None),
    ],
    ids=["whole log", "older removed", "after its record", "before its next", "nothing left"],
)
def test_a_key_whose_first_record_left_is_after_the_moment_is_unknown(left, moment, state, place):
    log = [(97, b"old"), (98, b"x"), (97, b"new"), (98, b"y")]
    row, changes = told(reader(log, left), moment, key=b"a".hex())
    assert row["state"] == state
    assert [one["offset"] for one in changes if one["place"] == "at"] == [place] * (
        place is not None
    )


def test_markers_and_aborted_batches_are_no_removed_records():
    source = reader_of([record(0, b"a"), record(1, b"b")], [record(4, b"a")])
    source.left_out = [(2, 3), (5, 5)]
    source.span = replace(source.span, end=6)
    row, _ = told(source, 6)
    assert (row["removed"], row["compacted_to"], row["complete_since"]) == (0, None, 0)


def test_left_out_batches_behind_a_chunk_count_in_the_next_one():
    first, second = reader_of([record(0, b"a")]), reader_of([record(1, b"b"), record(3, b"c")])
    source = GivenReader(second.span, [*first.chunks, *second.chunks])
    source.left_out = [(2, 2)]
    assert told(source, 4)[0]["removed"] == 0


def test_a_log_that_begins_late_says_that_older_keys_are_unknown():
    row, _ = told(reader([(97, b"1")] * 5, [3, 4], start=3), 5)
    assert (row["entries"], row["deleted_unknown"], row["complete_since"]) == (1, 3, None)


def test_values_are_hashed_unless_they_are_wanted():
    log = [(97, b"secret"), (97, None)]
    _, (first, second) = told(reader(log, [0, 1]), 2, key=b"a".hex())
    assert (first["value"], first["value_bytes"], len(first["value_hash"])) == (None, 6, 64)
    assert (second["is_tombstone"], second["place"], second["value_hash"]) == (True, "at", None)


def test_the_changes_beside_the_moment_are_listed():
    log = [(97, b"%d" % n) for n in range(300)]
    _, changes = told(reader(log, range(300), per_batch=300), 150, key=b"a".hex())
    assert [one["offset"] for one in changes] == list(range(100, 200))
    assert [one["offset"] for one in changes if one["place"] == "at"] == [149]


def test_a_log_that_was_not_read_as_a_whole_is_unknown():
    source = reader([(97, b"1")], [0])
    source.outcome.unreadable_count = 1
    row, _ = told(source, 1)
    assert (row["state"], row["reason"]) == ("unknown", "Its log was not read as a whole.")


def test_ten_thousands_of_keys_keep_their_last_records():
    log = [record(n, b"%d" % (n % 30_000), b"x" * (n // 30_000)) for n in range(50_000)]
    source = reader_of(log)
    row, _ = told(source, 50_000)
    assert (row["entries"], row["state"]) == (30_000, "exact")
    keys = sum(len(b"%d" % n) for n in range(30_000))
    assert row["bytes"] == keys + 20_000
    assert (row["oldest_ms"], row["newest_ms"]) == (1_000 + 20_000, 1_000 + 49_999)
