"""Translation with a certificate: true for whatever happened between the offset syncs."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.replication.sync_history import SyncHistory
from tests.support import conformance_cases


@pytest.mark.parametrize("case", conformance_cases("offset_translation.json", "certified_bracket"))
def test_two_neighbouring_syncs_bound_what_is_between_them(case):
    history = SyncHistory(
        (sync["upstream"], sync["downstream"])
        for sync in (case["sync_at_or_before"], case["next_sync"])
    )
    narrow = history.translate(case["group_offset"], target_has_no_gaps=case["target_without_gaps"])
    assert {"lo": narrow.lo, "hi": narrow.hi, "exact": narrow.exact} == case["expected"]
    safe = history.translate(case["group_offset"])
    assert {"lo": safe.lo, "hi": safe.hi} == case["always_safe"]


@dataclass
class World:
    """A source partition, its copy, and the syncs that somebody managed to write about it."""

    copies: list[tuple[int, int]] = field(default_factory=list)
    syncs: list[tuple[int, int]] = field(default_factory=list)
    upstream: int = 0
    downstream: int = 0

    def copy(self, source_gap: int, target_gap: int, is_told: bool) -> None:
        self.upstream += source_gap
        self.downstream += target_gap
        self.copies.append((self.upstream, self.downstream))
        if is_told:
            self.syncs.append(self.copies[-1])
        self.upstream += 1
        self.downstream += 1

    def go_back(self, by: int) -> None:
        """A restart below what was copied: these records are copied again, now or later."""
        self.upstream = max(0, self.upstream - by)
        self.copies = [copy for copy in self.copies if copy[0] < self.upstream]

    def remake_source(self) -> None:
        """Another topic of the same name: nothing of the old one is asked for any more."""
        self.copies = []
        self.upstream = 0

    def remake_target(self) -> None:
        self.copies = []
        self.downstream = 0

    def first_at_or_after(self, upstream: int) -> int | None:
        """Return where the newest copy of the first copied record from an offset on is."""
        newest = dict(self.copies)
        following = [offset for offset in newest if offset >= upstream]
        return newest[min(following)] if following else None

    def all_from(self, upstream: int) -> list[int]:
        newest = dict(self.copies)
        return [downstream for offset, downstream in newest.items() if offset >= upstream]


GAPS = st.sampled_from([0, 0, 0, 0, 1, 3])


@st.composite
def worlds(draw, *, source_gaps=GAPS, target_gaps=GAPS, upheavals=True):
    """Copies with gaps, of which a third is told; after an upheaval the first one is told always."""
    world = World()
    told = st.sampled_from([True, False, False])
    upheaval = ""
    for _ in range(draw(st.integers(1, 4))):
        for number in range(draw(st.integers(1, 15))):
            is_first = number == 0 and bool(upheaval)
            # A topic made anew whose first offset is beyond all old ones looks like the old one.
            gap = 0 if is_first else draw(source_gaps)
            world.copy(gap, draw(target_gaps), is_first or draw(told))
        upheaval = draw(st.sampled_from(["", "back", "source", "target"])) if upheavals else ""
        match upheaval:
            case "back":
                world.go_back(draw(st.integers(1, 20)))
            case "source":
                world.remake_source()
            case "target":
                world.remake_target()
    return world


def answers(world: World, **known):
    """Yield each offset with what is said about it and where it really is, as far as both are known."""
    history = SyncHistory(world.syncs)
    for upstream in range(max((offset for offset, _ in world.copies), default=0) + 3):
        found, true = history.translate(upstream, **known), world.first_at_or_after(upstream)
        if found is not None and true is not None:
            yield upstream, found, true


@given(worlds())
def test_whatever_happened_the_answer_is_within_the_bounds(world):
    for upstream, found, true in answers(world):
        assert found.lo <= true, upstream
        assert found.hi is None or true <= found.hi, upstream


@given(worlds())
def test_going_on_at_lo_skips_no_record(world):
    for upstream, found, _ in answers(world):
        assert all(found.lo <= place for place in world.all_from(upstream)), upstream


@given(worlds(target_gaps=st.just(0), upheavals=False))
def test_without_gaps_on_the_target_the_bounds_are_narrower_and_still_true(world):
    history = SyncHistory(world.syncs)
    for upstream, found, true in answers(world, target_has_no_gaps=True):
        assert found.lo <= true, upstream
        assert found.hi is None or true <= found.hi, upstream
        wide = history.translate(upstream)
        assert wide.lo <= found.lo
        assert wide.hi is None or found.hi <= wide.hi


@given(worlds(source_gaps=st.just(0), target_gaps=st.just(0), upheavals=False))
def test_between_two_syncs_of_a_dense_stretch_every_answer_is_exact(world):
    history = SyncHistory(world.syncs)
    if world.syncs:
        for upstream in range(world.syncs[0][0], world.syncs[-1][0] + 1):
            assert history.translate(upstream, target_has_no_gaps=True).exact


def test_without_any_sync_nothing_is_said():
    assert SyncHistory().translate(5) is None


def test_before_the_first_sync_everything_up_to_it_is_possible():
    found = SyncHistory([(10, 20)]).translate(5)
    assert (found.lo, found.hi, found.exact) == (0, 20, False)


def test_after_the_last_sync_there_is_no_upper_bound():
    found = SyncHistory([(10, 20)]).translate(15)
    assert (found.lo, found.hi, found.exact) == (21, None, False)


def test_what_was_before_a_step_back_is_remembered_where_the_topic_is_the_same():
    """MirrorMaker 2 forgets it and answers -1."""
    history = SyncHistory([(10, 20), (30, 40), (25, 45)])
    same = history.translate(15, target_has_no_gaps=True, is_same_topic=True)
    assert (same.lo, same.exact) == (25, True)
    perhaps_another = history.translate(15, target_has_no_gaps=True)
    assert (perhaps_another.lo, perhaps_another.hi) == (25, 45)
