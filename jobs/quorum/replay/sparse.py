"""Everything of a metadata log but its partitions, quickly: most of it is theirs, and `replay` tells them.

Records are found by the compiled columns; only those that stand for something else are decoded one by one.
What lies between is passed by in runs (see `runs`), so that gaps, epochs and silences are seen as ever.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace

from jobs.quorum.log.file_source import FileSource
from jobs.quorum.log.folder import LogFolder
from jobs.quorum.log.folder_records import FolderRecords, unreadable
from jobs.quorum.log.folder_snapshots import SegmentFile, SnapshotFile
from jobs.quorum.replay.folder import file_columns
from jobs.quorum.replay.runs import NO_OPS, RECORD, Run, RunReader, Runs, record_of
from jobs.quorum.timeline.clock import NO_OP
from jobs.quorum.voters.control_scan import DATA, ControlItem
from jobs.wire.batches.log_batches import LogDamage
from jobs.wire.metadata.log import LogRecord, PassedBatch
from jobs.wire.metadata.snapshots import check_snapshot

RunsOf = Callable[[SegmentFile], Iterator[Runs]]


def sparse_items(folder: LogFolder, runs_of: RunsOf | None = None) -> Iterator[ControlItem]:
    """Yield a folder's history as `LogFolder.records` does; partitions and NoOps are passed by.

    What `read_changes` tells of it is what it tells of the whole, without the changes of partitions; what a
    voter timeline tells is the same. `runs_of` has the runs of a segment, each once and in their order;
    without it they are read from the files.
    """
    return _SparseRecords(folder, runs_of).read(None)


class _SparseRecords(FolderRecords):
    """Reads a folder's history once, and decodes one by one what is not of a partition."""

    def __init__(self, folder: LogFolder, runs_of: RunsOf | None) -> None:
        super().__init__(folder.segments, folder.snapshots, folder.noted)
        reader = RunReader()
        self._runs_of = runs_of or (lambda one: map(reader.read, file_columns(*one)))

    def _segment(
        self, segment: SegmentFile, follower: int | None
    ) -> Iterator[LogRecord | LogDamage]:
        damages: deque[LogDamage] = deque()
        try:
            for runs in self._runs_of(segment):
                for item in _items(runs):
                    if isinstance(item, LogDamage):
                        damages.append(item)
                        continue
                    self._passes(item.offset)
                    is_behind_gap = item.offset > self._next_offset
                    while damages and (damages[0].offset or 0) < item.offset:
                        damage = damages.popleft()
                        if is_behind_gap or (damage.offset or 0) >= self._begin:
                            yield self._damaged(damage, segment, follower)
                    yield from self._placed(item)  # type: ignore[misc]  # a PassedBatch, too
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
            reader = RunReader()
            for columns in file_columns(snapshot.path, 0):
                for item in _items(reader.read(columns)):
                    if isinstance(item, LogRecord):
                        yield replace(
                            item,
                            offset=snapshot.offset - 1,
                            epoch=snapshot.epoch,
                            timestamp_ms=at_ms,
                        )
                yield from (replace(one, file=snapshot.path.name) for one in columns.damage)
        except OSError as error:
            yield snapshot.unreadable(error)


def _items(runs: Runs) -> Iterator[LogRecord | PassedBatch | LogDamage]:
    yield from runs.damage
    at = 0
    for line in runs.lines.T.tolist():
        run = Run(*line)
        end = at + run.value_bytes
        yield record_of(run, bytes(runs.values[at:end])) if run.kind == RECORD else _passed(run)
        at = end


def _passed(run: Run) -> PassedBatch:
    return PassedBatch(
        offset=run.offset, end_offset=run.end_offset, epoch=run.epoch, batch_offset=run.batch_offset,
        timestamp_ms=run.first_ms, end_ms=run.last_ms, type=NO_OP if run.kind == NO_OPS else DATA,
    )  # fmt: skip
