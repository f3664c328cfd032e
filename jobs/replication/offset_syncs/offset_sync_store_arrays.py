"""What MirrorMaker 2 would have kept of the syncs of many partitions, as arrays that a file can hold."""

from __future__ import annotations

import os

import numpy as np

from jobs.cache import cache_folder
from jobs.replication.offset_sync_store import SIZE, KeptSync, OffsetSyncStore
from jobs.replication.translation.partition_syncs import Int64s

# From so many syncs on the compiled loop is worth its start.
_MANY = 20_000


def empty_stores(count: int) -> Int64s:
    """Return stores without a sync: (upstream, downstream, which sync it is) x 64 each."""
    return np.full((count, 3, SIZE), -1, np.int64)


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
    kept: Int64s = empty_stores(1)[0]
    # The latest gets the highest number: numbers go on from there.
    numbers: dict[int, int] = {}
    for sync in reversed(store.syncs):
        numbers.setdefault(id(sync), len(numbers))
    for at, sync in enumerate(store.syncs):
        kept[:, at] = (*sync, numbers[id(sync)])
    return kept


def feed_stores(
    stores: Int64s, partition: Int64s, bounds: Int64s, upstream: Int64s, downstream: Int64s
) -> None:
    """Give each store of `partition` the syncs between two bounds, in the order of the log."""
    compiled = len(upstream) >= _MANY
    for at, number in enumerate(partition.tolist()):
        rows = slice(int(bounds[at]), int(bounds[at + 1]))
        feed_store(stores[number], upstream[rows], downstream[rows], compiled=compiled)


def feed_store(kept: Int64s, upstream: Int64s, downstream: Int64s, *, compiled: bool) -> None:
    """Give one store syncs in the order of the log."""
    if compiled:
        os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / "numba"))
        try:
            from jobs.replication.translation import sync_store_kernel
        except ImportError:
            pass
        else:
            sync_store_kernel.feed(kept, empty_stores(1)[0], upstream, downstream)
            return
    store = store_of(kept)
    for pair in zip(upstream.tolist(), downstream.tolist(), strict=True):
        store.sync(*pair)
    kept[:] = kept_by(store)
