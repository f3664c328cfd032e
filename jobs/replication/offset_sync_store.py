"""MirrorMaker 2's own answer to where a group resumes, for the comparison with a certified one.

It keeps 64 of the offset syncs of a partition, denser towards the end, and answers from the last one at or
before the group's offset: exactly there, one behind it for everything up to the next.
"""

from __future__ import annotations

from typing import NamedTuple

SIZE = 64
TOO_OLD = -1


class KeptSync(NamedTuple):
    """A pair of offsets that mean the same record."""

    upstream: int
    downstream: int


class OffsetSyncStore:
    """The store of one partition, as MirrorMaker 2's checkpoint connector keeps it.

    Syncs that come before `start` are those that are read from the topic on starting up. Invariants, where
    u is an upstream offset, i < j, and the two syncs are not the same: the first is the latest;
    u[i] <= u[j] + 2^j - 2^i; u[i] >= u[j] + 2^max(i - 2, 0); the last is the earliest that can be used.
    Source: the class OffsetSyncStore of Kafka 4.3.1.
    """

    def __init__(self) -> None:
        self._is_started = False
        self._syncs: list[KeptSync] = []
        self._latest: KeptSync | None = None

    @classmethod
    def restored(cls, syncs: list[KeptSync]) -> OffsetSyncStore:
        """Return a store that answers, as one that kept these: latest first, [] or `SIZE` of them.

        A sync that is there several times is one object; of the others some may have equal numbers.
        """
        store = cls()
        store.start(must_read_to_end=False)
        store._syncs, store._latest = list(syncs), syncs[0] if syncs else None
        return store

    @property
    def syncs(self) -> tuple[KeptSync, ...]:
        """The 64 kept syncs, latest first, some of them several times; () before the first one."""
        return tuple(self._syncs)

    def start(self, must_read_to_end: bool) -> None:  # noqa: FBT001  a contract's form
        """Begin to answer.

        With `must_read_to_end` (MirrorMaker 2 could not read its own checkpoints) only the latest sync counts
        of those that came until now: an earlier one might translate to before what was written already.
        """
        if must_read_to_end and self._latest is not None:
            self._syncs = [self._latest] * SIZE
        self._is_started = True

    def sync(self, upstream: int, downstream: int) -> None:
        """Take an offset sync; one with a lower upstream offset than the latest forgets all others."""
        new = self._latest = KeptSync(upstream, downstream)
        if not self._syncs or upstream < self._syncs[0].upstream:
            self._syncs = [new] * SIZE
        else:
            self._insert(new)

    def translate(self, upstream: int) -> int | None:
        """Return the downstream offset for a group's offset.

        None before `start` and without any sync, -1 for an offset that is older than all that was kept.
        """
        if not self._is_started or not self._syncs:
            return None
        for kept in self._syncs:
            if kept.upstream <= upstream:
                return kept.downstream + (upstream > kept.upstream)
        return TOO_OLD

    def _insert(self, new: KeptSync) -> None:
        """Put the latest sync first; the others move back, as few as the invariants allow."""
        syncs, before = self._syncs, _Displaced(self._syncs)
        syncs[0] = fitting = new
        for here in range(1, SIZE):
            fitting = before.next_for(syncs, here) or fitting
            if _is_near(syncs[here - 1], syncs[here], here - 1, here):
                return
            syncs[here] = fitting


class _Displaced:
    """The syncs as they were before an insertion, offered from the latest on, each at most once."""

    def __init__(self, syncs: list[KeptSync]) -> None:
        self._syncs = list(syncs)
        self._at = 0

    def next_for(self, syncs: list[KeptSync], here: int) -> KeptSync | None:
        """Return the one that may stand at `here`; None: those that were there to choose from may not.

        One that is too close to its predecessor will never fit further back and is passed by; one that is too
        old for this place may fit at a later one.
        """
        chosen = None
        while True:
            offered = self._syncs[self._at]
            is_close = not _is_apart(syncs[here - 1], offered, here - 1)
            is_chosen = not is_close and _fits(syncs, offered, here)
            chosen = offered if is_chosen else chosen
            following = self._syncs[self._at + 1] if self._at + 1 < SIZE else None
            is_passed_by = is_close or offered is following
            self._at += is_chosen or is_passed_by
            if not is_passed_by or self._at >= here:
                return chosen


def _fits(syncs: list[KeptSync], candidate: KeptSync, here: int) -> bool:
    """Return whether a sync is recent enough for a place, and apart from the one behind it."""
    return _is_near(syncs[here - 1], candidate, here - 1, here) and (
        here + 1 >= SIZE or _is_apart(candidate, syncs[here + 1], here)
    )


def _is_near(later: KeptSync, earlier: KeptSync, i: int, j: int) -> bool:
    return later is earlier or later.upstream <= earlier.upstream + 2**j - 2**i


def _is_apart(later: KeptSync, earlier: KeptSync, i: int) -> bool:
    return later is earlier or later.upstream >= earlier.upstream + 2 ** max(i - 2, 0)
