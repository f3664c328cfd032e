"""Where an offset of one side is on the other, proved by all offset syncs of a partition.

A sync says that two offsets mean the same record. What lies between two of them is bounded by both: no
answer of this module leaves out a record, and where the bounds meet, it is exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from jobs.replication.offset_sync_store import KeptSync
from jobs.replication.translation.partition_syncs import (
    DOWNSTREAM,
    UPSTREAM,
    Around,
    PartitionSyncs,
)


class Why(IntEnum):
    """Why an answer is exact, or is not; `text` says it to a person."""

    IS_SYNC = 0
    ONE_POSSIBILITY = 1
    GAPS_ON_BOTH = 2
    GAPS_ON_SOURCE = 3
    NO_LATER_SYNC = 4
    BEFORE_FIRST = 5
    SYNCS_MISSING = 6
    WENT_BACK = 7
    NO_SYNC = 8
    AT_THE_END = 9
    ALL_COPIED = 10
    PERHAPS_NO_RECORD = 11

    @property
    def text(self) -> str:
        """One sentence."""
        return _TEXTS[self]


_TEXTS = {
    Why.IS_SYNC: "It is an offset sync.",
    Why.ONE_POSSIBILITY: "The two offset syncs leave one possibility.",
    Why.GAPS_ON_BOTH: "Between the two offset syncs source and target may have offsets without a record.",
    Why.GAPS_ON_SOURCE: "Between the two offset syncs the source has offsets without a record.",
    Why.NO_LATER_SYNC: "There is no later offset sync.",
    Why.BEFORE_FIRST: "It is before the first offset sync.",
    Why.SYNCS_MISSING: "It is before the first offset sync after some that nobody kept.",
    Why.WENT_BACK: "The source went back later: records were copied again, or the topic was made anew.",
    Why.NO_SYNC: "There is no offset sync of this partition.",
    Why.AT_THE_END: "Everything from there on is written to the target behind its end of now.",
    Why.ALL_COPIED: "Nothing is left to read, and everything is copied.",
    Why.PERHAPS_NO_RECORD: "It is there if the offset has a record, later if it has none.",
}


class Certificate(NamedTuple):
    """What is known of `e`, the downstream offset of the first copied record at or after an upstream offset.

    Invariant: lo <= e <= hi, as far as e is on the target yet; `hi` is None where nothing bounds it. Going on
    at `lo` skips nothing. `evidence` are the syncs that say so, `reason` why it is not exact, or that it is.
    The way back is told in the same form: `lo` and `hi` are upstream offsets then.
    """

    lo: int
    hi: int | None
    reason: str
    evidence: tuple[KeptSync, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether there is only one possible answer."""
        return self.lo == self.hi


