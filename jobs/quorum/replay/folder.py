"""A folder of archived segments and snapshots, replayed into the history of its partitions."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from jobs.quorum.log.folder import LogFolder
from jobs.quorum.log.folder_snapshots import SegmentFile, SnapshotFile
from jobs.quorum.log.possible_times import clamp_times
from jobs.quorum.replay.framing import FramedColumns, Framing
from jobs.quorum.replay.history import PartitionHistory
from jobs.quorum.replay.replay import Replay
from jobs.wire.metadata.columns import MetadataColumns, read_columns

# Rows of history are nearly four times as large as what they come from.
_ROOM_BYTES = 2 * 1024 * 1024


def file_columns(
    path: Path,
    base_offset: int,
    size_bytes: int | None = None,
    byte_range: tuple[int, int] | None = None,
    epoch_before: int | None = None,
) -> Iterator[MetadataColumns]:
    """Yield a file as `read_columns` does, or a range of it; raises OSError.

    It is mapped, and read up to `size_bytes`, or as it was when it was opened: what is appended meanwhile is
    not seen. `base_offset` is that of the first record that is read.
    """
    content = mapped(path, size_bytes)
    if content is None:
        return
    # It is never closed by hand: columns look into it for as long as somebody has them.
    log = np.frombuffer(content, np.uint8)
    if byte_range is not None:
        byte_range = min(byte_range[0], len(log)), min(byte_range[1], len(log))
    for columns in read_columns(
        log,
        byte_range=byte_range,
        expected_offset=base_offset,
        epoch_before=epoch_before,
        room_bytes=_ROOM_BYTES,
    ):
        yield columns
        content.madvise(mmap.MADV_DONTNEED)


def mapped(path: Path, size_bytes: int | None) -> mmap.mmap | None:
    """Return the content of a file, at most `size_bytes` of it; None for an empty one. Raises OSError."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        length = size if size_bytes is None else min(size, size_bytes)
        return mmap.mmap(file.fileno(), length, access=mmap.ACCESS_READ) if length else None


def framed_segments(segments: Iterable[SegmentFile]) -> Iterator[FramedColumns]:
    """Yield all columns of segments with what surrounds their records."""
    framing = Framing()
    for segment in segments:
        yield from map(framing.frame, file_columns(*segment))


class FolderReplay:
    """Replays a folder: all of its records, or `pieces` of what a share of its partitions needs.

    `replay` says what was met.
    It begins with the first record where the log does, else with the oldest snapshot. Behind a gap everything
    is unknown up to the next snapshot, which is then told as such (cause `snapshot`).
    """

    def __init__(
        self,
        folder: LogFolder,
        shard: int = 0,
        shards: int = 1,
        pieces: Iterable[FramedColumns] | None = None,
    ) -> None:
        self.replay = Replay(shard, shards)
        self._snapshots = folder.snapshots
        self._pieces = framed_segments(folder.segments) if pieces is None else pieces
        self._last_ms = 0

    def histories(self) -> Iterator[PartitionHistory]:
        """Yield the history piece by piece, in the order of the log."""
        for framed in self._pieces:
            columns = framed.columns
            if len(columns):
                self._last_ms = clamp_times(columns.timestamp_ms, self._last_ms)
                if not framed.joined[0]:
                    yield from self._up_to(int(columns.offset[0]))
                yield self.replay.feed(framed)
        yield self.replay.finish()

    def _up_to(self, offset: int) -> Iterator[PartitionHistory]:
        """Adopt the snapshot that follows a gap before this offset, if there is one."""
        if offset <= self.replay.last_offset + 1:
            return
        yield self.replay.finish()
        for snapshot in self._snapshots:
            if snapshot.offset >= offset:
                yield self._adopted(snapshot)
                return

    def _adopted(self, snapshot: SnapshotFile) -> PartitionHistory:
        pieces = file_columns(snapshot.path, 0)
        return self.replay.adopt(pieces, snapshot.offset, snapshot.epoch)
