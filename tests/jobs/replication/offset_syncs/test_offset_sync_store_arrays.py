"""MirrorMaker 2's store in arrays: whoever feeds it, it answers what `OffsetSyncStore` answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.replication.offset_sync_store import OffsetSyncStore
from jobs.replication.offset_syncs.offset_sync_store_arrays import (
    empty_stores,
    feed_store,
    feed_stores,
    store_of,
)

STEPS = st.lists(
    st.tuples(st.sampled_from([1, 1, 2, 5, 100, 101, 5000, 0, -3, -2000]), st.integers(0, 9)),
    max_size=150,
)


def syncs_of(steps):
    upstream = downstream = 5000
    found = []
    for step, gap in steps:
        upstream, downstream = max(0, upstream + step), downstream + abs(step) + gap
        found.append((upstream, downstream))
    return found


def fed(syncs, *, compiled, kept=None):
    kept = empty_stores(1)[0] if kept is None else kept
    columns = np.array(syncs, np.int64).reshape(-1, 2).T
    feed_store(
        kept,
        np.ascontiguousarray(columns[0]),
        np.ascontiguousarray(columns[1]),
        compiled=compiled,
    )
    return kept


@given(STEPS, st.integers(0, 150), st.booleans(), st.booleans())
def test_fed_in_two_pieces_it_answers_like_the_store_itself(steps, cut, first, second):
    syncs = syncs_of(steps)
    store = OffsetSyncStore()
    store.start(must_read_to_end=False)
    for sync in syncs:
        store.sync(*sync)
    kept = fed(syncs[cut:], compiled=second, kept=fed(syncs[:cut], compiled=first))
    restored = store_of(kept)
    assert restored.syncs == store.syncs
    for upstream in {0, *(u + n for u, _ in syncs for n in (-1, 0, 1))}:
        assert restored.translate(upstream) == store.translate(upstream)


@pytest.mark.parametrize("count", [10, 30_000])
def test_each_partition_gets_its_own_rows(count):
    stores = empty_stores(3)
    upstream = np.arange(count, dtype=np.int64)
    half = count // 2
    bounds = np.array([0, half, count])
    feed_stores(stores, np.array([2, 0]), bounds, upstream, upstream + 7)
    assert store_of(stores[2]).translate(half + 5) == half - 1 + 7 + 1
    assert store_of(stores[0]).translate(count - 1) == count - 1 + 7
    assert store_of(stores[1]).translate(5) is None
