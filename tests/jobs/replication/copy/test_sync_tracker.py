"""From the syncs that are written, every record's downstream offset can be computed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.replication.copy.sync_tracker import LONGEST_WAIT_S, MOST_RECORDS, SyncTracker, chain_of
from tests.live.copied_records import translation
from tests.support import conformance_cases


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


@pytest.mark.parametrize("case", conformance_cases("offset_translation", "sync_emission"))
def test_every_sync_that_mirror_maker_emits_is_due_here_too(case):
    """crosslog writes more: each change of the difference. What is reset there is committed here."""
    tracker = SyncTracker()
    for phase in case["phases"]:
        if phase.get("reset_before"):
            tracker.commit()
        for update in phase["updates"]:
            pair = update["upstream"], update["downstream"]
            tracker.copied(rows([pair]), pair)
            assert pair in due(tracker) or not update["emit"]
            if phase["reset_after_each"]:
                tracker.commit()


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


def test_what_was_aborted_is_replaced_and_comes_again_with_another_difference():
    tracker = SyncTracker()
    tracker.copied(rows([(5, 50)]), (9, 54))
    tracker.commit()
    tracker.copied(rows([(10, 56)]), (12, 58))
    tracker.abort()
    assert (due(tracker), tracker.last) == ([(9, 54)], (9, 54))
    tracker.copied(rows([(10, 60)]), (12, 62))
    assert due(tracker) == [(9, 54), (10, 60), (12, 62)]


def test_what_was_written_too_early_is_replaced_although_the_difference_comes_again():
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


def copied(tracker, first, last, difference):
    """One batch without gaps."""
    tracker.copied(
        rows([(first, first + difference)]),
        (last, last + difference),
    )


def told_at(tracker, now_s, **options):
    return [tuple(pair) for pair in tracker.tell(now_s, **options).tolist()]


def small_commits(tracker, number, now_s=0.0):
    """Commits of one record each, with a marker after each; returns the pairs that each told."""
    found = []
    for at in range(number):
        copied(tracker, 10 + at, 10 + at, 46 + at)
        found.append(told_at(tracker, now_s))
        tracker.commit()
    return found


@pytest.fixture
def tracker():
    """Somebody who told (9, 54) with the last commit."""
    tracker = SyncTracker.after((9, 54))
    assert told_at(tracker, 0.0) == [(9, 54)]
    tracker.commit()
    return tracker


def test_changes_of_many_small_commits_are_told_together(tracker):
    assert small_commits(tracker, 3) == [[], [], []]
    assert told_at(tracker, LONGEST_WAIT_S) == [(10, 56), (11, 58), (12, 60)]


def test_what_has_waited_is_owed_also_when_nothing_more_comes(tracker):
    small_commits(tracker, 1, now_s=10.0)
    assert not tracker.owes(9.9 + LONGEST_WAIT_S)
    assert tracker.owes(10.0 + LONGEST_WAIT_S)
    told_at(tracker, 10.0 + LONGEST_WAIT_S)
    tracker.commit()
    assert not tracker.owes(1000.0, at_once=True)


def test_with_the_last_commit_everything_is_told(tracker):
    small_commits(tracker, 2)
    assert tracker.owes(0.0, at_once=True)
    assert told_at(tracker, 0.0, at_once=True) == [(10, 56), (11, 58)]


def test_a_commit_of_many_records_tells_at_once(tracker):
    copied(tracker, 10, 10 + MOST_RECORDS, 46)
    assert told_at(tracker, 0.0) == [(10, 56), (10 + MOST_RECORDS, 56 + MOST_RECORDS)]


def test_offsets_that_went_back_are_told_at_once(tracker):
    copied(tracker, 5, 6, 60)
    assert told_at(tracker, 0.0) == [(5, 65), (6, 66)]


def test_what_is_not_written_is_beside_the_position(tracker):
    small_commits(tracker, 1)
    copied(tracker, 11, 12, 47)
    tracker.tell(0.0)
    assert tracker.untold() == ((9, 54), (10, 56), (11, 58))
    tracker.commit()
    copied(tracker, 13, 13, 48)
    tracker.tell(0.0, at_once=True)
    assert tracker.untold() == ()


def test_the_next_copier_writes_what_the_one_before_did_not(tracker):
    small_commits(tracker, 2)
    copied(tracker, 12, 14, 48)
    tracker.tell(0.0)
    after = SyncTracker.after(tracker.last, tracker.untold())
    assert after.owes(LONGEST_WAIT_S)
    assert told_at(after, 0.0) == [(9, 54), (10, 56), (11, 58), (12, 60), (14, 62)]


def test_an_abort_keeps_what_was_committed_and_not_told(tracker):
    small_commits(tracker, 1)
    copied(tracker, 11, 12, 47)
    tracker.tell(0.0)
    tracker.abort()
    tracker.abort()
    assert told_at(tracker, 0.0) == [(9, 54), (10, 56)]
    tracker.commit()
    copied(tracker, 11, 12, 48)
    assert told_at(tracker, LONGEST_WAIT_S) == []
    assert tracker.untold() == ((10, 56), (11, 59))


def test_what_is_not_told_is_known_also_between_two_commits_and_after_an_abort(tracker):
    assert tracker.untold() == ()
    small_commits(tracker, 2)
    assert tracker.untold() == ((9, 54), (10, 56))
    copied(tracker, 12, 12, 48)
    tracker.abort()
    assert (tracker.last, tracker.untold()) == ((11, 58), ((9, 54), (10, 56)))
    after = SyncTracker.after(tracker.last, tracker.untold())
    assert after.untold() == tracker.untold()


@pytest.mark.parametrize("last", [None, (9, 54)], ids=["nothing copied", "taken over"])
def test_where_nothing_waits_nothing_is_untold(last):
    tracker = SyncTracker() if last is None else SyncTracker.after(last)
    assert tracker.untold() == ()
    tracker.abort()
    assert tracker.untold() == ()


@pytest.mark.parametrize(
    ("pairs", "chain"),
    [
        pytest.param([(10, 55)], ((9, 54),), id="the newest alone"),
        pytest.param([(10, 55), (12, 60)], ((9, 54), (10, 55)), id="one before it"),
        pytest.param([(9, 54), (12, 60)], None, id="what was written before comes again"),
        pytest.param([(10, 54), (12, 60)], None, id="downstream does not rise"),
        pytest.param([(n, n + 50) for n in range(10, 111)], None, id="too many"),
    ],
)
def test_a_chain_rises_and_is_short(pairs, chain):
    assert chain_of((9, 54), rows(pairs)) == chain
