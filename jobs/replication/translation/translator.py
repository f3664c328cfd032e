"""Translation of offsets between the two sides of one flow: the entry point of this package.

Behind it stand the archived offset syncs of the flow; in front of it stand the console, the failover plan,
the checkpoints that crosslog writes, and the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.offset_sync_store import OffsetSyncStore
from jobs.replication.offset_syncs.sync_rows import (
    NOTHING,
    Int64s,
    kept_by,
    slices_by_partition,
    translated,
)
from jobs.replication.translation.bounds import NOTHING_KNOWN, Answers, Facts, Why
from jobs.replication.translation.sync_history import Certificate, SyncHistory


class SourceEnd(NamedTuple):
    """The ends of both sides of a partition, the target's read *before* the source's.

    A group that has read up to `source_end` may resume at `target_end`, which skips nothing, because whatever
    is written to the target afterwards is copied from the source's records behind that end.
    `copied_to` is the flow's position (the next source offset to copy), read before both. `source_start` and
    `target_start` are log starts, `source_high` and `target_high` high watermarks, each read together with
    its end. None: not known.
    """

    source_end: int
    target_end: int
    copied_to: int | None = None
    source_start: int | None = None
    target_start: int | None = None
    source_high: int | None = None
    target_high: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether neither side holds a record."""
        return self.source_start == self.source_end and self.target_start == self.target_end

    @property
    def source_most(self) -> int:
        """The highest offset that a group can have committed on the source, if its commit was read before."""
        return max(self.source_high or 0, self.source_end)

    @property
    def target_most(self) -> int:
        """The same of the target."""
        return max(self.target_high or 0, self.target_end)


class Translator:
    """Answers for the partitions of one flow (topics by their names on the source)."""

    def __init__(
        self,
        syncs: Mapping[TopicPartition, Iterable[tuple[int, int]]] | None = None,
        *,
        facts: Facts = NOTHING_KNOWN,
    ) -> None:
        self.facts = facts
        self._histories: dict[TopicPartition, SyncHistory] = {}
        self._stores: dict[TopicPartition, OffsetSyncStore] = {}
        for where, pairs in (syncs or {}).items():
            for upstream, downstream in pairs:
                self.add(where, upstream, downstream)

    def add(
        self,
        where: TopicPartition,
        upstream: int,
        downstream: int,
        *,
        after_gap: bool = False,
        follows: tuple[int, int] | None = None,
    ) -> None:
        """Take the next offset sync of a partition, in the order of the log.

        `after_gap`: some before it are missing, and their content is not known. `follows`: the one that was
        written before it, None where that is not known.
        """
        history = self._histories.get(where)
        if history is None:
            history = self._histories[where] = SyncHistory()
        history.add(upstream, downstream, after_gap=after_gap, follows=follows)
        store = self._stores.get(where)
        if store is None:
            store = self._stores[where] = started_store()
        store.sync(upstream, downstream)

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """The source partitions with at least one offset sync."""
        return frozenset(self._histories)

    def history(self, where: TopicPartition) -> SyncHistory | None:
        """Return what is known of a partition; None without any offset sync."""
        return self._histories.get(where)

    def translate(
        self, where: TopicPartition, upstream: int, *, end: SourceEnd | None = None
    ) -> Certificate | None:
        """Return between which target offsets a source offset lies.

        None without any offset sync, unless `end` tells: also use where both sides end (for a group that has
        read everything).
        """
        history = self.history(where)
        found = None if history is None else history.certify(upstream, self.facts)
        return found if end is None else at_the_end(found, upstream, end)

    def translate_many(
        self,
        wheres: Sequence[TopicPartition],
        upstreams: npt.ArrayLike,
        which: npt.ArrayLike | None = None,
    ) -> Answers:
        """Answer many questions at once: `upstreams[i]` of `wheres[i]`, or of `wheres[which[i]]`.

        The same as `translate` without `end` for each. Raises ValueError when the lengths do not agree.
        """
        return self._answers(wheres, upstreams, which, SyncHistory.certify_many)

    def reverse_many(
        self,
        wheres: Sequence[TopicPartition],
        downstreams: npt.ArrayLike,
        which: npt.ArrayLike | None = None,
    ) -> Answers:
        """Answer as `reverse` does, many questions at once, see `translate_many`."""
        return self._answers(wheres, downstreams, which, SyncHistory.reverse_many)

    def mm2_many(
        self,
        wheres: Sequence[TopicPartition],
        upstreams: npt.ArrayLike,
        which: npt.ArrayLike | None = None,
    ) -> Int64s:
        """Return MirrorMaker 2's own answers, see `translate_many`; -2 without a sync."""
        names, asked, order, spans = _by_partition(wheres, upstreams, which)
        answers = np.full(len(asked), NOTHING, np.int64)
        for number, span in spans:
            kept = self.kept(names[number])
            if kept is not None:
                answers[order[span]] = translated(kept, asked[order[span]])
        return answers

    def reverse(self, where: TopicPartition, downstream: int) -> Certificate | None:
        """Return between which source offsets a target offset lies, for the way back; None without any sync.

        A group that has read the target up to `downstream` and resumes at `lo` on the source skips nothing.
        """
        history = self.history(where)
        return None if history is None else history.reverse(downstream, self.facts)

    def mm2(self, where: TopicPartition, upstream: int) -> int | None:
        """Return MirrorMaker 2's own answer: None without a sync, -1 for one older than all it keeps."""
        kept = self._stores.get(where)
        return None if kept is None else kept.translate(upstream)

    def kept(self, where: TopicPartition) -> Int64s | None:
        """Return what MirrorMaker 2 would have kept, see `kept_syncs`; None without any offset sync."""
        store = self._stores.get(where)
        return None if store is None else kept_by(store)

    def _answers(
        self,
        wheres: Sequence[TopicPartition],
        offsets: npt.ArrayLike,
        which: npt.ArrayLike | None,
        ask: Callable[[SyncHistory, Int64s, Facts], Answers],
    ) -> Answers:
        names, asked, order, spans = _by_partition(wheres, offsets, which)
        answers = Answers.none(len(asked))
        for number, span in spans:
            history = self.history(names[number])
            if history is not None:
                places = order[span]
                answers.put(places, ask(history, asked[places], self.facts))
        return answers


