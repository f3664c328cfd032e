"""`OffsetSyncStore` for millions of offset syncs: the same insertion, compiled.

A store is three rows of 64 numbers: upstream offsets, downstream offsets, and which sync it is (equal
numbers: the same one), because MirrorMaker 2 compares syncs by identity. All -1: no sync yet. Imported only
when first used: numba takes about 100 MB and half a second.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from jobs.replication.offset_sync_store import SIZE
from jobs.replication.offset_syncs.sync_rows import Int64s

F = TypeVar("F", bound=Callable[..., Any])


def _compiled(function: F) -> F:
    made: Any = numba.njit(cache=True, nogil=True)(function)
    return cast("F", made)


@_compiled
def _is_near(later: int, later_id: int, earlier: int, earlier_id: int, here: int) -> bool:
    return later_id == earlier_id or later - earlier <= 1 << (here - 1)


@_compiled
def _is_apart(later: int, later_id: int, earlier: int, earlier_id: int, i: int) -> bool:
    return later_id == earlier_id or later - earlier >= 1 << max(i - 2, 0)


@_compiled
def _fits(u: Int64s, ident: Int64s, offered: int, offered_id: int, here: int) -> bool:
    if not _is_near(u[here - 1], ident[here - 1], offered, offered_id, here):
        return False
    return here + 1 >= SIZE or _is_apart(offered, offered_id, u[here + 1], ident[here + 1], here)


@_compiled
def _insert(store: Int64s, old: Int64s, upstream: int, downstream: int, number: int) -> None:
    u, ident = store[0], store[2]
    old[:] = store
    store[0, 0], store[1, 0], store[2, 0] = upstream, downstream, number
    fitting, fitting_down, fitting_id = upstream, downstream, number
    at = 0
    for here in range(1, SIZE):
        while True:
            offered, offered_id = old[0, at], old[2, at]
            is_close = not _is_apart(u[here - 1], ident[here - 1], offered, offered_id, here - 1)
            is_chosen = not is_close and _fits(u, ident, offered, offered_id, here)
            if is_chosen:
                fitting, fitting_down, fitting_id = offered, old[1, at], offered_id
            is_passed_by = is_close or (at + 1 < SIZE and old[2, at + 1] == offered_id)
            if is_chosen or is_passed_by:
                at += 1
            if not is_passed_by or at >= here:
                break
        if _is_near(u[here - 1], ident[here - 1], u[here], ident[here], here):
            return
        store[0, here], store[1, here], store[2, here] = fitting, fitting_down, fitting_id


@_compiled
def feed(store: Int64s, scratch: Int64s, upstream: Int64s, downstream: Int64s) -> None:
    """Give a store (3 x 64) offset syncs in the order of the log; `scratch` is another one, overwritten.

    The numbers of the syncs continue from the highest in the store.
    """
    number = store[2].max() + 1
    for row in range(len(upstream)):
        if store[2, 0] < 0 or upstream[row] < store[0, 0]:
            store[0, :] = upstream[row]
            store[1, :] = downstream[row]
            store[2, :] = number
        else:
            _insert(store, scratch, upstream[row], downstream[row], number)
        number += 1
