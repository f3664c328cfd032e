"""Runs on disk: what is written is read again, and what is no file of runs is named."""

import pyarrow.parquet as pq
import pytest
from hypothesis import given

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.offset_syncs.run_files import BadRuns, read_runs, write_runs
from jobs.replication.offset_syncs.runs import SyncRows, build_runs
from tests.jobs.replication.offset_syncs.test_runs import NAMES, SYNCS, rows


@given(SYNCS)
def test_runs_come_back_as_they_were(tmp_path_factory, syncs):
    table = build_runs(NAMES, rows(syncs))
    path = tmp_path_factory.mktemp("runs") / "runs.parquet"
    write_runs(path, table)
    assert read_runs(path).same_as(table)


def test_nothing_but_the_file_itself_is_left_behind(tmp_path):
    write_runs(tmp_path / "runs.parquet", build_runs(NAMES, rows([(0, 1, 2, False, "")])))
    assert [path.name for path in tmp_path.iterdir()] == ["runs.parquet"]


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no parquet at all " * 50])
def test_another_file_is_named(tmp_path, content):
    path = tmp_path / "runs.parquet"
    path.write_bytes(content)
    with pytest.raises(BadRuns, match=r"runs\.parquet"):
        read_runs(path)


def test_a_truncated_file_is_named(tmp_path):
    path = tmp_path / "runs.parquet"
    names = [TopicPartition("orders", 0)]
    write_runs(path, build_runs(names, rows([(0, n, n, False, "") for n in range(1000)])))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(BadRuns):
        read_runs(path)


def test_a_file_of_an_earlier_version_is_read_and_tells_of_no_links(tmp_path):
    syncs = [(0, 1, 2, False), (0, 3, 4, False), (1, 5, 9, True)]
    path = tmp_path / "runs.parquet"
    write_runs(path, build_runs(NAMES, rows([(*sync, "the one before") for sync in syncs])))
    content = pq.read_table(path)
    pq.write_table(content.drop_columns(["follows_upstream", "follows_downstream"]), path)
    assert read_runs(path).same_as(build_runs(NAMES, rows([(*sync, "") for sync in syncs])))


def test_no_runs_are_a_file_too(tmp_path):
    write_runs(tmp_path / "runs.parquet", build_runs([], SyncRows.empty()))
    assert len(read_runs(tmp_path / "runs.parquet")) == 0
