"""What MirrorMaker 2 would have kept of the syncs of a partition, as an array that a file can hold."""

from __future__ import annotations

import os

import numpy as np

from jobs.cache import cache_folder
from jobs.replication.offset_sync_store import SIZE, TOO_OLD, KeptSync, OffsetSyncStore
from jobs.replication.offset_syncs.sync_rows import Int64s

# From so many syncs on the compiled loop is worth its start.
_MANY = 20_000
# Instead of an answer: there is no offset sync of the partition.
NOTHING = -2
_fed = [0]


def nothing_kept() -> Int64s:
    """Return a store without a sync: (upstream, downstream, which sync it is) x 64."""
    return np.full((3, SIZE), -1, np.int64)


def store_of(kept: Int64s) -> OffsetSyncStore:
    """Return the store of one partition, ready to answer."""
    if kept[2, 0] < 0:
        return OffsetSyncStore.restored([])
    upstreams, downstreams, numbers = kept.tolist()
    by_number = {
        number: KeptSync(upstream, downstream)
        for upstream, downstream, number in zip(upstreams, downstreams, numbers, strict=True)
    }
    return OffsetSyncStore.restored([by_number[number] for number in numbers])


def kept_by(store: OffsetSyncStore) -> Int64s:
    """Return the inverse of `store_of`."""
    kept = nothing_kept()
    # The latest gets the highest number: numbers go on from there.
    numbers: dict[int, int] = {}
    for sync in reversed(store.syncs):
        numbers.setdefault(id(sync), len(numbers))
    for at, sync in enumerate(store.syncs):
        kept[:, at] = (*sync, numbers[id(sync)])
    return kept


def translated(kept: Int64s, upstreams: Int64s) -> Int64s:
    """Return what `OffsetSyncStore.translate` answers for each offset; `NOTHING` without any sync."""
    if kept[2, 0] < 0:
        return np.full(len(upstreams), NOTHING, np.int64)
    # Latest first: the first at or before an offset is the one that answers.
    at = np.searchsorted(-kept[0], -upstreams, side="left")
    sync = np.minimum(at, SIZE - 1)
    found = kept[1][sync] + (upstreams > kept[0][sync])
    return np.where(at < SIZE, found, TOO_OLD)


def feed(
    kept: Int64s, upstream: Int64s, downstream: Int64s, *, compiled: bool | None = None
) -> None:
    """Give a store syncs in the order of the log; `compiled` None: once there were many in this process."""
    _fed[0] += len(upstream)
    if _fed[0] >= _MANY if compiled is None else compiled:
        os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / "numba"))
        try:
            from jobs.replication.offset_syncs import kept_syncs_kernel
        except ImportError:
            pass
        else:
            kept_syncs_kernel.feed(kept, nothing_kept(), upstream, downstream)
            return
    store = store_of(kept)
    for pair in zip(upstream.tolist(), downstream.tolist(), strict=True):
        store.sync(*pair)
    kept[:] = kept_by(store)
