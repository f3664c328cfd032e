"""Translation with a certificate: true for whatever happened between the offset syncs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.replication.translation.bounds import Facts
from jobs.replication.translation.sync_history import SyncHistory
from tests.jobs.replication.translation.worlds import World, crosslog_tells, worlds
from tests.support import conformance_cases


@pytest.mark.parametrize("case", conformance_cases("offset_translation", "certified_bracket"))
def test_two_neighbouring_syncs_bound_what_is_between_them(case):
    history = SyncHistory(
        (sync["upstream"], sync["downstream"])
        for sync in (case["sync_at_or_before"], case["next_sync"])
    )
    narrow = history.certify(case["group_offset"], Facts(case["target_without_gaps"]))
    assert {"lo": narrow.lo, "hi": narrow.hi, "exact": narrow.exact} == case["expected"]
    safe = history.certify(case["group_offset"])
    assert {"lo": safe.lo, "hi": safe.hi} == case["always_safe"]


def answers(world: World, **known):
    """Yield each offset with what is said about it and where it really is, as far as both are known."""
    history = SyncHistory(world.syncs)
    for upstream in range(max((offset for offset, _ in world.copies), default=0) + 3):
        found, true = history.certify(upstream, Facts(**known)), world.first_at_or_after(upstream)
        if found is not None and true is not None:
            yield upstream, found, true


@given(worlds())
def test_whatever_happened_the_answer_is_within_the_bounds(world):
    for upstream, found, true in answers(world):
        assert found.lo <= true, upstream
        assert found.hi is None or true <= found.hi, upstream


@given(worlds())
def test_resuming_at_lo_skips_no_record(world):
    for upstream, found, _ in answers(world):
        assert all(found.lo <= place for place in world.all_from(upstream)), upstream


@given(worlds(target_gaps=st.just(0), upheavals=("",)))
def test_without_gaps_on_the_target_the_bounds_are_narrower_and_still_true(world):
    history = SyncHistory(world.syncs)
    for upstream, found, true in answers(world, target_has_no_gaps=True):
        assert found.lo <= true, upstream
        assert found.hi is None or true <= found.hi, upstream
        wide = history.certify(upstream)
        assert wide.lo <= found.lo
        assert wide.hi is None or found.hi <= wide.hi


@given(worlds(source_gaps=st.just(0), target_gaps=st.just(0), upheavals=("",)))
def test_between_two_syncs_of_a_dense_stretch_every_answer_is_exact(world):
    history = SyncHistory(world.syncs)
    if world.syncs:
        for upstream in range(world.syncs[0][0], world.syncs[-1][0] + 1):
            assert history.certify(upstream, Facts(target_has_no_gaps=True)).exact


@given(worlds(upheavals=("", "back")))
def test_what_is_known_to_be_the_same_topic_may_be_told_from_before_it_went_back(world):
    for upstream, found, true in answers(world, is_same_topic=True):
        assert found.lo <= true, upstream
        assert found.hi is None or true <= found.hi, upstream


@given(worlds(upheavals=("",)))
def test_writing_all_changes_makes_the_bounds_narrower_and_still_true(world):
    history = SyncHistory(crosslog_tells(world))
    for upstream in range(max((offset for offset, _ in world.copies), default=0) + 1):
        found, true = (
            history.certify(upstream, Facts(all_changes_told=True)),
            world.first_at_or_after(upstream),
        )
        wide = history.certify(upstream)
        assert wide.lo <= found.lo <= true, upstream
        assert found.hi is None or true <= found.hi, upstream
        is_copied = upstream in dict(world.copies)
        assert not is_copied or found.lo == true, "a record is where its stretch says"


@given(worlds(upheavals=("",)), st.lists(st.booleans(), max_size=30))
def test_where_some_syncs_are_lost_those_that_follow_each_other_still_tell_all(world, lost):
    history, chain = SyncHistory(), crosslog_tells(world)
    kept = [
        pair
        for pair, is_lost in zip(chain, [*lost, *[False] * len(chain)], strict=False)
        if not is_lost
    ]
    for at, pair in enumerate(chain):
        if pair in kept:
            history.add(*pair, follows=chain[at - 1] if at else None)
    for upstream in range(max((offset for offset, _ in world.copies), default=0) + 1):
        found, true = history.certify(upstream), world.first_at_or_after(upstream)
        if found is None:
            continue
        assert found.lo <= true, upstream
        assert found.hi is None or true <= found.hi, upstream
        following = next((at for at, pair in enumerate(chain) if pair[0] > upstream), len(chain))
        if set(chain[max(following - 1, 0) :]) <= set(kept) and 0 < following < len(chain):
            assert found.lo == true or upstream not in dict(world.copies), upstream


@given(worlds())
def test_the_way_back_is_within_the_bounds_and_skips_nothing(world):
    history = SyncHistory(world.syncs)
    for downstream in range(world.downstream + 2):
        found = history.reverse(downstream)
        true = world.lowest_from(downstream)
        if found is None or true is None:
            continue
        assert found.lo <= true, downstream
        assert found.hi is None or true <= found.hi, downstream
        assert all(found.lo <= upstream for upstream in world.unseen_from(downstream)), downstream


@given(worlds(target_gaps=st.just(0), upheavals=("",)))
def test_the_way_back_is_narrower_without_gaps_on_the_target(world):
    history = SyncHistory(world.syncs)
    for downstream in range(world.downstream):
        found = history.reverse(downstream, Facts(target_has_no_gaps=True))
        true = world.lowest_from(downstream)
        if found is not None:
            assert found.lo <= true, downstream
            assert found.hi is None or true <= found.hi, downstream


@given(worlds(upheavals=("",)))
def test_the_way_back_is_narrower_where_all_changes_are_told(world):
    history = SyncHistory(crosslog_tells(world))
    for downstream in range(world.downstream):
        found = history.reverse(downstream, Facts(all_changes_told=True))
        true = world.lowest_from(downstream)
        assert found.lo <= true, downstream
        assert found.hi is None or true <= found.hi, downstream


def test_without_any_sync_nothing_is_said():
    assert SyncHistory().certify(5) is None


def test_before_the_first_sync_everything_up_to_it_is_possible():
    found = SyncHistory([(10, 20)]).certify(5)
    assert (found.lo, found.hi, found.exact) == (0, 20, False)


def test_after_the_last_sync_there_is_no_upper_bound():
    found = SyncHistory([(10, 20)]).certify(15)
    assert (found.lo, found.hi, found.exact) == (21, None, False)


def test_what_was_before_a_step_back_is_remembered_where_the_topic_is_the_same():
    """MirrorMaker 2 forgets it and answers -1."""
    history = SyncHistory([(10, 20), (30, 40), (25, 45)])
    same = history.certify(15, Facts(target_has_no_gaps=True, is_same_topic=True))
    assert (same.lo, same.exact) == (25, True)
    perhaps_another = history.certify(15, Facts(target_has_no_gaps=True))
    assert (perhaps_another.lo, perhaps_another.hi) == (25, 45)
