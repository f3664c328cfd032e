"""Runs of offset syncs: whoever builds them, in whatever pieces, gets the same ones."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.offset_syncs.runs import RunBuilder, SyncRows, build_runs, join_runs

NAMES = [TopicPartition("b", 1), TopicPartition("a", 0), TopicPartition("b", 0)]
# Few values, so that repeats, steps back and equal differences are frequent.
LINKS = st.sampled_from(["", "", "the one before", "another one"])
SYNCS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(0, 12), st.booleans(), LINKS),
    max_size=40,
)


def followed(syncs):
    """Yield of each sync which one it follows, (-1, -1) where that is not told."""
    last = {}
    for number, upstream, downstream, _, link in syncs:
        before = last.get(number, (77, 77))
        yield {"": (-1, -1), "the one before": before}.get(link, (before[0] + 1, before[1] + 1))
        last[number] = (upstream, downstream)


def rows(syncs) -> SyncRows:
    """Return syncs as rows; what is true of some of them is that a hole stands before them."""
    columns = np.array([sync[:4] for sync in syncs], np.int64).reshape(-1, 4).T
    follows = np.array(list(followed(syncs)), np.int64).reshape(-1, 2).T
    return SyncRows(*columns[:3], np.cumsum(columns[3]), *follows)


def built_one_by_one(syncs):
    builder = RunBuilder()
    hole = 0
    for (number, *pair, is_after_hole, _), follows in zip(syncs, followed(syncs), strict=True):
        hole += is_after_hole
        known = None if follows == (-1, -1) else follows
        builder.add(NAMES[number], *pair, hole=hole, follows=known)
    return builder.table()


def runs_of(syncs):
    table = build_runs(NAMES[:1], rows([(0, *sync, False, "") for sync in syncs]))
    columns = (table.generation, table.epoch, table.difference, table.first_upstream)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@given(SYNCS)
def test_all_at_once_and_one_by_one_give_the_same_runs(syncs):
    assert build_runs(NAMES, rows(syncs)).same_as(built_one_by_one(syncs))


@given(SYNCS, st.lists(st.integers(0, 40), max_size=4))
def test_pieces_of_a_log_joined_give_the_same_runs(syncs, cuts):
    bounds = sorted({0, len(syncs), *(min(cut, len(syncs)) for cut in cuts)})
    whole = rows(syncs)
    pieces = [build_runs(NAMES, whole.pick(slice(a, b))) for a, b in pairwise(bounds)]
    assert join_runs(pieces).same_as(build_runs(NAMES, whole))


@given(SYNCS)
def test_nothing_but_repeats_is_lost(syncs):
    table = build_runs(NAMES, rows(syncs))
    back, given = table.rows(), rows(syncs)
    for number, name in enumerate(table.names):
        mine = listed(given.pick(given.partition == NAMES.index(name)))
        kept = [sync for at, sync in enumerate(mine) if not at or sync[:3] != mine[at - 1][:3]]
        assert listed(back.pick(back.partition == number)) == kept


def listed(some: SyncRows):
    return list(zip(*(column.tolist() for column in some[1:]), strict=True))


@pytest.mark.parametrize(
    ("syncs", "runs"),
    [
        pytest.param([(0, 0), (10, 10), (20, 20)], [(0, 0, 0, 0)], id="one stretch"),
        pytest.param([(0, 0), (10, 11)], [(0, 0, 0, 0), (0, 0, 1, 10)], id="a gap"),
        pytest.param([(5, 5), (2, 8)], [(0, 0, 0, 5), (0, 1, 6, 2)], id="the source went back"),
        pytest.param([(5, 5), (6, 5)], [(0, 0, 0, 5), (1, 0, -1, 6)], id="the target was made anew"),
        pytest.param([(5, 5), (5, 5)], [(0, 0, 0, 5)], id="a repeat"),
    ],
)  # fmt: skip
def test_a_run_ends_where_the_difference_changes_or_an_offset_goes_back(syncs, runs):
    assert runs_of(syncs) == runs


def test_without_syncs_there_are_no_runs():
    table = build_runs(NAMES, SyncRows.empty())
    assert (len(table), table.sync_count, table.names) == (0, 0, ())
    assert join_runs([]).same_as(table)
