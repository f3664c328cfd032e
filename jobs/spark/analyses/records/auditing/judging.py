"""What the rows mean that have no match: missing, extra, moved, changed, or nothing at all."""

from __future__ import annotations

from collections.abc import Callable
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
from jobs.spark.analyses.records.auditing.matching import mixed, paired
from jobs.wire.rebatch.table import Int64s

MOST_FINDINGS = 1000
(
    OPEN, MISSING, EXTRA, DUPLICATED, REORDERED, ALTERED, DELETED_ON_SOURCE, DELETED_ON_TARGET,
    NOT_COPIED_YET, SUPERSEDED, BEFORE_FIRST, UNREAD, UNSURE,
) = range(13)  # fmt: skip
WHAT = (
    "open", "missing", "extra", "duplicated", "reordered", "altered", "deleted_on_source",
    "deleted_on_target", "not_copied_yet", "superseded", "before_first", "unread", "unsure",
)  # fmt: skip
_LISTED = (MISSING, EXTRA, DUPLICATED, DELETED_ON_SOURCE, DELETED_ON_TARGET)


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
    """What is known of both ends of what was read.

    `source_moved`, `target_moved`: older records were deleted there. `is_proven`: it begins right behind a
    proven match. `is_cut`: older records were not read. `source_cut`, `target_cut`: newer ones.
    """

    source_moved: bool = False
    target_moved: bool = False
    is_proven: bool = False
    is_cut: bool = False
    source_cut: bool = False
    target_cut: bool = False
    is_compacted: bool = False


@dataclass(slots=True)
class Judged:
    """Records by kind (names of `WHAT`) and findings; `proven`: those before the last match only.

    `can_resume`: nothing behind the last match belongs to something before it.
    """

    counts: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    proven_counts: dict[str, int] = field(default_factory=dict)
    proven_findings: list[Finding] = field(default_factory=list)
    can_resume: bool = True


def judge(
    alignment: Alignment, edges: Edges, earlier: Callable[[Int64s], Int64s] | None = None
) -> Judged:
    """Classify what has no match. `earlier` returns the offsets of proven source records by hashes, or -1."""
    source, target = alignment.finish()
    if edges.is_proven and earlier is not None:
        asked = np.flatnonzero(target[REPEATS] < 0)
        if len(asked):
            target[REPEATS, asked] = earlier(target[HASH, asked])
    return _Judging(alignment, edges, source, target).all()


