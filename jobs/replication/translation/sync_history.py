"""Translation of an offset, proved by all offset syncs of a partition.

A sync says that two offsets mean the same record. What lies between two of them is bounded by both: no
answer of this module leaves out a record, and where the bounds meet, it is exact. The rule itself is
`bounds`; here it is used for one offset, with the syncs that say so, and for many.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from jobs.replication.offset_sync_store import KeptSync
from jobs.replication.offset_syncs.sync_rows import Int64s
from jobs.replication.translation.bounds import (
    MANY,
    NOTHING_KNOWN,
    ONE,
    UNBOUNDED,
    Answers,
    Facts,
    Place,
    Why,
    bounds_of,
    copied_again,
    seen_again,
)
from jobs.replication.translation.partition_syncs import DOWNSTREAM, UPSTREAM, PartitionSyncs


class Certificate(NamedTuple):
    """What is known of `e`, the downstream offset of the first copied record at or after an upstream offset.

    Invariant: lo <= e <= hi, as far as e is on the target yet; `hi` is None where nothing bounds it. Resuming
    at `lo` skips nothing. `evidence` are the syncs that say so, `reason` why it is not exact, or that it is.
    The way back has the same form: `lo` and `hi` are upstream offsets then.
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
    """Return whether a group that resumes at `lo` reads no record again: none is between it and the true
    place.

    `asked` is the given offset, `side` whose it is. Behind a sync at the offset before, the
    first record is one that was not read.
    """
    if found.exact or found.reason == Why.PERHAPS_NO_RECORD.text:
        return True
    is_known = bool(found.evidence) and found.reason != Why.WENT_BACK.text
    return is_known and asked == found.evidence[0][side] + 1


def repeated_at_most(
    found: Certificate,
    asked: int,
    target: int,
    end: int | None,
    not_copied: int | None,
    side: int = UPSTREAM,
) -> int | None:
    """Return how many offsets are read again at most by a group that resumes at `target`; None: not known.

    `end` is where the log ends that is read then (None: not known), `not_copied` how many records that were
    read come there later. What a plan says of a partition, and what is promised before there is one.
    """
    if repeats_nothing(found, asked, side):
        return not_copied or 0
    if found.hi is not None:
        hi = found.hi if end is None else min(found.hi, end)
        return max(hi - target, 0) + (not_copied or 0)
    return None if not_copied is None or end is None else end - target + not_copied


class ComingCommits(NamedTuple):
    """What can be said of commits that a group has not made yet.

    `gap`: of a commit between two offset syncs at most so many offsets are repeated; None: only the end of
    the copy bounds it. `lo`: a commit behind the newest offset sync resumes there.
    """

    gap: int | None
    lo: int


