"""MirrorMaker 2's own translation, by its expected values and by the rules of its store."""

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jobs.replication.offset_sync_store import SIZE, TOO_OLD, OffsetSyncStore
from tests.support import conformance_cases

PROPERTIES = {
    case.id: case.values[0]["expected"]
    for case in conformance_cases("offset_translation", "property")
}


class Played:
    """Plays the steps of a case: `start` comes where the topic was read to its end."""

    def __init__(self) -> None:
        self.store = OffsetSyncStore()
        self._flag = True

    def begin(self, initialization_must_read_to_end):
        self._flag = initialization_must_read_to_end

    def end_of_topic(self):
        self.store.start(self._flag)

    def sync(self, upstream, downstream):
        self.store.sync(upstream, downstream)

    def sync_range(self, step, to, note="", **bounds):
        for offset in range(bounds["from"], to + 1, step):
            self.store.sync(offset, offset)

    def translate(self, group_offset, expected):
        assert self.store.translate(group_offset) == expected, group_offset


@pytest.mark.parametrize("case", conformance_cases("offset_translation", "offset_sync_store"))
def test_every_answer_is_that_of_mirror_maker(case):
    played = Played()
    for step in case["steps"]:
        arguments = {name: value for name, value in step.items() if name != "op"}
        getattr(played, step["op"])(**arguments)


def started(offsets) -> OffsetSyncStore:
    store = OffsetSyncStore()
    store.start(False)
    for offset in offsets:
        store.sync(offset, offset)
    return store


def expired_by_each(offsets) -> list[int]:
    """Return how many distinct syncs each one made the store forget."""
    store, before, found = started([]), set(), []
    for offset in offsets:
        store.sync(offset, offset)
        now = set(store.syncs)
        found.append(len(before - now))
        before = now
    return found


@pytest.mark.parametrize("step", [1, 2, 3, 7, 10, 100, 1000, 2**20])
def test_even_steps_forget_one_sync_at_a_time_and_keep_the_first_and_the_last(step):
    offsets = [number * step for number in range(2000)]
    expected = PROPERTIES["store-spacing-consistent"]
    assert max(expired_by_each(offsets)) <= expected["max_distinct_syncs_expired_per_update"]
    syncs, named = started(offsets).syncs, {"latest": offsets[-1], "first": offsets[0]}
    assert syncs[0].upstream == named[expected["syncs_0"]]
    assert syncs[63].upstream == named[expected["syncs_63"]]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 8, 12])
def test_uneven_steps_forget_few_syncs_at_a_time(n):
    draw = random.Random(n)
    steps = [draw.randrange(1, 2**n) for _ in range(2000)]
    most = {"n+2": n + 2}[
        PROPERTIES["store-spacing-random"]["max_distinct_syncs_expired_per_update"]
    ]
    assert max(expired_by_each(offsets_of(steps))) <= most


@given(st.lists(st.sampled_from([100, 200]), min_size=1, max_size=300))
@example([100, 100, 100, 100, 200])
def test_dropped_syncs_make_it_forget_two_at_a_time_at_most(steps):
    most = PROPERTIES["store-spacing-dropped"]["max_distinct_syncs_expired_per_update"]
    assert max(expired_by_each(offsets_of(steps))) <= most


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=200))
def test_the_invariants_hold_after_any_syncs(offsets):
    syncs = started(offsets).syncs
    assert len(syncs) == SIZE == PROPERTIES["store-invariants"]["size"]
    assert syncs[0].upstream == offsets[-1]
    for i, later in enumerate(syncs):
        for j in range(i + 1, SIZE):
            earlier = syncs[j]
            if later != earlier:
                assert later.upstream <= earlier.upstream + 2**j - 2**i
                assert later.upstream >= earlier.upstream + 2 ** max(i - 2, 0)


def test_a_store_that_must_forget_its_start_answers_from_the_last_sync_on():
    store = OffsetSyncStore()
    for offset in (100, 200, 300):
        store.sync(offset, offset)
    store.start(True)
    assert [store.translate(offset) for offset in (250, 300, 301)] == [TOO_OLD, 300, 301]


def offsets_of(steps) -> list[int]:
    offsets = [0]
    for step in steps:
        offsets.append(offsets[-1] + step)
    return offsets
