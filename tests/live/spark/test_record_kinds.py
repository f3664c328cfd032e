"""An analysis of records as a run: by both workers of a Spark cluster, and stopped at once."""

import os
import uuid

import pytest

from jobs.spark import contract, submit
from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.kinds import ANALYSES
from jobs.spark.contract import JobSpec, Outcome
from jobs.spark.engine import door
from tests.live.spark.runs import answer_of, end_engines, engine_of
from tests.live.spark.standalone_cluster import StandaloneCluster
from tests.live.topics import new_topic
from tests.live.whole_batches import numbered, record, write_batches
from tests.waiting import Stalls, eventually

pytestmark = pytest.mark.timeout(900)
KIND = "topic-profile"
STOPS_WITHIN_S = 2.0
BEGINS_WITHIN_S = 120


@pytest.fixture
def profile(west, tmp_path):
    """Hand a profile of a topic over; engines end with the test."""

    def ask(topic, environment=None):
        run_dir = tmp_path / "runs" / uuid.uuid4().hex[:8]
        given = checked_arguments(ANALYSES[KIND], {"cluster": "west", "topics": topic})
        values = {"arguments": given, "tables": str(run_dir / "tables"), "tasks": 2}
        values["histories"] = str(tmp_path / "histories")
        values["resources"] = {"cluster": {"connection": west.connection.to_mapping()}}
        door.start_run(JobSpec(run_dir.name, KIND, values, 600.0), run_dir, environment)
        return run_dir

    yield ask
    end_engines(tmp_path / "runs")


def test_both_workers_of_a_cluster_read(west, profile, tmp_path):
    topic = new_topic(west, 4)
    for partition in range(4):
        write_batches(west, topic, partition, [numbered(100)] * 10)
    with StandaloneCluster(tmp_path / "spark") as spark:
        run_dir = profile(topic, spark.settings_of_runs())
        result = answer_of(run_dir)
        assert result is not None, door.read_log_tail(run_dir)
        assert result.outcome is Outcome.SUCCEEDED, result.error
        assert result.summary["facts"]["records"] == 4000
        assert [len(spark.executors_on(number)) for number in range(2)] == [1, 1]
        submit.request_stop(engine_of(run_dir))
        eventually(lambda: not submit.is_alive(engine_of(run_dir)), 60)


def test_a_stop_ends_a_run_that_reads(west, profile):
    topic = new_topic(west)
    write_batches(west, topic, 0, [[record(0, os.urandom(900_000))] for _ in range(40)])
    # 36 MB: more than half a minute.
    run_dir = profile(topic, {"CROSSLOG_RECORD_READ_MB_PER_S": "1"})
    eventually(lambda: "Reading" in progress_of(run_dir), BEGINS_WITHIN_S)
    with Stalls() as stalls:
        door.request_stop(run_dir, "Ada does not want it any more.")
        result = answer_of(run_dir)
    assert stalls.took_s < STOPS_WITHIN_S
    assert (result.outcome, result.error) == (Outcome.STOPPED, "Ada does not want it any more.")


def progress_of(run_dir):
    assert contract.read_result(run_dir) is None, contract.read_result(run_dir)
    return (door.read_progress(run_dir) or {}).get("message", "")
