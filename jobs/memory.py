"""Memory that a process has freed and the C library still holds."""

from __future__ import annotations

import ctypes
from contextlib import suppress


def give_back_memory() -> None:
    """Give freed memory back to the system, where the C library is glibc; for after a start."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
