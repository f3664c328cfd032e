"""The rules of `sync_history` for many offsets of a partition at once, in arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jobs.replication.translation.partition_syncs import Bools, Int64s, PartitionSyncs
from jobs.replication.translation.sync_history import Facts, Why

UNBOUNDED = -1


class Answers(NamedTuple):
    """An answer per question, in their order; see `Certificate`.

    `hi` is -1 where nothing bounds it. `why` are numbers of `Why`; where it is `NO_SYNC` there is no answer,
    and both bounds are -1.
    """

    lo: Int64s
    hi: Int64s
    why: npt.NDArray[np.uint8]

    @classmethod
    def none(cls, count: int) -> Answers:
        """Return answers that say nothing yet."""
        return cls(
            np.full(count, UNBOUNDED, np.int64),
            np.full(count, UNBOUNDED, np.int64),
            np.full(count, Why.NO_SYNC, np.uint8),
        )

    @property
    def exact(self) -> Bools:
        """Where there is only one possible answer."""
        found: Bools = (self.lo == self.hi) & (self.why != Why.NO_SYNC)
        return found

    def put(self, places: Int64s | slice, found: Answers) -> None:
        """Write the answers to some of the questions."""
        self.lo[places], self.hi[places], self.why[places] = found


@dataclass(slots=True)
class _Asked:
    """Questions that fall into one epoch, and the rows around them."""

    upstreams: Int64s
    before: Int64s
    end: int
    # The first upstream offset of all later epochs; None for the newest.
    copied_again_from: int | None


def translate_partition(syncs: PartitionSyncs, upstreams: Int64s, facts: Facts) -> Answers:
    """Answer all questions about one partition; the same as `SyncHistory.certify` for each."""
    answers = Answers.none(len(upstreams))
    if not syncs.starts or not len(upstreams):
        return answers
    begun = syncs.beginnings()
    newest = syncs.first_of(-1)
    firsts = np.array([first for first, _ in begun], np.int64)
    which = np.searchsorted(firsts, upstreams, side="right") - 1
    columns, links = syncs.columns(), syncs.links()
    for number in np.unique(which).tolist():
        places = np.flatnonzero(which == number)
        if number < 0:
            answers.put(places, _before_first(syncs, len(places), newest.downstream))
            continue
        epoch = begun[number][1]
        start, end = syncs.bounds_of(epoch)
        asked = upstreams[places]
        rows = start + np.searchsorted(columns[0][start:end], asked, side="right") - 1
        again = int(firsts[number + 1]) if number + 1 < len(firsts) else None
        which_rows = _Asked(asked, rows, end, again)
        found = _in_epoch(columns, links, which_rows, facts, newest.downstream)
        answers.put(places, found)
    return answers


def _before_first(syncs: PartitionSyncs, count: int, hi: int) -> Answers:
    why = Why.SYNCS_MISSING if syncs.is_after_gap else Why.BEFORE_FIRST
    return Answers(
        np.zeros(count, np.int64), np.full(count, hi, np.int64), np.full(count, why, np.uint8)
    )


def _in_epoch(
    columns: tuple[Int64s, Int64s],
    links: Bools,
    asked: _Asked,
    facts: Facts,
    newest_downstream: int,
) -> Answers:
    upstreams, downstreams = columns
    u_before, d_before = upstreams[asked.before], downstreams[asked.before]
    has_after = asked.before + 1 < asked.end
    after = np.minimum(asked.before + 1, asked.end - 1)
    u_after, d_after = upstreams[after], downstreams[after]
    is_told = links[after] | facts.all_changes_told
    found = _between(asked.upstreams, (u_before, d_before), (u_after, d_after), is_told, facts)
    is_sync = asked.upstreams == u_before
    open_end = ~has_after & ~is_sync
    found.lo[open_end] = d_before[open_end] + 1
    found.hi[open_end] = UNBOUNDED
    found.why[open_end] = Why.NO_LATER_SYNC
    found.lo[is_sync] = found.hi[is_sync] = d_before[is_sync]
    found.why[is_sync] = Why.IS_SYNC
    if asked.copied_again_from is not None:
        dense = facts.target_has_no_gaps & (u_after - u_before == d_after - d_before)
        holds = is_sync | (has_after & (dense | (u_after < asked.copied_again_from)))
        _widen(found, ~(holds & facts.is_same_topic), newest_downstream)
    return found


def _between(
    asked: Int64s,
    before: tuple[Int64s, Int64s],
    after: tuple[Int64s, Int64s],
    is_told: Bools,
    facts: Facts,
) -> Answers:
    as_far = before[1] + (asked - before[0])
    lo, hi = before[1] + 1, after[1].copy()
    if facts.target_has_no_gaps:
        holds = after[1] - before[1] <= after[0] - before[0]
        lo = np.where(holds, np.maximum(lo, after[1] - (after[0] - asked)), lo)
        hi = np.where(holds, np.minimum(hi, as_far), hi)
    lo = np.where(is_told, np.maximum(lo, np.minimum(as_far, after[1])), lo)
    untold = Why.GAPS_ON_SOURCE if facts.target_has_no_gaps else Why.GAPS_ON_BOTH
    wide = np.where(is_told, Why.PERHAPS_NO_RECORD, untold)
    why = np.where(lo == hi, Why.ONE_POSSIBILITY, wide).astype(np.uint8)
    return Answers(lo, hi, why)


def _widen(found: Answers, places: Bools, newest_downstream: int) -> None:
    """Bound what an older epoch says by the newest, which may have copied the record again."""
    found.hi[places] = newest_downstream
    found.why[places] = Why.WENT_BACK
