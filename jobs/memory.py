"""Memory of a process: what it does not need any more after its start, and bounds that the kernel keeps."""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Of Linux' madvise: take pages out of memory; those of a file are read again when they are needed.
_MADV_PAGEOUT = 21


def give_back_memory() -> None:
    """Give freed memory back to the system, where the C library is glibc."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def give_back_library(name: str) -> None:
    """Give back the pages of a shared library that has done its work, where the system is Linux.

    They stay in the system's cache as long as there is room; a later call reads them from there.
    """
    with suppress(AttributeError, OSError):
        library = ctypes.CDLL(None)
        for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
            if name in line:
                start, end = (int(place, 16) for place in line.split()[0].split("-"))
                library.madvise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _MADV_PAGEOUT)


def limit_memory(most_bytes: int) -> None:
    """Let this process, and each that it starts, have so much private memory: more is a MemoryError.

    Address space that is only reserved does not count (RLIMIT_DATA of Linux). A lower limit stays.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    known = (one for one in (soft, hard) if one != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_DATA, (min(most_bytes, *known, most_bytes), hard))


@contextmanager
def bounded_memory(more_bytes: int) -> Iterator[None]:
    """Let this process take at most so much more private memory than it has, for a block of code.

    Raises MemoryError in the block. It holds for all threads of the process.
    """
    before = resource.getrlimit(resource.RLIMIT_DATA)
    limit_memory(_private_bytes() + more_bytes)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _private_bytes() -> int:
    """Return what RLIMIT_DATA counts; 0 where the system does not tell."""
    try:
        sizes = Path("/proc/self/statm").read_text(encoding="ascii").split()
    except OSError:
        return 0
    return int(sizes[5]) * os.sysconf("SC_PAGE_SIZE")
