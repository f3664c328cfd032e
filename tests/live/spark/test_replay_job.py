"""The job `replay`: a folder of metadata segments becomes the history of its partitions, by several tasks."""

import pyarrow.parquet as pq
import pytest

from jobs.quorum.history.changes import PartitionChange
from jobs.quorum.history.histories import read_changes
from jobs.quorum.log.folder import read_folder
from jobs.spark import contract, submit
from jobs.spark.contract import JobSpec, Outcome
from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.metadata.records import encode_metadata_record
from tests.jobs.quorum.metadata_stories import uuid
from tests.support import wait_until

# On a new machine the tasks compile their loops first.
ENDS_WITHIN_S = 180
pytestmark = [pytest.mark.live, pytest.mark.timeout(900)]

PARTITIONS = 40


def batch(offset, values):
    records = [PlacedRecord(offset + at, 1000 + offset, None, one) for at, one in enumerate(values)]
    return encode_batch(records, partition_leader_epoch=1)


def write_folder(log):
    """A topic of 40 partitions, and a broker that is fenced: all of them lose it."""
    told = {"topicId": uuid(7), "leader": 1, "leaderEpoch": 0, "partitionEpoch": 0}
    values = [
        encode_metadata_record("REGISTER_BROKER_RECORD", 3, {"brokerId": 1, "brokerEpoch": 0}),
        encode_metadata_record("TOPIC_RECORD", 0, {"name": "orders", "topicId": uuid(7)}),
    ]
    for number in range(PARTITIONS):
        state = {"partitionId": number, "replicas": [1, 2], "isr": [1, 2], **told}
        values.append(encode_metadata_record("PARTITION_RECORD", 1, state))
    fenced = [
        encode_metadata_record(
            "PARTITION_CHANGE_RECORD", 1,
            {"partitionId": number, "topicId": uuid(7), "isr": [2], "leader": 2},
        )
        for number in range(PARTITIONS)
    ]  # fmt: skip
    event = {"brokerId": 1, "brokerEpoch": 0, "fenced": 1}
    fenced.append(encode_metadata_record("BROKER_REGISTRATION_CHANGE_RECORD", 1, event))
    log.mkdir()
    first, second = batch(0, values), batch(len(values), fenced)
    (log / f"{0:020}.log").write_bytes(first)
    (log / f"{len(values):020}.log").write_bytes(second)


def test_the_parts_together_are_the_history(tmp_path):
    log, run_dir = tmp_path / "__cluster_metadata-0", tmp_path / "run"
    write_folder(log)
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
