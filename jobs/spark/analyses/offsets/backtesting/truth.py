"""Where records really are on the target: both sides of a partition aligned by what their records hash to.

Both sides are in order, so that a record that is only once on the source is surely known wherever its hash is
on the target. Equal records are matched only between two known ones that are equally far apart on both
sides. What was copied twice (an engine that began again before its last position) has several places. Not
seen is that a record is equal to one that the source deleted; the time of a record is part of what is equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
_NONE = -1
# An offset behind all others.
BEHIND: int = (1 << 62) - 1


class Known(IntEnum):
    """Whether it is known where the first copied record is at or behind an offset, else why not."""

    YES = 0
    SOURCE_DELETED = 1
    NOT_READ = 2
    BEHIND_END = 3
    TARGET_DELETED = 4
    EQUAL_RECORDS = 5
    OTHER_RECORDS = 6
    OTHER_SOURCE = 7
    OTHER_TARGET = 8
    NO_TOPIC = 9
    BEHIND_TARGET = 10

    @property
    def text(self) -> str:
        return _TEXTS[self]


_TEXTS = {
    Known.YES: "It is known.",
    Known.SOURCE_DELETED: "The source deleted the records there (retention).",
    Known.NOT_READ: "The record is older than those that were read (argument most_records).",
    Known.BEHIND_END: "It is after the end of the source: the log was truncated, or the topic re-created.",
    Known.TARGET_DELETED: "The target deleted the records there (retention).",
    Known.EQUAL_RECORDS: "There are equal records: which copy belongs to which is not known.",
    Known.OTHER_RECORDS: "The target has records there that the source has not: compaction, other writers.",
    Known.OTHER_SOURCE: "The source topic was deleted and re-created since.",
    Known.OTHER_TARGET: "The remote topic was deleted and re-created since.",
    Known.BEHIND_TARGET: "The answer is after all records that were matched on the target.",
    Known.NO_TOPIC: "The topic was deleted, on one side or on both.",
}


class Side(NamedTuple):
    """Records of a partition that were read: offsets rise; equal records have equal hashes.

    They are all that is from `start` up to `end`. `is_cut`: there are older ones that were not read.
    """

    offsets: Int64s
    hashes: Int64s
    start: int
    end: int
    is_cut: bool = False

    def count_between(self, start: Int64s, end: Int64s) -> Int64s:
        """Return how many records are between two offsets, none where the second is not behind the first."""
        first, behind = (np.searchsorted(self.offsets, one) for one in (start, end))
        found: Int64s = np.maximum(behind - first, 0)
        return found


class Places(NamedTuple):
    """The truth about source offsets; `why` are numbers of `Known`, the rest counts where it is YES.

    A group that resumes at or before `highest` reads every record from the offset on, as copied last;
    `lowest` is where the first of them was copied first. Both are the target's end where nothing is copied
    yet. `bound`: resuming behind it surely skips a record, also where the place is not known.
    """

    lowest: Int64s
    highest: Int64s
    bound: Int64s
    why: npt.NDArray[np.uint8]


@dataclass(slots=True)
class Truth:
    """Both sides of a partition, aligned. Each array has an entry for each source record and for the end.

    `last` is where a record was copied last (-1: not known, or it will be copied again). `following` is the
    next record of which a copy is known (that many: none), `doubtful` counts records of the target right
    before its copy that are no known copies. `equal` counts the source records before that may be at a place
    of the target whose source record is not known. `begins`: the first source record of which a
    copy is known. `sure_to`: up to which target offset it is sure that resuming there skips what it passes;
    behind it are records that cannot be matched, and perhaps the engine went back there.
    """

    source: Side
    target: Side
    last: Int64s
    lowest: Int64s
    highest: Int64s
    bound: Int64s
    following: Int64s
    doubtful: Int64s
    equal: Int64s
    begins: int
    sure_to: int

    def places(self, upstreams: Int64s) -> Places:
        """Return the truth about source offsets."""
        source, target = self.source, self.target
        count = len(source.offsets)
        rank = np.searchsorted(source.offsets, upstreams)
        found = self.following[rank]
        offsets = np.append(source.offsets, source.end)
        # No record was there between the offset and a known one: what is before that one is older.
        is_it = (found == rank) & (offsets[found] == upstreams) & (found < count)
        why = np.full(len(upstreams), Known.YES, np.uint8)
        why[~is_it & (self.doubtful[found] > 0)] = Known.OTHER_RECORDS
        behind = np.minimum(found + 1, count)
        highest = self.highest[rank]
        may_be_lower = _lowest_from(np.where(self.last < 0, target.end, self.last))[rank] < highest
        why[may_be_lower | (self.equal[behind] > self.equal[rank])] = Known.EQUAL_RECORDS
        deleted = target.start > 0
        why[~is_it & (rank <= self.begins) & deleted] = (
            Known.NOT_READ if target.is_cut else Known.TARGET_DELETED
        )
        before = Known.NOT_READ if source.is_cut else Known.SOURCE_DELETED
        why[upstreams < source.start] = before
        why[upstreams > source.end] = Known.BEHIND_END
        return Places(self.lowest[rank], highest, self.bound[rank], why)

    def skipped(self, upstream: int, downstream: int) -> tuple[int, int] | None:
        """Return the first record that resuming at `downstream` skips, and its copy; None: none."""
        rank = int(np.searchsorted(self.source.offsets, upstream))
        last = self.last[rank:]
        out = np.flatnonzero((last >= 0) & (last < downstream))
        if not len(out):
            return None
        return int(self.source.offsets[rank + out[0]]), int(last[out[0]])


def align(source: Side, target: Side) -> Truth:
    """Return which record of the target is a copy of which of the source, and what follows from that.

    Pure. Memory: some arrays as long as the sides.
    """
    match, is_equal = _matched(source, target)
    count, size = len(source.offsets), len(target.offsets)
    known = np.flatnonzero(match >= 0)
    reached = int(match[known[-1]]) if len(known) else _NONE
    first = np.full(count + 1, target.end, np.int64)
    first[match[known][::-1]] = target.offsets[known][::-1]
    last = np.full(count + 1, _NONE, np.int64)
    last[match[known]] = target.offsets[known]
    # An engine copies in order: what is behind the newest copy comes (again) behind the target's end.
    last[reached + 1 :] = _NONE
    is_known = last >= 0
    is_sure = is_known.copy()
    is_sure[:-1] &= ~is_equal
    following = _next_of(is_known)
    doubtful = np.zeros(count + 1, np.int64)
    doubtful[match[known]] = np.diff(known, prepend=-1) - 1
    doubtful[count] = size - 1 - (int(known[-1]) if len(known) else -1)
    equal = np.concatenate(([0], np.cumsum(is_equal)))
    return Truth(
        source,
        target,
        last,
        _lowest_from(first),
        _lowest_from(np.where(is_sure, last, target.end)),
        _lowest_from(np.where(is_sure, last, BEHIND)),
        following,
        doubtful,
        equal,
        int(match[known].min()) if len(known) else count,
        int(target.offsets[known[-1]]) if len(known) and doubtful[count] else BEHIND,
    )


def _matched(source: Side, target: Side) -> tuple[Int64s, Bools]:
    """Return of each target record which source record it is a copy of (-1: not known).

    Also which source records are equal to one of which that is not known.
    """
    if not len(source.hashes) or not len(target.hashes):
        return np.full(len(target.hashes), _NONE, np.int64), np.zeros(len(source.hashes), np.bool_)
    hashes, first, counts = np.unique(source.hashes, return_index=True, return_counts=True)
    at = np.minimum(np.searchsorted(hashes, target.hashes), len(hashes) - 1)
    is_only = (hashes[at] == target.hashes) & (counts[at] == 1)
    match = np.where(is_only, first[at], _NONE)
    _drop_strangers(match)
    _fill(match, source, target)
    return match, np.isin(source.hashes, target.hashes[match == _NONE])


def _drop_strangers(match: Int64s) -> None:
    """Drop single records that are out of the order of their neighbours: no engine copies so."""
    places = np.flatnonzero(match >= 0)
    ranks = match[places]
    before, here, after = ranks[:-2], ranks[1:-1], ranks[2:]
    match[places[1:-1][(before < after) & ((here < before) | (here > after))]] = _NONE


def _fill(match: Int64s, source: Side, target: Side) -> None:
    """Match what is between two known records that are equally far apart and as equal in between."""
    places = np.flatnonzero(match >= 0)
    ranks = match[places]
    spans = np.diff(places)
    wanted = np.flatnonzero((spans > 1) & (spans == np.diff(ranks)))
    if not len(wanted):
        return
    lengths = spans[wanted] - 1
    gap = np.repeat(np.arange(len(wanted)), lengths)
    step = np.arange(len(gap)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + 1
    at, rank = places[wanted][gap] + step, ranks[wanted][gap] + step
    same = source.hashes[rank] == target.hashes[at]
    is_same = np.bincount(gap, ~same, len(wanted)) == 0
    taken = is_same[gap]
    match[at[taken]] = rank[taken]


def _lowest_from(values: Int64s) -> Int64s:
    found: Int64s = np.minimum.accumulate(values[::-1])[::-1]
    return found


def _next_of(is_known: Bools) -> Int64s:
    """Return of each place the next one that is known; the last place, which is the end, without one."""
    end = len(is_known) - 1
    return _lowest_from(np.where(is_known, np.arange(end + 1), end))
