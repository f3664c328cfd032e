"""The job `replay`: a folder of metadata segments becomes the history of its partitions, by several tasks."""

import pyarrow.parquet as pq
import pytest

from jobs.quorum.history.changes import PartitionChange
from jobs.quorum.history.histories import read_changes
from jobs.quorum.log.folder import read_folder
from jobs.spark import contract, submit
from jobs.spark.contract import JobSpec, Outcome
from tests.jobs.quorum.small_log import small_log
from tests.support import wait_until

# On a new machine the tasks compile their loops first.
ENDS_WITHIN_S = 180
pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]


def test_the_parts_together_are_the_history(tmp_path):
    log, run_dir = tmp_path / "__cluster_metadata-0", tmp_path / "run"
    log.mkdir()
    for offset, segment in small_log().items():
        (log / f"{offset:020}.log").write_bytes(segment)
    values = {"folder": str(log), "output": str(tmp_path / "history"), "tasks": 2}
    submit.start_run(JobSpec("replay", "replay", values, lease_s=600.0), run_dir)
    wait_until(lambda: contract.read_result(run_dir) is not None, ENDS_WITHIN_S)
    result = contract.read_result(run_dir)
    assert result.outcome is Outcome.SUCCEEDED, submit.read_log_tail(run_dir)
    found = [
        row
        for part in sorted((tmp_path / "history").glob("part-*.parquet"))
        for row in pq.read_table(part).to_pylist()
    ]
    told = [
        one for one in read_changes(read_folder(log).records()) if isinstance(one, PartitionChange)
    ]
    assert result.summary["rows"] == len(found) == len(told)
    assert {(row["offset"], row["cause"], row["cause_broker"]) for row in found} == {
        (one.offset, str(one.cause), one.cause_broker) for one in told
    }


def test_a_folder_that_is_none_is_said(tmp_path):
    run_dir = tmp_path / "run"
    values = {"folder": str(tmp_path / "nowhere"), "output": str(tmp_path / "history")}
    submit.start_run(JobSpec("replay", "replay", values, lease_s=600.0), run_dir)
    wait_until(lambda: contract.read_result(run_dir) is not None, ENDS_WITHIN_S)
    assert contract.read_result(run_dir).outcome is Outcome.FAILED
