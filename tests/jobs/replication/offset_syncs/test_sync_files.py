"""Offset syncs on disk: what is written is read again, and what is no file of offset syncs is named."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.offset_syncs.sync_files import BadSyncFile, SyncFile, write_syncs
from jobs.replication.offset_syncs.sync_rows import SyncRows, sync_table
from tests.jobs.replication.offset_syncs.test_sync_rows import NAMES, SYNCS, listed, rows, same


@given(SYNCS)
def test_syncs_come_back_as_they_were(tmp_path_factory, syncs):
    table = sync_table(NAMES, rows(syncs))
    path = tmp_path_factory.mktemp("syncs") / "syncs.parquet"
    assert write_syncs(path, table) == len(table)
    found = SyncFile(path)
    assert same(found.table(), table)
    for name, mine in table:
        assert listed(found.rows(name)) == listed(mine)
    assert not len(found.rows(TopicPartition("nowhere", 0)).upstream)


@pytest.mark.parametrize("sizes", [[60_000, 3, 70_000, 50_000], [1_100_000, 5]], ids=str)
def test_of_a_long_file_a_partition_is_read_from_its_own_row_groups(tmp_path, sizes):
    partition = np.repeat(np.arange(len(sizes)), sizes)
    offsets = np.arange(len(partition), dtype=np.int64)
    names = [TopicPartition("orders", number) for number in range(len(sizes))]
    content = SyncRows.without_links(partition, offsets, offsets + 7, np.zeros_like(offsets))
    path = tmp_path / "syncs.parquet"
    write_syncs(path, sync_table(names, content))
    found = SyncFile(path)
    assert pq.ParquetFile(path).num_row_groups > 1
    for number in (2, 0, 1) if len(sizes) > 2 else (1, 0):
        own = offsets[partition == number]
        assert np.array_equal(found.rows(names[number]).upstream, own)


def test_what_mirror_maker_2_would_have_kept_is_beside(tmp_path):
    table = sync_table(NAMES, rows([(0, 1, 2, False, ""), (2, 3, 4, False, "")]))
    kept = {name: np.full((3, 64), at, np.int64) for at, name in enumerate(table.names)}
    write_syncs(tmp_path / "syncs.parquet", table, kept)
    found = SyncFile(tmp_path / "syncs.parquet")
    assert all(np.array_equal(found.kept(name), kept[name]) for name in table.names)
    assert found.kept(TopicPartition("nowhere", 0)) is None
    write_syncs(tmp_path / "without.parquet", table)
    assert SyncFile(tmp_path / "without.parquet").kept(table.names[0]) is None


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no parquet at all " * 50])
def test_another_file_is_named(tmp_path, content):
    path = tmp_path / "syncs.parquet"
    path.write_bytes(content)
    with pytest.raises(BadSyncFile, match=r"syncs\.parquet"):
        SyncFile(path)


def test_a_parquet_file_of_something_else_is_named(tmp_path):
    path = tmp_path / "syncs.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(BadSyncFile, match=r"syncs\.parquet"):
        SyncFile(path)


def test_a_truncated_file_is_named(tmp_path):
    path = tmp_path / "syncs.parquet"
    write_syncs(path, sync_table(NAMES, rows([(0, n, n, False, "") for n in range(1000)])))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(BadSyncFile):
        SyncFile(path)


def runs(syncs, *, with_links):
    """Return syncs as version 1 wrote them: a row per run of one difference, with lists of its offsets."""
    table = sync_table(NAMES, rows(syncs))
    found = []
    for name, mine in table:
        last = None
        for upstream, downstream, hole, *follows, _, _ in listed(mine):
            key = (*name, downstream - upstream, hole)
            if last is None or key != found[-1][0] or upstream <= last[0] or downstream <= last[1]:
                found.append((key, [], [], []))
            is_linked = last is not None and tuple(follows) == last
            shortened = (-2, -2) if is_linked else follows
            for column, value in zip(found[-1][1:], (upstream, *shortened), strict=True):
                column.append(value)
            last = (upstream, downstream)
    keys = zip(*(key for key, *_ in found), strict=True) if found else [()] * 4
    topic, partition, difference, hole = (list(column) for column in keys)
    lists = pa.large_list(pa.int64())
    columns = {
        "topic": pa.array(topic, pa.string()).dictionary_encode(),
        "partition": pa.array(partition, pa.int32()),
        "generation": pa.array([0] * len(found), pa.int64()),
        "epoch": pa.array([0] * len(found), pa.int64()),
        "difference": pa.array(difference, pa.int64()),
        "hole": pa.array(hole, pa.int64()),
        "upstream_offsets": pa.array([one[1] for one in found], lists),
    }
    if with_links:
        columns["follows_upstream"] = pa.array([one[2] for one in found], lists)
        columns["follows_downstream"] = pa.array([one[3] for one in found], lists)
    return table, pa.table(columns)


@given(SYNCS, st.booleans())
def test_a_file_of_version_1_is_read_and_does_not_know_the_times(
    tmp_path_factory, syncs, with_links
):
    table, content = runs(syncs, with_links=with_links)
    path = tmp_path_factory.mktemp("runs") / "runs.parquet"
    pq.write_table(content, path)
    rows = table.all_rows
    unknown = np.full(len(table), -1, np.int64)
    rows = rows._replace(at_ms=unknown, chained=np.zeros_like(unknown))
    if not with_links:
        rows = rows._replace(follows_upstream=unknown, follows_downstream=unknown)
    assert same(SyncFile(path).table(), sync_table(table.names, rows))


def test_no_syncs_are_a_file_too(tmp_path):
    write_syncs(tmp_path / "syncs.parquet", sync_table([], SyncRows.empty()))
    assert len(SyncFile(tmp_path / "syncs.parquet")) == 0


def test_a_file_from_before_there_were_chains_has_none(tmp_path):
    table = sync_table(NAMES, rows([(0, 1, 2, False, ""), (0, 3, 4, False, "the one before")]))
    path = tmp_path / "syncs.parquet"
    write_syncs(path, table)
    file = pq.ParquetFile(path)
    names = {b"crosslog.partitions": file.metadata.metadata[b"crosslog.partitions"]}
    pq.write_table(file.read().drop_columns("chained").replace_schema_metadata(names), path)
    assert listed(SyncFile(path).rows(NAMES[0])) == [
        (*row[:-1], 0) for row in listed(table.all_rows)
    ]
