"""The fold of one metadata log, kept between two readings: records in, what is to be stored out.

It begins with the newest snapshot that lies below what is stored already, and says nothing of what is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

from jobs.files import cache_folder
from jobs.quorum.history.changes import AnyChange
from jobs.quorum.history.histories import LogItem, read_changes
from jobs.quorum.image.image import MetadataImage
from jobs.quorum.log.folder import LogFolder, read_folder
from jobs.quorum.timeline.parts import ControllerGap, Election, EntrySource, VoterSetEntry
from jobs.quorum.timeline.reader import SNAPSHOT_FOOTER, SNAPSHOT_HEADER, TimelineReader
from jobs.quorum.timeline.voter_timeline import VoterTimeline, timeline_of
from jobs.quorum.voters.control_scan import items_before
from jobs.wire.batches.log_batches import LogDamage
from jobs.wire.metadata.log import Gap, LogRecord, PassedBatch

# Records are folded in portions of about so many; a portion ends with a batch.
PORTION = 5_000


@dataclass(frozen=True, slots=True)
class MissingSpan:
    """Offsets [from, to) that are missing, with the times of the records around them (ms; None: none).

    `to_offset` None: what is behind the last record is damaged. `damages` are the places that made it.
    """

    from_offset: int
    to_offset: int | None
    from_ms: int | None
    to_ms: int | None
    damages: tuple[LogDamage, ...] = ()


@dataclass(slots=True)
class Portion:
    """What a portion of records came to, in the order of offsets.

    `changes` are (change, number among those of its offset, the record's type or None for a snapshot's).
    `next_offset` is behind the last record, `last_ms` its time, `last_epoch` its epoch; None: there was none.
    `snapshots` are end offsets and times (ms) of snapshots that were read: behind a gap all is known from
    there on.
    """

    changes: list[tuple[AnyChange, int, str | None]] = field(default_factory=list)
    entries: list[VoterSetEntry] = field(default_factory=list)
    elections: list[Election] = field(default_factory=list)
    silences: list[ControllerGap] = field(default_factory=list)
    missing: list[MissingSpan] = field(default_factory=list)
    damages: list[LogDamage] = field(default_factory=list)
    snapshots: list[tuple[int, int]] = field(default_factory=list)
    first_offset: int | None = None
    next_offset: int | None = None
    last_ms: int | None = None
    last_epoch: int | None = None


class LogFold:
    """The state of a log up to `next_offset`: its image, and the timeline of its voters."""

    def __init__(self, next_offset: int = 0) -> None:
        self.next_offset = 0
        self._told_until = next_offset
        self._image = MetadataImage()
        self._timeline = TimelineReader()
        self._entries = self._elections = 0
        self._silent_until = -1
        self._last_ms: int | None = None
        self._gap: Gap | None = None
        # What was damaged since the last record, and the offset that follows on it.
        self._damages: list[LogDamage] = []
        self._end: int | None = None
        self._number: tuple[int, int] = (-1, -1)
        # All records of a snapshot have one offset, which is also that of a record of the log.
        self._is_in_snapshot = False

    @property
    def last_ms(self) -> int | None:
        """The time of the last record (ms since 1970); None before the first."""
        return self._last_ms

    @property
    def kraft_version(self) -> int | None:
        """The value of kraft.version by its control records; None when unknown."""
        return self._timeline.kraft_version

    def timeline(self, high_watermark: int | None) -> VoterTimeline:
        """Return the voters' timeline as far as the log was read since the fold began."""
        return timeline_of(self._timeline, high_watermark)

    def finish(self, high_watermark: int | None) -> tuple[Portion, VoterTimeline]:
        """Say that there is no more: return what only the end tells, and the whole timeline."""
        self._timeline.finish()
        told = Portion()
        self._take_timeline(told)
        end = self._end or 0
        if any(one.expected is None or one.expected >= end for one in self._damages):
            span = MissingSpan(end, None, self._last_ms, None, tuple(self._damages))
            told.missing.append(span)
        return told, self.timeline(high_watermark)

    def begin(self, folder: Path) -> Iterator[Portion]:
        """Yield the new changes of a folder; raises `BadFolder` when it holds no log."""
        found = read_folder(folder)
        for snapshot in reversed(found.snapshots):
            if 0 < snapshot.offset <= self._told_until:
                self._read_before(found, snapshot.offset)
                yield from self.take(chain(snapshot.records(), found.records(snapshot.offset)))
                return
        self._read_before(found)
        yield from self.take(found.records())

    def _read_before(self, folder: LogFolder, offset: int | None = None) -> None:
        """Let the timeline know who was elected before the snapshot at which the reading begins."""
        for item in items_before(folder, offset):
            self._timeline.take(item)

    def begin_beside_partitions(self, folder: Path) -> Iterator[Portion]:
        """Yield everything of a folder but its partitions, quickly; raises `BadFolder` for no log."""
        # Where compiled code is kept must be said before it is made.
        os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / "numba"))
        from jobs.quorum.replay.sparse import sparse_items

        found = read_folder(folder)
        self._read_before(found)
        yield from self.take(sparse_items(found))

    def take(self, items: Iterable[LogItem]) -> Iterator[Portion]:
        """Fold items, whole batches, and yield what is new about them."""
        for portion in _portions(items):
            yield self._fold(portion)

    def _fold(self, items: list[LogItem]) -> Portion:
        told = Portion()
        types: dict[int, str] = {}
        for item in items:
            self._note(item, told, types)
            self._timeline.take(item)
        for change in read_changes(items, self._image):
            number = self._next_number(change.offset)
            # Changes of a transaction count from its end, wherever its records are.
            if change.effective_offset >= self._told_until and change.offset >= 0:
                told.changes.append((change, number, types.get(change.offset)))
        self._take_timeline(told)
        if told.next_offset is not None:
            self.next_offset = told.next_offset
        return told

    def _note(self, item: LogItem, told: Portion, types: dict[int, str]) -> None:
        if isinstance(item, Gap):
            begin = item.from_offset if self._gap is None else self._gap.from_offset
            self._gap = Gap(begin, item.to_offset)
        elif isinstance(item, LogDamage):
            told.damages.append(item)
            self._damages += [item] if item.may_lose_records else []
        elif isinstance(item, LogRecord | PassedBatch):
            self._note_place(item, told, types)

    def _note_place(
        self, item: LogRecord | PassedBatch, told: Portion, types: dict[int, str]
    ) -> None:
        if self._gap is None and self._end is not None and item.offset > self._end:
            self._gap = Gap(self._end, item.offset)
        if self._gap is not None:
            self._end_gap(self._gap, item, told)
        self._damages.clear()
        told.last_ms, end = item.timestamp_ms, item.offset + 1
        if isinstance(item, PassedBatch):
            told.last_ms, end = item.end_ms or item.timestamp_ms, item.end_offset
        else:
            self._is_in_snapshot = self._is_in_snapshot or item.type == SNAPSHOT_HEADER
            if not self._is_in_snapshot:
                types[item.offset] = item.type
            elif item.type == SNAPSHOT_FOOTER:
                self._is_in_snapshot = False
                told.snapshots.append((end, item.timestamp_ms))
        if told.first_offset is None:
            told.first_offset = max(item.offset, 0)
        told.next_offset, told.last_epoch = end, item.epoch
        self._end = max(end, self._end or 0)
        self._last_ms = told.last_ms

    def _end_gap(self, gap: Gap, record: LogRecord | PassedBatch, told: Portion) -> None:
        """A gap before the first record is none, unless damage made it: nothing is known before it."""
        self._gap = None
        begin = gap.from_offset
        if self._last_ms is None:
            if not self._damages:
                return
            begin = max(begin, min(one.expected or 0 for one in self._damages))
        if gap.to_offset > max(self._told_until, begin):
            times = self._last_ms, record.timestamp_ms
            span = MissingSpan(begin, gap.to_offset, *times, tuple(self._damages))
            told.missing.append(span)

    def _next_number(self, offset: int) -> int:
        """Count the changes of one offset, also over two portions (a snapshot has one offset)."""
        before, number = self._number
        self._number = (offset, number + 1 if before == offset else 0)
        return self._number[1]

    def _take_timeline(self, told: Portion) -> None:
        """Take new voter sets and elections, each once."""
        timeline, until = self._timeline, self._told_until
        new = timeline.entries[min(self._entries, len(timeline.entries)) :]
        # A voter set known from an election only is final with the next batch: it may be new still.
        by_election = EntrySource.LEADER_CHANGE
        told.entries = [
            one
            for one in new
            if one.offset >= 0 and (one.offset >= until or one.source is by_election)
        ]
        led = timeline.elections[min(self._elections, len(timeline.elections)) :]
        told.elections = [one for one in led if one.offset >= max(until, 0)]
        self._entries, self._elections = len(timeline.entries), len(timeline.elections)
        told.silences = [one for one in timeline.silences if one.to_offset > self._silent_until]
        if told.silences:
            self._silent_until = told.silences[-1].to_offset


def at(ms: int | None) -> datetime | None:
    """Return a time of a record as a datetime; None for none, and for what is no time."""
    if ms is None or ms <= 0:
        return None
    try:
        return datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return None


def _portions(items: Iterable[LogItem]) -> Iterator[list[LogItem]]:
    """Cut a stream between two batches; a snapshot stays whole, a transaction may be cut."""
    found: list[LogItem] = []
    batch: int | None = None
    is_in_snapshot = False
    for item in items:
        here = item.batch_offset if isinstance(item, LogRecord) else None
        if len(found) >= PORTION and here != batch and not is_in_snapshot:
            yield found
            found = []
        found.append(item)
        batch = here
        if isinstance(item, LogRecord) and item.type in {SNAPSHOT_HEADER, SNAPSHOT_FOOTER}:
            is_in_snapshot = item.type == SNAPSHOT_HEADER
    if found:
        yield found
