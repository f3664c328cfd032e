"""Garbage collection of long-lived processes: what they have loaded is never looked through again."""

from __future__ import annotations

import ctypes
import gc
from contextlib import suppress

from django.urls import get_resolver

# A page makes some 100,000 objects, taking in the loss of a broker millions, and they are freed by counting;
# cycles are few. With Python's 700 such work meets collections that look through everything that was ever
# loaded: 100 to 250 ms each.
YOUNG, MIDDLE, OLD = 50_000, 20, 50
# Of glibc's malloc.
_M_ARENA_MAX, ARENAS = -8, 2


def freeze_gc() -> None:
    """Leave everything that is loaded out of later collections, which become rare."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)


def share_memory() -> None:
    """Keep the memory pages of loaded code unchanged, so that forked processes share them."""
    freeze_gc()
    with suppress(OSError, AttributeError):  # another C library
        # Else each thread of a program may have 64 MB of its own, which are hardly ever given back.
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, ARENAS)


def load_pages_and_freeze_gc() -> None:
    """Load what the first request would load, and settle."""
    get_resolver().url_patterns  # noqa: B018  imports every room's pages
    freeze_gc()
