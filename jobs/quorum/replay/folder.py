"""A folder of archived segments and snapshots, replayed into the history of its partitions."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from jobs.quorum.log.folder import LogFolder
from jobs.quorum.log.folder_snapshots import SegmentFile, SnapshotFile
from jobs.quorum.log.possible_times import clamp_times
from jobs.quorum.replay.framing import Bools, FramedColumns, Framing
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
                begin = 0
                for at, snapshot in self._snapshots_behind_gaps(columns, framed.joined):
                    yield self.replay.feed(framed, begin, at)
                    begin = at
                    if columns.offset[at] > self.replay.last_offset + 1:
                        yield self.replay.finish()
                        yield self._adopted(snapshot)
                yield self.replay.feed(framed, begin)
        yield self.replay.finish()

    def _snapshots_behind_gaps(
        self, columns: MetadataColumns, joined: Bools
    ) -> Iterator[tuple[int, SnapshotFile]]:
        """Yield records that may come behind a gap, and the snapshot that follows it, if there is one."""
        offsets, epochs, replay = columns.offset, columns.epoch, self.replay
        for at in np.flatnonzero(~joined).tolist():
            is_known = offsets[at] <= replay.last_offset + 1 and epochs[at] <= replay.last_epoch
            if not is_known and (at == 0 or offsets[at] > offsets[at - 1]):
                behind = (one for one in self._snapshots if one.offset >= offsets[at])
                yield from ((at, one) for one in islice(behind, 1))

    def _adopted(self, snapshot: SnapshotFile) -> PartitionHistory:
        pieces = file_columns(snapshot.path, 0)
        return self.replay.adopt(pieces, snapshot.offset, snapshot.epoch)
