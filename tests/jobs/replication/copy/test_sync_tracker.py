"""From the syncs that are told, every record's downstream offset can be computed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jobs.replication.copy.sync_tracker import SyncTracker
from tests.live.batches.placed import translation


@st.composite
def histories(draw):
    """Batches of records with gaps on both sides; after each one nothing, a commit or an abort."""
    return draw(
        st.lists(
            st.tuples(
                st.lists(st.sampled_from([1, 1, 1, 1, 2, 5]), min_size=1, max_size=8),
                st.sampled_from([0, 0, 1]),
                st.sampled_from(["", "commit", "abort"]),
            ),
            max_size=12,
        )
    )


@given(history=histories(), take_over=st.booleans())
def test_every_committed_record_is_where_the_syncs_say(history, take_over):
    tracker, told, mapping = SyncTracker(), [], {}
    upstream = downstream = 100
    committed_upstream, pending = upstream, {}
    for steps, jump, end in history:
        downstream += jump  # a transaction marker, or what somebody else wrote
        offsets = []
        for step in steps:
            offsets.append(upstream)
            upstream += step
        pairs = [(offset, downstream + index) for index, offset in enumerate(offsets)]
        downstream += len(pairs)
        pending |= dict(pairs)
        tracker.copied(rows(changes_of(pairs)), pairs[-1])
        if end == "commit":
            told += due(tracker)
            tracker.commit()
            mapping |= pending
            committed_upstream, pending = upstream, {}
            if take_over and tracker.last is not None:
                tracker = SyncTracker.after(tracker.last)
        elif end == "abort":
            tracker.abort()
            upstream, pending = committed_upstream, {}
    translate = translation(told)
    assert {offset: translate(offset) for offset in mapping} == mapping


def rows(pairs):
    return np.array(pairs, np.int64).reshape(-1, 2)


def due(tracker):
    return [tuple(pair) for pair in tracker.due().tolist()]


def changes_of(pairs):
    """Return the first pairs of the stretches of constant difference."""
    found, difference = [], None
    for upstream, downstream in pairs:
        if downstream - upstream != difference:
            difference = downstream - upstream
            found.append((upstream, downstream))
    return found


def test_a_stretch_tells_its_first_and_its_newest_pair():
    tracker = SyncTracker()
    tracker.copied(rows([(5, 50)]), (9, 54))
    assert due(tracker) == [(5, 50), (9, 54)]
    tracker.commit()
    assert due(tracker) == []
    tracker.copied(rows([(10, 55)]), (12, 57))
    assert due(tracker) == [(12, 57)]


def test_one_record_is_told_once():
    tracker = SyncTracker()
    tracker.copied(rows([(5, 50)]), (5, 50))
    assert due(tracker) == [(5, 50)]


def test_what_was_aborted_is_taken_back_and_comes_again_with_another_difference():
    tracker = SyncTracker()
    tracker.copied(rows([(5, 50)]), (9, 54))
    tracker.commit()
    tracker.copied(rows([(10, 56)]), (12, 58))
    tracker.abort()
    assert (due(tracker), tracker.last) == ([(9, 54)], (9, 54))
    tracker.copied(rows([(10, 60)]), (12, 62))
    assert due(tracker) == [(9, 54), (10, 60), (12, 62)]


def test_what_was_told_too_early_is_taken_back_although_the_difference_comes_again():
    """On the source a sync stays when its transaction is aborted: (10, 49) was said, (10, 55) is true."""
    tracker = SyncTracker.after((9, 54))
    tracker.copied(rows([(10, 55)]), (12, 57))
    assert due(tracker) == [(9, 54), (12, 57)]


def test_before_anything_counts_there_is_nothing_to_take_back():
    tracker = SyncTracker()
    tracker.copied(rows([(5, 50)]), (9, 54))
    tracker.abort()
    assert due(tracker) == []


def test_after_a_take_over_the_last_pair_is_told_once_more_also_when_the_beginning_fails():
    tracker = SyncTracker.after((9, 54))
    tracker.abort()
    assert (tracker.last, due(tracker)) == ((9, 54), [(9, 54)])
    tracker.commit()
    assert due(tracker) == []
    tracker.copied(rows([(10, 55)]), (11, 56))
    assert due(tracker) == [(11, 56)]
