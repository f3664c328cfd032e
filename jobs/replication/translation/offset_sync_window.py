"""The offset syncs that a running flow keeps to say where its groups go on: bounded, never past the truth.

A sync says that two offsets mean the same record. crosslog's engine writes beside each sync which one it
follows (`sync_tracker`): where that one was read right before, none is missing between the two, so every
record between them has the difference of the first. Where one is missing (compaction, MirrorMaker 2, or
there were too many to keep all), the answer is bounded by both sides, as `sync_history` does it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.sync_tracker import Pair
from jobs.replication.offset_sync_store import KeptSync
from jobs.replication.translation.sync_history import Certificate, Why
from jobs.replication.translation.translator import SourceEnd

# Of all partitions together; a sync takes 17 bytes.
MOST_SYNCS = 2_000_000
FEWEST_PER_PARTITION = 64
MOST_EPOCHS = 8
AT_THE_END = "The group has read everything."
BEFORE_ALL = "It is before the first offset sync that is still known."


class OffsetSyncWindow:
    """The syncs of the partitions of one flow, in the order of their topic.

    At most `most` are kept, but at least `fewest` of each partition.
    """

    def __init__(self, most: int = MOST_SYNCS, fewest: int = FEWEST_PER_PARTITION) -> None:
        self._most = most
        self._fewest = fewest
        self._partitions: dict[TopicPartition, _Partition] = {}

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self._partitions)

    def __len__(self) -> int:
        """How many syncs are kept."""
        return sum(len(partition) for partition in self._partitions.values())

    def clear(self) -> None:
        """Forget everything: the topic is read from its beginning again."""
        self._partitions.clear()

    def add(
        self,
        where: TopicPartition,
        pair: Pair,
        follows: Pair | None = None,
    ) -> None:
        """Take the next sync of a source partition, and what it follows (None: not known)."""
        partition = self._partitions.setdefault(where, _Partition())
        partition.add(pair, follows)
        if len(partition) > max(self._fewest, self._most // len(self._partitions)):
            partition.thin()

    def mark(self, where: TopicPartition) -> None:
        """Mark the syncs of a partition that are kept now, see `drop_marked`."""
        partition = self._partitions.get(where)
        if partition is not None:
            partition.mark()

    def drop_marked(self, where: TopicPartition) -> None:
        """Forget the marked syncs of a partition, because its remote topic was still another one then."""
        partition = self._partitions.get(where)
        if partition is not None:
            partition.drop_marked()
            if not len(partition):
                del self._partitions[where]

    def translate(
        self, where: TopicPartition, upstream: int, *, end: SourceEnd | None = None
    ) -> Certificate | None:
        """Return between which target offsets a source offset lies; None without any offset sync.

        `end`, where both sides end, is for a group that has read everything, although not everything is
        told of in syncs.
        """
        partition = self._partitions.get(where)
        found = None if partition is None else partition.translate(upstream)
        if end is None or found is None or upstream != end.source_end:
            return found
        return found._replace(lo=max(found.lo, end.target_end), hi=None, reason=AT_THE_END)


class _Partition:
    """Epochs: a new one begins where the upstream offset goes back, as in `SyncHistory`."""

    def __init__(self) -> None:
        self._epochs: list[_Epoch] = []
        self._unmarked = 0  # so many of the newest

    def __len__(self) -> int:
        return sum(len(epoch) for epoch in self._epochs)

    def add(self, pair: Pair, follows: Pair | None) -> None:
        last = self._epochs[-1].pair(-1) if self._epochs else None
        if last is not None and pair[1] <= last.downstream:
            if any(epoch.says(pair) for epoch in self._epochs):
                return
            last = self._take_back(pair[1])
        if last is None:
            self._epochs = [_Epoch()]
        elif pair[0] <= last.upstream:
            self._epochs = [*self._epochs[1 - MOST_EPOCHS :], _Epoch()]
        newest = self._epochs[-1]
        before = len(newest)
        newest.add(pair, is_linked=last is not None and follows == last)
        self._unmarked = max(self._unmarked + len(newest) - before, 1)

    def thin(self) -> None:
        max(self._epochs, key=len).thin()
        self._unmarked = 0

    def mark(self) -> None:
        self._unmarked = 0

    def drop_marked(self) -> None:
        marked = max(len(self) - self._unmarked, 0)
        while marked:
            oldest = self._epochs[0]
            gone = min(marked, len(oldest))
            oldest.drop(gone)
            marked -= gone
            if not len(oldest):
                self._epochs.pop(0)

    def _take_back(self, downstream: int) -> KeptSync | None:
        """Forget what was said of target offsets from one on; returns the last sync before it."""
        before = len(self)
        while self._epochs and self._epochs[-1].downstream[0] >= downstream:
            self._epochs.pop()
        if self._epochs:
            self._epochs[-1].cut(downstream)
        self._unmarked = max(self._unmarked - (before - len(self)), 0)
        return self._epochs[-1].pair(-1) if self._epochs else None

    def translate(self, upstream: int) -> Certificate:
        newest = self._epochs[-1]
        for epoch in reversed(self._epochs):
            if epoch.upstream[0] > upstream:
                continue
            found = epoch.translate(upstream)
            if epoch is newest:
                return found
            first = newest.pair(0)
            evidence = (*found.evidence, first)
            return Certificate(found.lo, first.downstream, Why.WENT_BACK.text, evidence)
        first = newest.pair(0)
        return Certificate(0, first.downstream, BEFORE_ALL, (first,))


class _Epoch:
    """Syncs that follow each other, both offsets rising; `linked` where none is missing before one."""

    def __init__(self) -> None:
        self.upstream = array("q")
        self.downstream = array("q")
        self.linked = bytearray()

    def __len__(self) -> int:
        return len(self.upstream)

    def pair(self, at: int) -> KeptSync:
        return KeptSync(self.upstream[at], self.downstream[at])

    def add(self, pair: Pair, *, is_linked: bool) -> None:
        if is_linked and self._is_inside(
            pair
        ):  # the last one says nothing that its neighbours do not
            self.upstream[-1], self.downstream[-1] = pair
            return
        self.upstream.append(pair[0])
        self.downstream.append(pair[1])
        self.linked.append(is_linked and len(self.linked) > 0)

    def says(self, pair: Pair) -> bool:
        """Return whether a sync is kept, or its neighbours say the same."""
        after = bisect_right(self.upstream, pair[0])
        if not after:
            return False
        before = self.pair(after - 1)
        if before.upstream == pair[0] or after == len(self) or not self.linked[after]:
            return before == pair
        following, difference = self.pair(after), pair[1] - pair[0]
        return (
            difference
            == before.downstream - before.upstream
            == following.downstream - following.upstream
        )

    def cut(self, downstream: int) -> None:
        """Forget the syncs from a target offset on."""
        kept = bisect_left(self.downstream, downstream)
        del self.upstream[kept:], self.downstream[kept:], self.linked[kept:]

    def drop(self, count: int) -> None:
        """Forget so many of the oldest syncs."""
        del self.upstream[:count], self.downstream[:count], self.linked[:count]
        self.linked[:1] = bytes(min(len(self.linked), 1))

    def _is_inside(self, pair: Pair) -> bool:
        if len(self) < 2 or not self.linked[-1]:  # noqa: PLR2004  there must be one before the last
            return False
        before, last = self.pair(-2), self.pair(-1)
        difference = pair[1] - pair[0]
        return difference == last.downstream - last.upstream == before.downstream - before.upstream

    def thin(self) -> None:
        """Forget every other sync of the older half: answers there get coarser, and stay right."""
        half = len(self) // 2
        self.upstream = self.upstream[:half:2] + self.upstream[half:]
        self.downstream = self.downstream[:half:2] + self.downstream[half:]
        kept = len(self.upstream) - (len(self.linked) - half)
        self.linked = bytearray(kept + 1) + self.linked[half + 1 :]

    def translate(self, upstream: int) -> Certificate:
        after = bisect_right(self.upstream, upstream)
        before = self.pair(after - 1)
        if before.upstream == upstream:
            place = before.downstream
            return Certificate(place, place, Why.IS_SYNC.text, (before,))
        if after == len(self):
            return Certificate(before.downstream + 1, None, Why.NO_LATER_SYNC.text, (before,))
        following = self.pair(after)
        evidence = (before, following)
        if self.linked[after]:
            place = min(before.downstream + upstream - before.upstream, following.downstream)
            reason = Why.PERHAPS_NO_RECORD.text
            return Certificate(place, following.downstream, reason, evidence)
        reason = Why.GAPS_ON_BOTH.text
        return Certificate(before.downstream + 1, following.downstream, reason, evidence)