class _Judging:
    def __init__(self, alignment: Alignment, edges: Edges, source: Int64s, target: Int64s) -> None:
        self._alignment, self._edges = alignment, edges
        self._source, self._target = source, target
        self._here = np.full(source.shape[1], OPEN, np.int64)
        self._there = np.full(target.shape[1], OPEN, np.int64)
        self._rows = alignment.matched.rows
        self._tail = source[GAP] == self._rows
        self._found = Judged()

    def all(self) -> Judged:
        source, target, edges = self._source, self._target, self._edges
        new = target[REPEATS] < 0
        self._pair(REORDERED, HASH, there=new)
        self._pair(REORDERED, HASH, here=~self._tail & (source[GAP] > 0), there=~new)
        self._set(Side.TARGET, ~new, DUPLICATED)
        if edges.source_moved:
            self._set(Side.TARGET, target[GAP] == 0, DELETED_ON_SOURCE)
        if edges.target_moved and self._rows:
            self._set(Side.SOURCE, source[GAP] == 0, DELETED_ON_TARGET)
        self._pair(ALTERED, KEY)
        self._pair(ALTERED, TIME)
        if edges.is_compacted:
            self._supersede()
        self._set_edges()
        self._set(Side.SOURCE, self._here == OPEN, MISSING)
        self._set(Side.TARGET, self._there == OPEN, EXTRA)
        self._count()
        return self._found

    def _set(self, side: Side, mask: np.ndarray, what: int) -> None:
        kinds = (self._here, self._there)[side]
        kinds[mask & (kinds == OPEN)] = what

    def _pair(
        self,
        what: int,
        row: int,
        here: np.ndarray | bool = True,  # noqa: FBT001, FBT002  a mask of all
        there: np.ndarray | bool = True,  # noqa: FBT001, FBT002  as above
    ) -> None:
        """Take records of both sides together that are equal in a row; ALTERED: between the same matches."""
        source, target = self._source, self._target
        left = np.flatnonzero((self._here == OPEN) & here)
        right = np.flatnonzero((self._there == OPEN) & there)
        if not len(left) or not len(right):
            return
        values = source[row, left], target[row, right]
        if what == ALTERED:
            values = mixed(values[0], source[GAP, left]), mixed(values[1], target[GAP, right])
        at, to = paired(*values)
        at, to = left[at], right[to]
        self._here[at], self._there[to] = what, what
        if what == REORDERED and self._tail[at].any():
            self._found.can_resume = False
        some = at[: 2 * MOST_FINDINGS].tolist(), to[: 2 * MOST_FINDINGS].tolist()
        for here_at, there_at in zip(*some, strict=True):
            upstream, downstream = int(source[OFFSET, here_at]), int(target[OFFSET, there_at])
            detail = ""
            if what == ALTERED:
                detail = "other key" if row == TIME else ""
                if row == KEY and source[TIME, here_at] != target[TIME, there_at]:
                    detail = "other time"
            finding = Finding(
                WHAT[what], upstream, upstream + 1, downstream, downstream + 1, 1, detail
            )
            self._add(finding, is_proven=not self._tail[here_at])

    def _supersede(self) -> None:
        source, target, alignment = self._source, self._target, self._alignment
        last = alignment.matched.last[Side.SOURCE]
        self._set(Side.SOURCE, (source[CLOSED] <= last) & ~self._tail, SUPERSEDED)
        self._set(Side.TARGET, target[CLOSED] < NEVER, SUPERSEDED)
        # Which values a key had before the proven match is not known.
        what = UNSURE if self._edges.is_proven or self._edges.is_cut else SUPERSEDED
        for side, rows, other in (
            (Side.SOURCE, source, Side.TARGET),
            (Side.TARGET, target, Side.SOURCE),
        ):
            is_tombstone = (rows[IS_TOMBSTONE] == 1) & (rows[KEY] != 0)
            if is_tombstone.any():
                gone = is_tombstone & ~np.isin(rows[KEY], alignment.value_keys[other].all())
                self._set(side, gone & ((side == Side.TARGET) | ~self._tail), what)

    def _set_edges(self) -> None:
        source, target, edges = self._source, self._target, self._edges
        changed = source[OFFSET][(self._here == ALTERED) & self._tail]
        behind = self._tail & (source[OFFSET] > (changed.max() if len(changed) else -1))
        self._set(Side.SOURCE, behind, UNREAD if edges.target_cut else NOT_COPIED_YET)
        if edges.source_cut:
            self._set(Side.TARGET, target[GAP] == self._rows, UNREAD)
        if not edges.is_proven:
            first = UNREAD if edges.is_cut else BEFORE_FIRST
            self._set(Side.SOURCE, (source[GAP] == 0) & ~self._tail, first)
            if edges.is_cut:
                self._set(Side.TARGET, target[GAP] == 0, UNREAD)

    def _count(self) -> None:
        found = self._found
        for side, rows, kinds in (
            (Side.SOURCE, self._source, self._here),
            (Side.TARGET, self._target, self._there),
        ):
            is_proven = rows[GAP] < self._rows
            for what in np.unique(kinds).tolist():
                if side is Side.TARGET and what in (REORDERED, ALTERED):
                    continue
                for counts, mask in (
                    (found.counts, kinds == what),
                    (found.proven_counts, (kinds == what) & is_proven),
                ):
                    name = WHAT[what]
                    counts[name] = counts.get(name, 0) + int(rows[COUNT, mask].sum())
            self._list_ranges(side, rows, kinds)
        self._add_dropped()
        self._add_matched()

    def _add_matched(self) -> None:
        """Count what was decided while rows were taken."""
        found, alignment = self._found, self._alignment
        for counts in (found.counts, found.proven_counts):
            for name, more in (
                ("superseded", alignment.superseded),
                ("altered", alignment.matched.altered_count),
            ):
                counts[name] = counts.get(name, 0) + more
        tail = "unread" if self._edges.target_cut else "not_copied_yet"
        found.counts[tail] = found.counts.get(tail, 0) + alignment.tail
        for here, there in alignment.matched.altered:
            finding = Finding("altered", here, here + 1, there, there + 1, 1, "other SHA-256")
            self._add(finding, is_proven=True)
        for findings in (found.findings, found.proven_findings):
            findings.sort(key=lambda one: (max(one.source_offset, 0), one.target_offset))

    def _add_dropped(self) -> None:
        found, edges = self._found, self._edges
        for side, (count, first, last) in zip(Side, self._alignment.dropped, strict=True):
            if not count:
                continue
            is_moved = edges.target_moved if side is Side.SOURCE else edges.source_moved
            what = DELETED_ON_TARGET if side is Side.SOURCE else DELETED_ON_SOURCE
            if not is_moved:
                what = UNREAD if edges.is_cut else BEFORE_FIRST
            for counts in (found.counts, found.proven_counts):
                counts[WHAT[what]] = counts.get(WHAT[what], 0) + count
            if is_moved:
                self._add(_range(what, side, (first, last + 1), (-1, -1), count), is_proven=True)

    def _list_ranges(self, side: Side, rows: Int64s, kinds: Int64s) -> None:
        """List runs of records of the same kind between the same matches."""
        if not len(kinds):
            return
        begins = np.ones(len(kinds), np.bool_)
        begins[1:] = (kinds[1:] != kinds[:-1]) | (rows[GAP, 1:] != rows[GAP, :-1])
        begins[1:] |= (kinds[1:] == DUPLICATED) & (rows[REPEATS, 1:] <= rows[REPEATS, :-1])
        starts = np.flatnonzero(begins)
        ends = np.append(starts[1:], len(kinds))
        records = np.add.reduceat(rows[COUNT], starts)
        listed = np.flatnonzero(np.isin(kinds[starts], _LISTED))[: 2 * MOST_FINDINGS]
        for place in listed.tolist():
            first, last = int(starts[place]), int(ends[place]) - 1
            own = int(rows[OFFSET, first]), int(rows[OFFSET, last]) + 1
            what = int(kinds[first])
            other = (-1, -1)
            if what == DUPLICATED:
                other = int(rows[REPEATS, first]), int(rows[REPEATS, last]) + 1
            finding = _range(what, side, own, other, int(records[place]))
            self._add(finding, is_proven=bool(rows[GAP, first] < self._rows))

    def _add(self, finding: Finding, *, is_proven: bool) -> None:
        for findings, wanted in (
            (self._found.findings, True),
            (self._found.proven_findings, is_proven),
        ):
            if wanted and len(findings) < MOST_FINDINGS:
                findings.append(finding)


def _range(
    what: int, side: Side, own: tuple[int, int], other: tuple[int, int], records: int
) -> Finding:
    source, target = (own, other) if side is Side.SOURCE else (other, own)
    return Finding(WHAT[what], *source, *target, records)