def repeats_nothing(found: Certificate, asked: int, side: int = UPSTREAM) -> bool:
    """Return whether whoever goes on at `lo` reads no record again: none is between it and the true place.

    `asked` is the offset that was asked for, `side` whose it is. Behind a sync at the offset before, the
    first record is one that was not read.
    """
    if found.exact or found.reason == Why.PERHAPS_NO_RECORD.text:
        return True
    is_known = bool(found.evidence) and found.reason != Why.WENT_BACK.text
    return is_known and asked == found.evidence[0][side] + 1


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a flow beside its offset syncs; each makes answers narrower, and must be true.

    `target_has_no_gaps`: remote partitions have one writer, no transaction markers and no record twice, and
    are not compacted. `is_same_topic`: source topics are those that they were at all syncs.
    `all_changes_told`: there is an offset sync wherever the difference of the offsets changes, and none is
    missing. Of the syncs of crosslog's own flows this is known without asking, see `PartitionSyncs`.
    """

    target_has_no_gaps: bool = False
    is_same_topic: bool = False
    all_changes_told: bool = False


NOTHING_KNOWN = Facts()


class SyncHistory:
    """All offset syncs of one partition, in the order in which they were written.

    Rules: the reference of offset translation, with KAFKA-12468's caution. Whoever writes syncs tells the
    first record after going back; where that sync is lost, nothing can know of it.
    """

    def __init__(self, syncs: Iterable[tuple[int, int]] | PartitionSyncs = ()) -> None:
        self.syncs = syncs if isinstance(syncs, PartitionSyncs) else PartitionSyncs()
        if not isinstance(syncs, PartitionSyncs):
            for upstream, downstream in syncs:
                self.add(upstream, downstream)

    def add(
        self,
        upstream: int,
        downstream: int,
        *,
        after_gap: bool = False,
        follows: tuple[int, int] | None = None,
    ) -> None:
        """Take the next sync; `after_gap`: some before it are missing, and nobody knows what they said.

        `follows` is the one that was told before it, None where nobody says so.
        """
        self.syncs.add(upstream, downstream, after_gap=after_gap, follows=follows)

    def translate(
        self,
        upstream: int,
        *,
        target_has_no_gaps: bool = False,
        is_same_topic: bool = False,
        all_changes_told: bool = False,
    ) -> Certificate | None:
        """Return what is known of an upstream offset; None without any sync. See `Facts` for the rest."""
        return self.certify(upstream, Facts(target_has_no_gaps, is_same_topic, all_changes_told))

    def certify(self, upstream: int, facts: Facts = NOTHING_KNOWN) -> Certificate | None:
        """Return what is known of an upstream offset; None without any sync."""
        syncs = self.syncs
        if not syncs.starts:
            return None
        newest = syncs.first_of(-1)
        epoch = syncs.epoch_of(upstream)
        if epoch is None:
            return _told(0, newest.downstream, _before_first(syncs), newest)
        before, after, _ = around = syncs.around(epoch, upstream)
        found = between(around, upstream, facts)
        if epoch == len(syncs.starts) - 1:
            return found
        if facts.is_same_topic and (
            upstream == before.upstream
            or self._is_copied_once(epoch, after)
            or (facts.target_has_no_gaps and _is_dense(before, after))
        ):
            return found
        return Certificate(
            found.lo, newest.downstream, Why.WENT_BACK.text, (*found.evidence, newest)
        )

    def reverse(self, downstream: int, facts: Facts = NOTHING_KNOWN) -> Certificate | None:
        """Return bounds of the lowest upstream offset of all that is at a downstream offset or behind it.

        Whoever has read everything before `downstream` and goes on at `lo` on the source skips nothing. None
        without any sync.
        """
        syncs = self.syncs
        if not syncs.starts:
            return None
        epoch = syncs.epoch_of_downstream(downstream)
        if epoch is None:
            lowest = syncs.lowest_from(0)
            return _told(0, lowest.upstream, _before_first(syncs), lowest)
        found = between_back(syncs.around(epoch, downstream, DOWNSTREAM), downstream, facts)
        if epoch == len(syncs.starts) - 1:
            return found
        lowest = syncs.lowest_from(epoch + 1)
        if found.hi is not None and found.hi <= lowest.upstream:
            return found
        # What was copied again stands behind it, too, and begins lower.
        lo = min(found.lo, lowest.upstream)
        return Certificate(lo, lowest.upstream, Why.WENT_BACK.text, (*found.evidence, lowest))

    def _is_copied_once(self, epoch: int, after: KeptSync | None) -> bool:
        """Return whether nothing up to and with a sync was copied again by a later epoch."""
        return after is not None and after.upstream < self.syncs.lowest_from(epoch + 1).upstream


def between(around: Around, upstream: int, facts: Facts) -> Certificate:
    """Return what two neighbouring syncs say of an upstream offset that is not before the first."""
    before, after, linked = around
    if upstream == before.upstream:
        return _told(before.downstream, before.downstream, Why.IS_SYNC, before)
    lo = before.downstream + 1
    if after is None:
        return _told(lo, None, Why.NO_LATER_SYNC, before)
    hi = after.downstream
    if facts.target_has_no_gaps and _may_have_no_gaps(before, after):
        lo = max(lo, after.downstream - (after.upstream - upstream))
        hi = min(hi, before.downstream + (upstream - before.upstream))
    if facts.all_changes_told or linked:
        # Every record before `after` is as far from its copy as `before` is.
        lo = max(lo, min(before.downstream + (upstream - before.upstream), after.downstream))
    return _told(lo, hi, _why(lo, hi, facts, linked=linked), before, after)


def between_back(around: Around, downstream: int, facts: Facts) -> Certificate:
    """Return what two neighbouring syncs say of a downstream offset that is not before the first."""
    before, after, linked = around
    if downstream == before.downstream:
        return _told(before.upstream, before.upstream, Why.IS_SYNC, before)
    lo = before.upstream + 1
    if after is None:
        return _told(lo, None, Why.NO_LATER_SYNC, before)
    hi = after.upstream
    as_far = before.upstream + (downstream - before.downstream)
    if facts.target_has_no_gaps and _may_have_no_gaps(before, after):
        lo = max(lo, as_far)
        hi = min(hi, after.upstream - (after.downstream - downstream))
    if facts.all_changes_told or linked:
        lo = max(lo, min(as_far, after.upstream))
    return _told(lo, hi, _why(lo, hi, facts, linked=linked), before, after)


def _may_have_no_gaps(before: KeptSync, after: KeptSync) -> bool:
    """Return whether the target can be without gaps and repeats: it has no more offsets than the source."""
    return after.downstream - before.downstream <= after.upstream - before.upstream


def _is_dense(before: KeptSync, after: KeptSync | None) -> bool:
    """Return whether every offset between two syncs has a record, if the target has no gaps."""
    return after is not None and (
        after.upstream - before.upstream == after.downstream - before.downstream
    )


def _why(lo: int, hi: int, facts: Facts, *, linked: bool) -> Why:
    if lo == hi:
        return Why.ONE_POSSIBILITY
    if facts.all_changes_told or linked:
        return Why.PERHAPS_NO_RECORD
    return Why.GAPS_ON_SOURCE if facts.target_has_no_gaps else Why.GAPS_ON_BOTH


def _before_first(syncs: PartitionSyncs) -> Why:
    return Why.SYNCS_MISSING if syncs.is_after_gap else Why.BEFORE_FIRST


def _told(lo: int, hi: int | None, why: Why, *evidence: KeptSync) -> Certificate:
    return Certificate(lo, hi, why.text, evidence)
