"""The offset syncs of one source partition, in the order of the log, and the neighbours of an offset.

When the upstream offset goes back (records are copied again, or the source topic was deleted and re-created)
an epoch begins. When the downstream offset goes back, the remote topic was deleted and re-created: a
generation begins, and what was before counts no more. So it is where syncs are missing: any of that may have
happened meanwhile. A sync that names the one before it (`jobs.wire.topics.sync_links`) is linked to it:
between the two none is missing.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from jobs.replication.offset_sync_store import KeptSync
from jobs.replication.offset_syncs.sync_rows import UNKNOWN, Bools, Int64s, SyncRows, repeats

UPSTREAM, DOWNSTREAM = 0, 1
NONE: Int64s = np.empty(0, np.int64)
NO_LINKS: Bools = np.empty(0, np.bool_)


class Around(NamedTuple):
    """The syncs next to an offset, `after` perhaps None; `linked`: none between the two is missing."""

    before: KeptSync
    after: KeptSync | None
    linked: bool


class PartitionSyncs:
    """The syncs of the newest generation: a part in arrays that never changes, and what came since.

    `starts` are the rows where epochs begin; inside an epoch both offsets rise. `is_after_gap`: syncs are
    missing before the first row.
    """

    def __init__(
        self,
        upstreams: Int64s = NONE,
        downstreams: Int64s = NONE,
        linked: Bools = NO_LINKS,
        starts: Iterable[int] = (),
        *,
        is_after_gap: bool = False,
    ) -> None:
        self._old = (upstreams, downstreams)
        self._new: tuple[list[int], list[int]] = ([], [])
        self._linked: tuple[Bools, list[bool]] = (linked, [])
        self.starts = list(starts)
        self.is_after_gap = is_after_gap
        self._begun: dict[int, list[tuple[int, int]]] = {}
        self.last = self.sync(len(self) - 1) if len(self) else None

    def __len__(self) -> int:
        return len(self._old[UPSTREAM]) + len(self._new[UPSTREAM])

    def add(
        self,
        upstream: int,
        downstream: int,
        *,
        after_gap: bool = False,
        follows: tuple[int, int] | None = None,
    ) -> None:
        """Take the next sync, and which one it follows (None: not known); one that repeats says nothing new.

        `after_gap`: some may be missing before it. They are not where it follows the last one here, and they
        are where it follows another one.
        """
        new, last = KeptSync(upstream, downstream), self.last
        if last == new and not after_gap:
            return
        is_linked = last is not None and follows == last
        is_gap = not is_linked and (after_gap or follows is not None)
        if last is None or is_gap or downstream <= last.downstream:
            self._begin_anew(is_after_gap=is_gap)
        elif upstream <= last.upstream:
            self._begin_epoch()
        self._new[UPSTREAM].append(upstream)
        self._new[DOWNSTREAM].append(downstream)
        self._linked[1].append(is_linked)
        self.last = new

    @classmethod
    def of_rows(cls, rows: SyncRows) -> PartitionSyncs:
        """Return what `add` makes of the rows of one partition, one after the other."""
        rows = rows.pick(~repeats(rows))
        upstream, downstream, count = rows.upstream, rows.downstream, len(rows.upstream)
        if not count:
            return cls()
        linked, is_gap = np.zeros(count, np.bool_), rows.follows_upstream != UNKNOWN
        linked[1:] = (rows.follows_upstream[1:] == upstream[:-1]) & (
            rows.follows_downstream[1:] == downstream[:-1]
        )
        is_gap[1:] |= rows.hole[1:] != rows.hole[:-1]
        is_gap &= ~linked
        begins = is_gap.copy()
        begins[1:] |= downstream[1:] <= downstream[:-1]
        begin = int(np.flatnonzero(begins)[-1]) if begins.any() else 0
        upstream, downstream = upstream[begin:], downstream[begin:]
        starts = [0, *(np.flatnonzero(upstream[1:] <= upstream[:-1]) + 1).tolist()]
        is_after_gap = bool(is_gap[begin])
        return cls(upstream, downstream, linked[begin:], starts, is_after_gap=is_after_gap)

    def extended(self, rows: SyncRows, hole: int) -> PartitionSyncs:
        """Return all of these and rows that came after a row with so many holes before it."""
        new = PartitionSyncs(
            *self._old, self._linked[0], self.starts, is_after_gap=self.is_after_gap
        )
        new._new = (list(self._new[UPSTREAM]), list(self._new[DOWNSTREAM]))
        new._linked = (self._linked[0], list(self._linked[1]))
        new.last = self.last
        columns = (column.tolist() for column in rows[1:6])
        for upstream, downstream, own_hole, *follows in zip(*columns, strict=True):
            known = None if follows[0] == UNKNOWN else (follows[0], follows[1])
            new.add(upstream, downstream, after_gap=own_hole != hole, follows=known)
            hole = own_hole
        return new

    def keep(self, rows: Int64s) -> None:
        """Forget all rows but these (rising): answers get coarser and stay right.

        A sync is not linked to one that is not before it any more.
        """
        upstreams, downstreams = self.columns()
        epochs = np.searchsorted(self.starts, rows, side="right")
        self.starts = np.unique(epochs, return_index=True)[1].tolist()
        linked = self.links()[rows] & (np.diff(rows, prepend=-2) == 1)
        self._old, self._new = (upstreams[rows], downstreams[rows]), ([], [])
        self._linked, self._begun = (linked, []), {}
        self.last = self.sync(len(rows) - 1) if len(rows) else None

    def shorten(self) -> None:
        """Forget the sync before the last where its neighbours say the same."""
        (upstreams, downstreams), (_, linked) = self._new, self._linked
        is_long = len(upstreams) > 2 and len(self) - self.starts[-1] > 2  # noqa: PLR2004  three of one epoch
        if is_long and linked[-1] and linked[-2]:
            differences = {
                down - up for up, down in zip(upstreams[-3:], downstreams[-3:], strict=True)
            }
            if len(differences) == 1:
                del upstreams[-2], downstreams[-2], linked[-2]

    def sync(self, row: int) -> KeptSync:
        old = len(self._old[UPSTREAM])
        if row < old:
            return KeptSync(int(self._old[UPSTREAM][row]), int(self._old[DOWNSTREAM][row]))
        return KeptSync(self._new[UPSTREAM][row - old], self._new[DOWNSTREAM][row - old])

    def first_of(self, epoch: int) -> KeptSync:
        """Return the first sync of an epoch, counted from 0; -1 is the newest."""
        return self.sync(self.starts[epoch])

    def epoch_of(self, offset: int, side: int = UPSTREAM) -> int | None:
        """Return the newest epoch that had begun at an offset of a side; None before all of them."""
        begun = self.beginnings(side)
        at = bisect_right(begun, offset, key=lambda one: one[0])
        return begun[at - 1][1] if at else None

    def before_all(self, side: int = UPSTREAM) -> KeptSync:
        """Return the sync that bounds what is before all epochs."""
        return self.lowest_from(0) if side == DOWNSTREAM else self.first_of(-1)

    def around(self, epoch: int, offset: int, side: int = UPSTREAM) -> Around:
        """Return the last sync of an epoch at or before an offset, not below its first, and the next one."""
        row = self._last_at_or_before(epoch, offset, side)
        after = row + 1
        if after == self._end_of(epoch):
            return Around(self.sync(row), None, linked=False)
        return Around(self.sync(row), self.sync(after), self._is_linked(after))

    def bounds_of(self, epoch: int) -> tuple[int, int]:
        """Return the first row of an epoch and the row behind its last."""
        return self.starts[epoch], self._end_of(epoch)

    def beginnings(self, side: int = UPSTREAM) -> list[tuple[int, int]]:
        """Return (first offset, epoch) of the epochs that are newest for some offset of a side, rising."""
        if side not in self._begun:
            found: list[tuple[int, int]] = []
            for epoch in range(len(self.starts) - 1, -1, -1):
                first = self.first_of(epoch)[side]
                if not found or first < found[-1][0]:
                    found.append((first, epoch))
            self._begun[side] = found[::-1]
        return self._begun[side]

    def lowest_from(self, epoch: int) -> KeptSync:
        """Return the beginning of an epoch or a later one that has the lowest upstream offset."""
        begun = self.beginnings()
        return self.first_of(begun[bisect_left(begun, epoch, key=lambda one: one[1])][1])

    def columns(self) -> tuple[Int64s, Int64s]:
        """Return all upstream and all downstream offsets, copied only where something came since."""
        if not self._new[UPSTREAM]:
            return self._old
        pairs = zip(self._old, self._new, strict=True)
        upstreams, downstreams = (np.concatenate((o, np.array(n, np.int64))) for o, n in pairs)
        return upstreams, downstreams

    def links(self) -> Bools:
        """Return of all syncs whether none is missing between them and the one before."""
        old, new = self._linked
        return np.concatenate((old, np.array(new, np.bool_))) if new else old

    def _is_linked(self, row: int) -> bool:
        old, new = self._linked
        return bool(old[row]) if row < len(old) else new[row - len(old)]

    def _begin_anew(self, *, is_after_gap: bool) -> None:
        self._old, self._new, self._linked = (NONE, NONE), ([], []), (NO_LINKS, [])
        self.starts, self.is_after_gap = [0], is_after_gap
        self._begun = {}

    def _begin_epoch(self) -> None:
        self.starts.append(len(self))
        self._begun = {}

    def _end_of(self, epoch: int) -> int:
        return self.starts[epoch + 1] if epoch + 1 < len(self.starts) else len(self)

    def _last_at_or_before(self, epoch: int, offset: int, side: int) -> int:
        start, end, old = self.starts[epoch], self._end_of(epoch), len(self._old[side])
        new = self._new[side]
        since = max(start, old)
        if end > since and new[since - old] <= offset:
            return old + bisect_right(new, offset, since - old, end - old) - 1
        rows = self._old[side][start : min(end, old)]
        return start + int(np.searchsorted(rows, offset, side="right")) - 1
