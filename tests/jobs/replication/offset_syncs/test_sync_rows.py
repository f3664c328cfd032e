"""Offset syncs as columns: put together in any pieces, they are the same."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.offset_syncs.sync_rows import (
    SyncRows,
    SyncTable,
    joined_tables,
    sync_table,
)

NAMES = [TopicPartition("b", 1), TopicPartition("a", 0), TopicPartition("b", 0)]
# Few values, so that repeats, steps back and equal differences are frequent.
LINKS = st.sampled_from(["", "", "the one before", "another one"])
SYNCS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(0, 12), st.booleans(), LINKS),
    max_size=40,
)


def followed(syncs):
    """Yield of each sync which one it follows, (-1, -1) where that is not known."""
    last = {}
    for number, upstream, downstream, _, link in syncs:
        before = last.get(number, (77, 77))
        yield {"": (-1, -1), "the one before": before}.get(link, (before[0] + 1, before[1] + 1))
        last[number] = (upstream, downstream)


def rows(syncs) -> SyncRows:
    """Return syncs as rows; what is true of some of them is that a hole is before them."""
    columns = np.array([sync[:4] for sync in syncs], np.int64).reshape(-1, 4).T
    follows = np.array(list(followed(syncs)), np.int64).reshape(-1, 2).T
    at_ms = np.arange(len(syncs))
    return SyncRows(*columns[:3], np.cumsum(columns[3]), *follows, at_ms, at_ms % 2)


def listed(some: SyncRows):
    return list(zip(*(column.tolist() for column in some[1:]), strict=True))


def same(one: SyncTable, other: SyncTable) -> bool:
    """Whether two tables hold the same syncs; holes may be counted from elsewhere."""
    return (one.names, *map(told, one)) == (other.names, *map(told, other))


def told(found):
    name, rows = found
    return name, listed(rows._replace(hole=np.diff(rows.hole, prepend=rows.hole[:1]) != 0))


@given(SYNCS, st.lists(st.integers(0, 40), max_size=4))
def test_pieces_of_a_log_joined_are_the_whole_log(syncs, cuts):
    bounds = sorted({0, len(syncs), *(min(cut, len(syncs)) for cut in cuts)})
    whole = rows(syncs)
    pieces = [sync_table(NAMES, whole.pick(slice(a, b))) for a, b in pairwise(bounds)]
    assert same(joined_tables(pieces), sync_table(NAMES, whole))


@given(SYNCS)
def test_nothing_but_repeats_is_lost(syncs):
    given = rows(syncs)
    table = sync_table(NAMES, given)
    assert list(table.names) == sorted({NAMES[number] for number in given.partition.tolist()})
    for name, kept in table:
        mine = listed(given.pick(given.partition == NAMES.index(name)))
        wanted = [sync for at, sync in enumerate(mine) if not at or sync[:3] != mine[at - 1][:3]]
        assert listed(kept) == wanted


def test_without_syncs_there_is_no_partition():
    table = sync_table(NAMES, SyncRows.empty())
    assert (len(table), table.names) == (0, ())
    assert same(joined_tables([]), table)


def test_what_was_known_at_a_time_ends_with_the_last_sync_of_then():
    """The log says the order: what is before a sync was there before it, whatever its clock said."""
    some = rows([(0, n, n, False, "") for n in range(5)])._replace(
        at_ms=np.array([-1, 10, 99, 20, 30])
    )
    assert [len(some.known_at(at).upstream) for at in (5, 10, 19, 20, 99)] == [1, 2, 2, 4, 5]