def at_the_end(found: Certificate | None, upstream: int, end: SourceEnd) -> Certificate | None:
    """Return a certificate that also uses where both sides end.

    Whatever is at or behind the source's end was not there when the target's end was read: its copy
    comes behind that end. Where neither side holds a record, an offset below the source's log start is as
    good as the start: what is between them is nowhere any more.
    """
    upstream = max(upstream, end.source_end) if end.is_empty else upstream
    if upstream < end.source_end:
        return found
    if upstream == end.source_end and end.copied_to is not None and end.copied_to >= upstream:
        return Certificate(end.target_end, end.target_end, Why.ALL_COPIED.text)
    if found is None:
        return Certificate(end.target_end, None, Why.AT_THE_END.text)
    if found.exact or found.lo >= end.target_end:
        return found
    hi = None if found.hi is None else max(found.hi, end.target_end)
    return Certificate(end.target_end, hi, Why.AT_THE_END.text, found.evidence)


def started_store() -> OffsetSyncStore:
    """Return an empty store that answers, as MirrorMaker 2's does when it can read its own checkpoints."""
    store = OffsetSyncStore()
    store.start(must_read_to_end=False)
    return store


def _by_partition(
    wheres: Sequence[TopicPartition], offsets: npt.ArrayLike, which: npt.ArrayLike | None
) -> tuple[Sequence[TopicPartition], Int64s, Int64s, Iterator[tuple[int, slice]]]:
    """Return partitions, offsets, the order that puts partitions together, and the span of each in it."""
    asked = np.asarray(offsets, np.int64)
    names, numbers = _numbered(wheres) if which is None else (wheres, np.asarray(which, np.int64))
    if len(numbers) != len(asked):
        raise ValueError(f"{len(asked)} offsets of {len(numbers)} partitions are requested")
    order = np.argsort(numbers, kind="stable")
    return names, asked, order, slices_by_partition(numbers[order])


def _numbered(wheres: Sequence[TopicPartition]) -> tuple[list[TopicPartition], Int64s]:
    numbers: dict[TopicPartition, int] = {}
    found = np.fromiter(
        (numbers.setdefault(where, len(numbers)) for where in wheres), np.int64, len(wheres)
    )
    return list(numbers), found
