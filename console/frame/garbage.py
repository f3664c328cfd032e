"""Garbage collection of a process that answers requests: its code is never looked through again."""

from __future__ import annotations

import gc

from django.urls import get_resolver

# A page makes some 100,000 objects and frees them by counting; cycles are few. With Python's 700 a page of
# a thousand rows meets collections that look through everything that was ever loaded: 100 to 250 ms each.
YOUNG, MIDDLE, OLD = 50_000, 20, 50


def settle() -> None:
    """Load what the first request would load, and leave all of it out of later collections."""
    get_resolver().url_patterns  # noqa: B018  imports every room's pages
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, MIDDLE, OLD)
