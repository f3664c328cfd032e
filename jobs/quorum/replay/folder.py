"""A folder of archived segments and snapshots, replayed into the history of its partitions."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from jobs.quorum.log.folder import LogFolder
from jobs.quorum.log.folder_snapshots import SnapshotFile
from jobs.quorum.log.possible_times import clamp_times
from jobs.quorum.replay.history import PartitionHistory
from jobs.quorum.replay.replay import Replay
from jobs.wire.batches.log_batches import LogDamage
from jobs.wire.metadata.columns import MetadataColumns, read_columns

# Rows of history are nearly four times as large as what they come from.
_ROOM_BYTES = 2 * 1024 * 1024


def file_columns(
    path: Path, base_offset: int, size_bytes: int | None = None
) -> Iterator[MetadataColumns]:
    """Yield a file as `read_columns` does; raises OSError.

    It is mapped, and read up to `size_bytes`, or as it was when it was opened: what is appended meanwhile is
    not seen.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        length = size if size_bytes is None else min(size, size_bytes)
        if not length:
            return
        content = mmap.mmap(file.fileno(), length, access=mmap.ACCESS_READ)
    # It is never closed by hand: columns look into it for as long as somebody has them.
    log = np.frombuffer(content, np.uint8)
    for columns in read_columns(log, expected_offset=base_offset, room_bytes=_ROOM_BYTES):
        yield columns
        content.madvise(mmap.MADV_DONTNEED)


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
        """Adopt the snapshot that follows a gap before this offset, if there is one."""
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
