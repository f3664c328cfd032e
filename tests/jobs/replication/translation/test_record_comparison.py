"""Bounds narrowed by comparing records: exact where they prove it, untouched where they do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cluster.record_fingerprints import RecordFingerprint
from jobs.replication.translation.record_comparison import (
    DIFFERENT,
    NOT_COPIED,
    TOO_MANY,
    TWICE,
    refine,
)
from jobs.replication.translation.sync_history import SyncHistory
from tests.jobs.replication.translation.worlds import worlds


def reader(records):
    """One side's partition; `records` maps offsets to contents."""

    def read(start, end):
        return [
            RecordFingerprint(offset, content)
            for offset, content in sorted(records.items())
            if offset >= start and (end is None or offset < end)
        ]

    return read


@given(worlds(upheavals=("",)))
def test_with_the_records_of_both_sides_every_copied_offset_is_exact(world):
    history = SyncHistory(world.syncs)
    source = reader({up: b"%d" % up for up, _ in world.copies})
    target = reader({down: b"%d" % up for up, down in world.copies})
    first = world.syncs[0][0] if world.syncs else None
    for upstream in range(world.upstream):
        found, true = history.certify(upstream), world.first_at_or_after(upstream)
        if found is None or upstream < first:
            continue
        refined = refine(found, upstream, source, target)
        assert (refined.lo, refined.hi) == (true, true), upstream


@given(worlds(), st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)))
def test_whatever_is_gone_on_either_side_the_truth_stays_inside_the_bounds(world, gone, lost):
    history = SyncHistory(world.syncs)
    source = reader({up: b"%d" % up for up, _ in world.copies if up not in gone})
    target = reader({down: b"%d" % up for up, down in world.log if down not in lost})
    for upstream in range(world.upstream):
        found, true = history.certify(upstream), world.first_at_or_after(upstream)
        if found is None or true is None:
            continue
        refined = refine(found, upstream, source, target)
        newest = dict(world.copies)
        still = [newest[up] for up in newest if up >= upstream and up not in gone]
        assert all(refined.lo <= place for place in still if place not in lost), upstream


@pytest.mark.parametrize(
    ("sources", "targets", "reason"),
    [
        pytest.param({12: b"a", 14: b"a"}, {22: b"a", 23: b"a"}, TWICE, id="a record twice"),
        pytest.param({12: b"a", 14: b"b"}, {22: b"a"}, DIFFERENT, id="one was filtered"),
        pytest.param({12: b"a"}, {22: b"x"}, DIFFERENT, id="other content"),
    ],
)
def test_what_proves_nothing_changes_no_bound_and_says_why(sources, targets, reason):
    found = SyncHistory([(10, 20), (16, 25)]).certify(13)
    refined = refine(found, 13, reader(sources), reader(targets))
    assert (refined.lo, refined.hi, refined.reason) == (found.lo, found.hi, reason)


def test_too_many_records_are_not_compared():
    found = SyncHistory([(10, 20), (16, 25)]).certify(13)
    refined = refine(found, 13, lambda *_: None, reader({}))
    assert refined.reason == TOO_MANY.format(10_000)


def test_behind_the_last_sync_what_is_copied_is_found_and_what_is_not_is_said():
    history = SyncHistory([(10, 20)])
    source, target = reader({11: b"a", 12: b"b", 13: b"c"}), reader({21: b"a", 23: b"b"})
    assert refine(history.certify(12), 12, source, target).lo == 23
    later = refine(history.certify(13), 13, source, target)
    assert (later.lo, later.hi, later.reason) == (21, None, NOT_COPIED)


def test_what_is_exact_already_needs_no_record():
    found = SyncHistory([(10, 20)]).certify(10)
    assert refine(found, 10, None, None) is found
