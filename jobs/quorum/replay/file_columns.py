"""A segment or snapshot file as columns, of which no more stays in memory than is looked at."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

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
