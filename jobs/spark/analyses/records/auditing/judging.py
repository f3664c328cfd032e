"""What the rows mean that have no match: missing, extra, moved, changed, or nothing at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from jobs.spark.analyses.records.auditing.alignment import (
    CLOSED,
    COUNT,
    GAP,
    HASH,
    IS_TOMBSTONE,
    KEY,
    NEVER,
    OFFSET,
    REPEATS,
    TIME,
    Alignment,
    Side,
)
from jobs.spark.analyses.records.auditing.kinds import Kind
from jobs.spark.analyses.records.auditing.matching import mixed, paired
from jobs.wire.rebatch.table import Int64s

MOST_FINDINGS = 1000
_LISTED = (
    Kind.MISSING, Kind.EXTRA, Kind.DUPLICATED, Kind.DELETED_ON_SOURCE, Kind.DELETED_ON_TARGET,
    Kind.BEFORE_FIRST,
)  # fmt: skip
Ranges = Iterable[Sequence[int]]


class Finding(NamedTuple):
    """A range of records of one kind; both ends are exclusive, -1: not known, or not there."""

    what: str
    source_offset: int
    source_to: int
    target_offset: int
    target_to: int
    records: int
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Edges:
    """What is known of both ends of what was read; pairs are of source and target.

    `removed`: how many older offsets were deleted since the beginning, or since the proven match right before
    (`is_proven`). `older_unread`, `newer_unread`: `most_records` left some out. `is_watched`: MirrorMaker 2
    copies, which may have begun late and may have left out aborted transactions.
    """

    removed: Sequence[int] = (0, 0)
    older_unread: Sequence[bool] = (False, False)
    newer_unread: Sequence[bool] = (False, False)
    is_proven: bool = False
    is_compacted: bool = False
    is_watched: bool = False


@dataclass(slots=True)
class Judged:
    """Records by kind (their codes) and findings; `proven`: those before the last match only.

    `can_resume`: nothing behind the last match belongs to something before it.
    """

    counts: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    proven_counts: Counter[str] = field(default_factory=Counter)
    proven_findings: list[Finding] = field(default_factory=list)
    can_resume: bool = True


def judge(
    alignment: Alignment,
    edges: Edges,
    earlier: Callable[[Int64s], Int64s] | None = None,
    aborted: Ranges = (),
    undecided: Ranges = (),
) -> Judged:
    """Classify what has no match. `earlier` returns the offsets of proven source records by hashes, or -1.

    `aborted` and `undecided` are first and last source offsets of transactions, see `SpanReader`.
    """
    source, target = alignment.finish()
    if edges.is_proven and earlier is not None:
        wanted = np.flatnonzero(target[REPEATS] < 0)
        if len(wanted):
            target[REPEATS, wanted] = earlier(target[HASH, wanted])
    return _Judging(alignment, edges, (source, target)).all(aborted, undecided)


class _Judging:
    def __init__(self, alignment: Alignment, edges: Edges, rows: tuple[Int64s, Int64s]) -> None:
        self._alignment, self._edges, self._rows = alignment, edges, rows
        self._kinds = tuple(np.full(one.shape[1], Kind.OPEN, np.int64) for one in rows)
        self._matches = alignment.matched.rows
        self._tails = tuple(one[GAP] == self._matches for one in rows)
        self._found = Judged()

    def all(self, aborted: Ranges, undecided: Ranges) -> Judged:
        (source, target), edges = self._rows, self._edges
        new = target[REPEATS] < 0
        tail = self._tails[Side.SOURCE]
        self._pair(Kind.REORDERED, HASH, there=new)
        self._pair(Kind.REORDERED, HASH, here=~tail & (source[GAP] > 0), there=~new)
        self._set(Side.TARGET, ~new, Kind.DUPLICATED)
        if edges.is_watched:
            self._set(Side.SOURCE, _within(source[OFFSET], aborted), Kind.ABORTED)
            self._set(Side.SOURCE, _within(source[OFFSET], undecided) & ~tail, Kind.UNSURE)
        self._set_first()
        self._pair(Kind.ALTERED, KEY)
        self._pair(Kind.ALTERED, TIME)
        if edges.is_compacted:
            self._supersede()
        changed = source[OFFSET][(self._kinds[Side.SOURCE] == Kind.ALTERED) & tail]
        behind = tail & (source[OFFSET] > changed.max(initial=-1))
        self._set(Side.SOURCE, behind, self._behind)
        if edges.newer_unread[Side.SOURCE]:
            self._set(Side.TARGET, self._tails[Side.TARGET], Kind.UNREAD)
        if edges.is_watched and not edges.is_proven:
            self._set(Side.SOURCE, source[GAP] == 0, Kind.BEFORE_FIRST)
        self._set(Side.SOURCE, np.bool_(True), Kind.MISSING)  # noqa: FBT003  a mask of all
        self._set(Side.TARGET, np.bool_(True), Kind.EXTRA)  # noqa: FBT003  as above
        self._count()
        return self._found

    def _set_first(self) -> None:
        """Judge what is before the first match where the other side cannot have it any more."""
        for side, what in zip(Side, (Kind.DELETED_ON_TARGET, Kind.DELETED_ON_SOURCE), strict=True):
            first = self._rows[side][GAP] == 0
            if side is Side.SOURCE:
                first &= ~self._tails[side]
            if self._edges.older_unread[1 - side]:
                self._set(side, first, Kind.UNREAD)
            if self._edges.removed[1 - side]:
                self._set(side, first, what)

    @property
    def _behind(self) -> Kind:
        return Kind.UNREAD if self._edges.newer_unread[Side.TARGET] else Kind.NOT_COPIED_YET

    def _set(self, side: Side, mask: np.ndarray | np.bool_, what: Kind) -> None:
        kinds = self._kinds[side]
        kinds[mask & (kinds == Kind.OPEN)] = what

    def _pair(
        self,
        what: Kind,
        row: int,
        here: np.ndarray | bool = True,  # noqa: FBT001, FBT002  a mask of all
        there: np.ndarray | bool = True,  # noqa: FBT001, FBT002  as above
    ) -> None:
        """Take records of both sides together that are equal in a row; ALTERED: between the same matches."""
        source, target = self._rows
        left, right = (
            np.flatnonzero((kinds == Kind.OPEN) & mask)
            for kinds, mask in zip(self._kinds, (here, there), strict=True)
        )
        if not len(left) or not len(right):
            return
        values = source[row, left], target[row, right]
        if what is Kind.ALTERED:
            values = mixed(values[0], source[GAP, left]), mixed(values[1], target[GAP, right])
        at, to = paired(*values)
        at, to = left[at], right[to]
        self._kinds[Side.SOURCE][at], self._kinds[Side.TARGET][to] = what, what
        is_tail = self._tails[Side.SOURCE][at]
        if what is Kind.REORDERED and is_tail.any():
            self._found.can_resume = False
        for one, other in zip(
            at[:MOST_FINDINGS].tolist(), to[:MOST_FINDINGS].tolist(), strict=True
        ):
            detail = "other key" if what is Kind.ALTERED and row == TIME else ""
            if what is Kind.ALTERED and row == KEY and source[TIME, one] != target[TIME, other]:
                detail = "other time"
            offsets = int(source[OFFSET, one]), int(target[OFFSET, other])
            self._add(_pair_of(what, *offsets, detail), is_proven=not self._tails[0][one])

    def _supersede(self) -> None:
        (source, target), edges = self._rows, self._edges
        last = self._alignment.matched.last[Side.SOURCE]
        tail = self._tails[Side.SOURCE]
        self._set(Side.SOURCE, (source[CLOSED] <= last) & ~tail, Kind.SUPERSEDED)
        self._set(Side.TARGET, target[CLOSED] < NEVER, Kind.SUPERSEDED)
        # Which values a key had before the proven match is not known.
        is_unknown = edges.is_proven or any(edges.older_unread)
        for side, rows in zip(Side, self._rows, strict=True):
            gone = (rows[IS_TOMBSTONE] == 1) & (rows[KEY] != 0)
            if side is Side.SOURCE:
                gone &= ~tail
            if gone.any():
                gone &= ~np.isin(rows[KEY], self._alignment.value_keys[1 - side].all())
                self._set(side, gone, Kind.UNSURE if is_unknown else Kind.SUPERSEDED)

    def _count(self) -> None:
        found, alignment, removed = self._found, self._alignment, self._edges.removed
        for side, rows, kinds in zip(Side, self._rows, self._kinds, strict=True):
            is_proven = rows[GAP] < self._matches
            for what in map(Kind, np.unique(kinds).tolist()):
                if side is Side.SOURCE or what not in (Kind.REORDERED, Kind.ALTERED):
                    found.counts[what.code] += int(rows[COUNT, kinds == what].sum())
                    proven = rows[COUNT, (kinds == what) & is_proven]
                    found.proven_counts[what.code] += int(proven.sum())
            self._list_ranges(side)
            # What was left out before the first match.
            count, first, last = alignment.dropped[side]
            what = (Kind.DELETED_ON_TARGET, Kind.DELETED_ON_SOURCE)[side]
            what = what if removed[1 - side] else Kind.UNREAD
            found.counts[what.code] += count
            found.proven_counts[what.code] += count
            if count and what is not Kind.UNREAD:
                self._add(_range(what, side, (first, last + 1), (-1, -1), count), is_proven=True)
        for counts in (found.counts, found.proven_counts):
            counts["superseded"] += alignment.superseded
            counts["altered"] += alignment.matched.altered_count
        found.counts[self._behind.code] += alignment.tail
        more = found.counts["deleted_on_target"] - removed[Side.TARGET]
        found.counts["undeleted"] = max(more, 0)
        for pair in alignment.matched.altered:
            self._add(_pair_of(Kind.ALTERED, *pair, "other SHA-256"), is_proven=True)
        for findings in (found.findings, found.proven_findings):
            findings.sort(key=lambda one: (max(one.source_offset, 0), one.target_offset))

    def _list_ranges(self, side: Side) -> None:
        """List runs of records of the same kind between the same matches."""
        rows, kinds = self._rows[side], self._kinds[side]
        if not len(kinds):
            return
        begins = np.ones(len(kinds), np.bool_)
        begins[1:] = (kinds[1:] != kinds[:-1]) | (rows[GAP, 1:] != rows[GAP, :-1])
        begins[1:] |= (kinds[1:] == Kind.DUPLICATED) & (rows[REPEATS, 1:] <= rows[REPEATS, :-1])
        starts = np.flatnonzero(begins)
        ends = np.append(starts[1:], len(kinds)) - 1
        records = np.add.reduceat(rows[COUNT], starts)
        for place in np.flatnonzero(np.isin(kinds[starts], _LISTED))[:MOST_FINDINGS].tolist():
            run = rows[:, [starts[place], ends[place]]]
            what = Kind(int(kinds[starts[place]]))
            own, other = ((int(run[row, 0]), int(run[row, 1]) + 1) for row in (OFFSET, REPEATS))
            other = other if what is Kind.DUPLICATED else (-1, -1)
            finding = _range(what, side, own, other, int(records[place]))
            self._add(finding, is_proven=bool(run[GAP, 0] < self._matches))

    def _add(self, finding: Finding, *, is_proven: bool) -> None:
        found = self._found
        for findings in (found.findings, found.proven_findings)[: 1 + is_proven]:
            if len(findings) < MOST_FINDINGS:
                findings.append(finding)


def _within(offsets: Int64s, ranges: Ranges) -> np.ndarray:
    bounds = np.array(sorted(map(tuple, ranges)), np.int64).reshape(-1, 2)
    at = np.searchsorted(bounds[:, 0], offsets, side="right") - 1
    found: np.ndarray = at >= 0
    if len(bounds):
        found &= offsets <= bounds[at, 1]
    return found


def _pair_of(what: Kind, source: int, target: int, detail: str) -> Finding:
    return Finding(what.code, source, source + 1, target, target + 1, 1, detail)


def _range(
    what: Kind, side: Side, own: tuple[int, int], other: tuple[int, int], records: int
) -> Finding:
    source, target = (own, other) if side is Side.SOURCE else (other, own)
    return Finding(what.code, *source, *target, records)
