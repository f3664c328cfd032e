"""A folder of archived segments and snapshots, replayed into the history of its partitions."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.quorum.log.folder import LogFolder
from jobs.quorum.log.folder_snapshots import SnapshotFile
from jobs.quorum.log.possible_times import clamp_times
from jobs.quorum.replay.file_columns import file_columns
from jobs.quorum.replay.history import PartitionHistory
from jobs.quorum.replay.replay import Replay
from jobs.wire.batches.log_batches import LogDamage


class FolderReplay:
    """Replays a folder; `replay` says what was met, `damage` what could not be read, `records` how many were.

    It begins with the first record where the log does, else with the oldest snapshot. Behind a gap everything
    is unknown up to the next snapshot, which is then told as such (cause `snapshot`).
    """

    def __init__(self, folder: LogFolder, shard: int = 0, shards: int = 1) -> None:
        self.replay = Replay(shard, shards)
        self.damage: list[LogDamage] = []
        self.records = 0
        self._folder = folder
        self._last_ms = 0

    def histories(self) -> Iterator[PartitionHistory]:
        """Yield the history piece by piece, in the order of the log."""
        for segment in self._folder.segments:
            for columns in file_columns(*segment):
                self.damage += columns.damage
                self.records += len(columns)
                if len(columns):
                    self._last_ms = clamp_times(columns.timestamp_ms, self._last_ms)
                    yield from self._up_to(int(columns.offset[0]))
                    yield self.replay.feed(columns)
        yield self.replay.finish()

    def _up_to(self, offset: int) -> Iterator[PartitionHistory]:
        """Adopt the snapshot that goes on behind a gap before this offset, if there is one."""
        if offset <= self.replay.last_offset + 1:
            return
        yield self.replay.finish()
        for snapshot in self._folder.snapshots:
            if snapshot.offset >= offset:
                yield self._adopted(snapshot)
                return

    def _adopted(self, snapshot: SnapshotFile) -> PartitionHistory:
        pieces = list(file_columns(snapshot.path, 0))
        self.damage += [one for columns in pieces for one in columns.damage]
        return self.replay.adopt(pieces, snapshot.offset, snapshot.epoch)
