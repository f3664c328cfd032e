"""MirrorMaker 2's store in arrays: however it is filled, it answers what `OffsetSyncStore` answers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jobs.replication.offset_sync_store import OffsetSyncStore
from jobs.replication.offset_syncs.sync_rows import (
    NOTHING,
    feed,
    nothing_kept,
    store_of,
    translated,
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
    kept = nothing_kept() if kept is None else kept
    columns = np.array(syncs, np.int64).reshape(-1, 2).T
    feed(
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
    asked = sorted({0, *(u + n for u, _ in syncs for n in (-1, 0, 1))})
    many = translated(kept, np.array(asked, np.int64)).tolist()
    for upstream, found in zip(asked, many, strict=True):
        told = store.translate(upstream)
        assert restored.translate(upstream) == told
        assert found == (NOTHING if told is None else told)


def test_without_a_sync_there_is_no_answer():
    assert translated(nothing_kept(), np.array([0, 7])).tolist() == [NOTHING, NOTHING]


def test_many_syncs_are_fed_by_the_compiled_loop_as_few_are_in_plain_words():
    upstream = np.arange(30_000, dtype=np.int64)
    compiled, plain = nothing_kept(), nothing_kept()
    feed(compiled, upstream, upstream + 7)
    feed(plain, upstream, upstream + 7, compiled=False)
    assert store_of(compiled).syncs == store_of(plain).syncs
