"""Memory that a process holds and does not need any more after its start."""

from __future__ import annotations

import ctypes
from contextlib import suppress
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
