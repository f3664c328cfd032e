"""A file read piece by piece, as `jobs.wire` wants it.

Not mapped into memory: a node may cut its log while it is read, and a mapping would then end the process.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import TracebackType

_WINDOW_BYTES = 1 << 20


class FileSource:
    """A `ByteSource` over a file; its size is the one at opening, what is appended later is not seen.

    Raises OSError. Holds one window of 1 MiB, or one batch where that is larger.
    """

    def __init__(self, path: Path) -> None:
        # Opening a named pipe would wait for a writer.
        if not path.is_file():
            number = errno.EISDIR if path.is_dir() else errno.ENOENT
            raise OSError(number, os.strerror(number), str(path))
        self._file = os.open(path, os.O_RDONLY)
        self._size = os.fstat(self._file).st_size
        self._start = 0
        self._window = memoryview(b"")

    def __enter__(self) -> FileSource:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._file)

    @property
    def size_bytes(self) -> int:
        """Bytes in all, at opening."""
        return self._size

    def read(self, position: int, size: int) -> memoryview:
        """Return bytes from a position on; fewer where the file ends, also when it was cut meanwhile."""
        size = max(0, min(size, self._size - position))
        at = position - self._start
        if at < 0 or at + size > len(self._window):
            wanted = min(max(size, _WINDOW_BYTES), self._size - position)
            self._window = memoryview(os.pread(self._file, max(0, wanted), position))
            self._start, at = position, 0
        return self._window[at : at + size]