class SyncHistory:
    """All offset syncs of one partition, in the order in which they were written.

    Rules: the reference of offset translation, with KAFKA-12468's caution. A writer of syncs writes the
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
        """Take the next sync; `after_gap`: some before it are missing, and their content is not known.

        `follows` is the one that was written before it, None where that is not known.
        """
        self.syncs.add(upstream, downstream, after_gap=after_gap, follows=follows)

    def certify(self, upstream: int, facts: Facts = NOTHING_KNOWN) -> Certificate | None:
        """Return what is known of an upstream offset; None without any sync."""
        return self._certificate(upstream, facts, UPSTREAM)

    def reverse(self, downstream: int, facts: Facts = NOTHING_KNOWN) -> Certificate | None:
        """Return bounds of the lowest upstream offset of all that is at a downstream offset or behind it.

        A group that has read everything before `downstream` and resumes at `lo` on the source skips nothing.
        None without any sync.
        """
        return self._certificate(downstream, facts, DOWNSTREAM)

    def coming(self, upstream: int) -> ComingCommits | None:
        """Return what can be said of commits from an upstream offset on; None without any sync."""
        syncs = self.syncs
        if syncs.last is None:
            return None
        lo = syncs.last.downstream + 1
        start, end = syncs.bounds_of(len(syncs.starts) - 1)
        upstreams, downstreams = (column[start:end] for column in syncs.columns())
        if upstream < upstreams[0]:
            return ComingCommits(None, lo)
        row = int(np.searchsorted(upstreams, upstream, side="right")) - 1
        gaps = np.diff(downstreams[row:]) - 1
        untold = gaps[~syncs.links()[start + row + 1 : end]]
        return ComingCommits(int(untold.max(initial=0)), lo)

    def certify_many(self, upstreams: Int64s, facts: Facts = NOTHING_KNOWN) -> Answers:
        """Return what `certify` does for each."""
        return self._answers(upstreams, facts, UPSTREAM)

    def reverse_many(self, downstreams: Int64s, facts: Facts = NOTHING_KNOWN) -> Answers:
        """Return what `reverse` does for each."""
        return self._answers(downstreams, facts, DOWNSTREAM)

    def _certificate(self, asked: int, facts: Facts, side: int) -> Certificate | None:
        syncs = self.syncs
        if not syncs.starts:
            return None
        epoch = syncs.epoch_of(asked, side)
        if epoch is None:
            first = syncs.before_all(side)
            return _told((0, first[1 - side], _before_first(syncs)), (first,))
        before, after, is_linked = syncs.around(epoch, asked, side)
        own = (before[side], before[1 - side])
        behind = (0, 0) if after is None else (after[side], after[1 - side])
        at = Place(asked, own, behind, after is not None, is_linked)
        found = bounds_of(at, facts, ONE, is_back=side == DOWNSTREAM)
        is_alone = found[2] in (Why.IS_SYNC, Why.NO_LATER_SYNC)
        evidence = (before,) if after is None or is_alone else (before, after)
        if epoch < len(syncs.starts) - 1:
            found, again = self._of_older(found, at, epoch, facts, ONE, side)
            evidence = (*evidence, again) if found[2] == Why.WENT_BACK else evidence
        return _told(found, evidence)

    def _answers(self, asked: Int64s, facts: Facts, side: int) -> Answers:
        syncs, answers = self.syncs, Answers.none(len(asked))
        if not syncs.starts or not len(asked):
            return answers
        begun = syncs.beginnings(side)
        which = np.searchsorted([first for first, _ in begun], asked, side="right") - 1
        for number in np.unique(which).tolist():
            places = np.flatnonzero(which == number)
            if number < 0:
                hi = syncs.before_all(side)[1 - side]
                answers.put(places, (0, hi, _before_first(syncs)))
                continue
            epoch = begun[number][1]
            at = self._place(asked[places], epoch, side)
            found = bounds_of(at, facts, MANY, is_back=side == DOWNSTREAM)
            if epoch < len(syncs.starts) - 1:
                found, _ = self._of_older(found, at, epoch, facts, MANY, side)
            answers.put(places, found)
        return answers

    def _place(self, asked: Int64s, epoch: int, side: int) -> Place:
        """Return the syncs around offsets of one epoch."""
        columns, links = self.syncs.columns(), self.syncs.links()
        own, other = columns[side], columns[1 - side]
        start, end = self.syncs.bounds_of(epoch)
        row = start + np.searchsorted(own[start:end], asked, side="right") - 1
        after = np.minimum(row + 1, end - 1)
        at = (own[row], other[row]), (own[after], other[after])
        return Place(asked, *at, row + 1 < end, links[after])

    def _of_older(
        self, found: Any, at: Place, epoch: int, facts: Facts, values: Any, side: int
    ) -> tuple[Any, KeptSync]:
        """Return what an older epoch says in view of the later ones, and the sync that says it."""
        lowest = self.syncs.lowest_from(epoch + 1)
        if side == DOWNSTREAM:
            return seen_again(found, values, lowest.upstream), lowest
        newest = self.syncs.first_of(-1)
        again = (lowest.upstream, newest.downstream)
        return copied_again(found, at, facts, values, *again), newest


def _before_first(syncs: PartitionSyncs) -> Why:
    return Why.SYNCS_MISSING if syncs.is_after_gap else Why.BEFORE_FIRST


def _told(found: tuple[int, int, Why], evidence: tuple[KeptSync, ...]) -> Certificate:
    lo, hi, why = found
    return Certificate(lo, None if hi == UNBOUNDED else hi, Why(why).text, evidence)
