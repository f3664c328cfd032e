"""Where an offset of the source is on the target, proved by all offset syncs of a partition.

A sync says that two offsets mean the same record. What lies between two of them is bounded by both: no
answer of this module leaves out a record, and where the bounds meet, it is exact.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from jobs.replication.offset_sync_store import KeptSync


class Certificate(NamedTuple):
    """What is known of `e`, the downstream offset of the first copied record at or after an upstream offset.

    Invariant: lo <= e <= hi, as far as e is on the target yet; `hi` is None where nothing bounds it. Going on
    at `lo` skips nothing. `evidence` are the syncs that say so, `reason` why it is not exact, or that it is.
    """

    lo: int
    hi: int | None
    reason: str
    evidence: tuple[KeptSync, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether there is only one possible answer."""
        return self.lo == self.hi


class _Epoch:
    """Syncs that follow each other: both offsets rise."""

    def __init__(self, first: KeptSync) -> None:
        self.syncs = [first]

    @property
    def first(self) -> KeptSync:
        return self.syncs[0]

    @property
    def last(self) -> KeptSync:
        return self.syncs[-1]

    def around(self, upstream: int) -> tuple[KeptSync, KeptSync | None]:
        """Return the last sync at or before an offset, and the next one; `first` is not after it."""
        after = bisect_right(self.syncs, upstream, key=lambda sync: sync.upstream)
        return self.syncs[after - 1], self.syncs[after] if after < len(self.syncs) else None


class SyncHistory:
    """All offset syncs of one partition, in the order in which they were written.

    When the upstream offset goes back (records are copied again, or the source topic was made anew) an epoch
    begins; when the downstream offset goes back, the remote topic was made anew and what was before counts no
    more. Rules: the reference of offset translation, with KAFKA-12468's caution.
    """

    def __init__(self, syncs: Iterable[tuple[int, int]] = ()) -> None:
        self._epochs: list[_Epoch] = []
        for upstream, downstream in syncs:
            self.add(upstream, downstream)

    def add(self, upstream: int, downstream: int) -> None:
        """Take the next sync."""
        new = KeptSync(upstream, downstream)
        last = self._epochs[-1].last if self._epochs else None
        if last == new:
            return
        if last is None or downstream <= last.downstream:
            self._epochs = [_Epoch(new)]
        elif upstream <= last.upstream:
            self._epochs.append(_Epoch(new))
        else:
            self._epochs[-1].syncs.append(new)

    def translate(
        self, upstream: int, *, target_has_no_gaps: bool = False, is_same_topic: bool = False
    ) -> Certificate | None:
        """Return what is known of an upstream offset; None without any sync.

        `target_has_no_gaps`: the remote partition has one writer, no transaction markers, and is not
        compacted.
        `is_same_topic`: the source topic is known to be the one that it was at all syncs.
        """
        if not self._epochs:
            return None
        number = self._epoch_of(upstream)
        if number is None:
            first = self._epochs[-1].first
            return Certificate(0, first.downstream, "It is before the first offset sync.", (first,))
        before, after = self._epochs[number].around(upstream)
        found = _between(before, after, upstream, has_no_gaps=target_has_no_gaps)
        if number == len(self._epochs) - 1 or is_same_topic:
            return found
        newest = self._epochs[-1].first
        reason = "The source went back after that: its records were copied again, or its topic was made anew."
        return Certificate(found.lo, newest.downstream, reason, (*found.evidence, newest))

    def _epoch_of(self, upstream: int) -> int | None:
        """Return the newest epoch that had begun at an offset."""
        for number in range(len(self._epochs) - 1, -1, -1):
            if self._epochs[number].first.upstream <= upstream:
                return number
        return None


def _between(
    before: KeptSync, after: KeptSync | None, upstream: int, *, has_no_gaps: bool
) -> Certificate:
    if upstream == before.upstream:
        return Certificate(before.downstream, before.downstream, "It is an offset sync.", (before,))
    if after is None:
        reason = "There is no later offset sync."
        return Certificate(before.downstream + 1, None, reason, (before,))
    lo, hi = before.downstream + 1, after.downstream
    if has_no_gaps:
        lo = max(lo, after.downstream - (after.upstream - upstream))
        hi = min(hi, before.downstream + (upstream - before.upstream))
    if lo == hi:
        reason = "The two offset syncs leave one possibility."
    else:
        sides = "the source has" if has_no_gaps else "source and target may have"
        reason = f"Between the two offset syncs {sides} offsets without a record."
    return Certificate(lo, hi, reason, (before, after))
