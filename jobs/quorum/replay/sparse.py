"""Everything of a metadata log but its partitions, quickly: most of it is theirs, and `replay` tells them.

Records are found by the compiled columns; only those that stand for something else are decoded one by one.
What lies between is passed by in runs, so that gaps, epochs and silences are seen as ever.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from jobs.quorum.log.file_source import FileSource
from jobs.quorum.log.folder import LogFolder
from jobs.quorum.log.folder_records import FolderRecords, unreadable
from jobs.quorum.log.folder_snapshots import SegmentFile, SnapshotFile
from jobs.quorum.replay.folder import file_columns
from jobs.quorum.timeline.clock import NO_OP, SHORTEST_SILENCE_MS
from jobs.quorum.voters.control_scan import DATA, ControlItem
from jobs.wire.batches.log_batches import LogDamage
from jobs.wire.metadata import table as t
from jobs.wire.metadata.columns import MetadataColumns
from jobs.wire.metadata.control_records import decode_control_record, encode_control_key
from jobs.wire.metadata.log import LogRecord, PassedBatch
from jobs.wire.metadata.records import decode_metadata_record
from jobs.wire.metadata.snapshots import check_snapshot
from jobs.wire.metadata.table import Bytes, Int64s

_PASSED = np.array([t.PARTITION_RECORD, t.PARTITION_CHANGE, t.NO_OP])
# How far apart NoOp records usually are is measured on so many of them, each for itself.
_MEASURED_NO_OPS = 20_000


def sparse_items(folder: LogFolder) -> Iterator[ControlItem]:
    """Yield a folder's history as `LogFolder.records` does; partitions and NoOps are passed by.

    What `read_changes` tells of it is what it tells of the whole, without the changes of partitions; what a
    voter timeline tells is the same.
    """
    return _SparseRecords(folder.segments, folder.snapshots, folder.noted).items()


class _SparseRecords(FolderRecords):
    """Reads a folder's history once, and decodes one by one what is not of a partition."""

    _no_ops = 0

    def items(self) -> Iterator[ControlItem]:
        """Yield the history."""
        return self.read(None)

    def _segment(
        self, segment: SegmentFile, follower: int | None
    ) -> Iterator[LogRecord | LogDamage]:
        damages: deque[LogDamage] = deque()
        try:
            for columns in file_columns(*segment):
                damages.extend(columns.damage)
                for item in self._read(columns):
                    self._passes(item.offset)
                    is_behind_gap = item.offset > self._next_offset
                    while damages and (damages[0].offset or 0) < item.offset:
                        damage = damages.popleft()
                        if is_behind_gap or (damage.offset or 0) >= self._begin:
                            yield self._damaged(damage, segment, follower)
                    yield from self._placed(item)  # type: ignore[misc]  # see `items`
            for damage in damages:
                yield self._damaged(damage, segment, follower)
        except OSError as error:
            yield unreadable(segment, error)

    def _placed(self, item: LogRecord | PassedBatch) -> Iterator[ControlItem]:
        """Yield an item, and before it what lies between; of what was read already, nothing."""
        end = item.offset + 1 if isinstance(item, LogRecord) else item.end_offset
        if end <= self._next_offset:
            return
        if item.offset < self._next_offset:
            item = replace(item, offset=self._next_offset)
        yield from self._up_to(item.offset)
        yield item
        self._next_offset = end

    def _records_of(self, snapshot: SnapshotFile) -> Iterator[LogRecord | LogDamage]:
        """Yield a snapshot as `SnapshotFile.records` does, without its partitions."""
        try:
            with FileSource(snapshot.path) as source:
                checked = check_snapshot(source)
            if checked.problem is not None:
                yield snapshot.unusable(checked.problem)
                return
            at_ms = checked.contained_ms
            for columns in file_columns(snapshot.path, 0):
                for row in np.flatnonzero(_is_told(columns)).tolist():
                    record = _record(columns, row)
                    yield replace(
                        record, offset=snapshot.offset - 1, epoch=snapshot.epoch, timestamp_ms=at_ms
                    )
                yield from (replace(one, file=snapshot.path.name) for one in columns.damage)
        except OSError as error:
            yield snapshot.unreadable(error)

    def _read(self, columns: MetadataColumns) -> Iterator[LogRecord | PassedBatch]:
        if not len(columns):
            return
        is_told = _is_told(columns)
        is_no_op = ~is_told & (columns.type == t.NO_OP)
        for begin, end in pairwise(self._borders(columns, is_told, is_no_op)):
            if is_told[begin]:
                yield _record(columns, begin)
            else:
                yield _passed(columns, begin, end, is_no_op=bool(is_no_op[begin]))

    def _borders(self, columns: MetadataColumns, is_told: Bytes, is_no_op: Bytes) -> list[int]:
        """Return where items begin, and the end: told records alone, the others in runs of their like."""
        steps = np.diff(columns.timestamp_ms)
        is_border = np.ones(len(columns) + 1, bool)
        is_border[1:-1] = (
            is_told[1:]
            | is_told[:-1]
            | (is_no_op[1:] != is_no_op[:-1])
            | (np.diff(columns.offset) != 1)
            | (np.diff(columns.epoch) != 0)
            | (steps < 0)
            | (steps > SHORTEST_SILENCE_MS)
        )
        if self._no_ops < _MEASURED_NO_OPS:
            is_border[:-1] |= is_no_op
            self._no_ops += int(is_no_op.sum())
        found: list[int] = np.flatnonzero(is_border).tolist()
        return found


def _is_told(columns: MetadataColumns) -> Bytes:
    is_passed = np.isin(columns.type, _PASSED) & (columns.is_control == 0)
    found: Bytes = ~is_passed | (columns.tables.records[t.READING] == t.UNDECODABLE)
    return found


def _record(columns: MetadataColumns, row: int) -> LogRecord:
    batch = columns.batches[int(columns.tables.records[t.BATCH, row])]
    is_control = bool(columns.is_control[row])
    value = columns.value(row)
    read = (
        decode_control_record(encode_control_key(int(columns.type[row])), value)
        if is_control
        else decode_metadata_record(value)
    )
    return LogRecord(
        offset=int(columns.offset[row]),
        epoch=int(batch[t.EPOCH]),
        timestamp_ms=int(columns.timestamp_ms[row]),
        batch_offset=int(batch[t.BASE_OFFSET]),
        position=int(batch[t.POSITION]),
        is_control=is_control,
        type=read.type,
        version=read.version,
        data=read.data,
        unknown=read.unknown,
    )


def _passed(columns: MetadataColumns, begin: int, end: int, *, is_no_op: bool) -> PassedBatch:
    times: Int64s = columns.timestamp_ms
    first = columns.batches[int(columns.tables.records[t.BATCH, begin])]
    return PassedBatch(
        offset=int(columns.offset[begin]),
        end_offset=int(columns.offset[end - 1]) + 1,
        epoch=int(first[t.EPOCH]),
        timestamp_ms=int(times[begin]),
        batch_offset=int(first[t.BASE_OFFSET]),
        type=NO_OP if is_no_op else DATA,
        end_ms=int(times[end - 1]),
    )
