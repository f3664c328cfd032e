"""Analyses and a flow on a real Spark cluster: two workers, one of them lost on the way."""

import pytest

from jobs.quorum.log.folder import read_folder
from jobs.replication.flow.spec import FlowSpec
from jobs.spark import contract, submit
from jobs.spark.contract import Outcome
from jobs.spark.engine import door
from tests.jobs.quorum.replay.test_ranges import at_once, tables
from tests.live.spark.hosted import HostedFlow, engine_progress, hosted, written
from tests.live.spark.runs import (
    RunningFlow,
    Writer,
    answer_of,
    ask,
    assert_copied,
    end_engines,
    engine_of,
    flow_to_nobody,
    write_large_log,
)
from tests.live.spark.standalone_cluster import (
    StandaloneCluster,
    assert_closed,
    assert_no_command_line_has,
)
from tests.live.topics import new_topic
from tests.waiting import eventually

WITHIN_S = 180


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    """One for all tests, in their order: the flow kills a worker."""
    with StandaloneCluster(tmp_path_factory.mktemp("cluster") / "spark") as cluster:
        yield cluster


def test_a_log_is_read_by_tasks_on_both_workers_into_the_tables_of_one_reader(spark, tmp_path):
    log = write_large_log(tmp_path / "__cluster_metadata-0")
    (tmp_path / "whole").mkdir()
    at_once(read_folder(log), tmp_path / "whole")
    try:
        settings = spark.settings_of_runs()
        run_dir = ask(tmp_path / "runs", log, environment=settings, kind="metadata-history")
        result = answer_of(run_dir)
        assert result is not None, door.read_log_tail(run_dir)
        assert result.outcome is Outcome.SUCCEEDED, result.error
        (made,) = (run_dir / "histories").glob("*/*")
        assert len(list((made / "partition_changes").glob("part-*"))) > 1
        assert tables(made) == tables(tmp_path / "whole")
        assert [len(spark.executors_on(number)) for number in range(2)] == [1, 1]
        submit.request_stop(engine_of(run_dir))
        eventually(lambda: not submit.is_alive(engine_of(run_dir)), WITHIN_S)
    finally:
        end_engines(tmp_path / "runs")


def test_two_workers_copy_and_when_one_is_killed_nothing_is_lost_or_doubled(
    spark, east, west, tmp_path
):
    topic = new_topic(east, 4)
    name = f"standalone {topic}"
    flow = FlowSpec(name, east.connection, west.connection, (topic,), tasks=2)
    running = RunningFlow(
        flow,
        (tmp_path / "run").resolve(),
        environment=spark.settings_of_runs(),
        # Two JVMs begin at once: the second task may come much later than the first.
        home_s=120.0,
    )
    with running, Writer(east, topic, range(4)) as writer:
        running.wait_for_positions(dict.fromkeys(range(4), 1), within_s=WITHIN_S)
        assert {row["task"] for row in running.rows().values()} == {0, 1}
        assert [len(spark.executors_on(number)) for number in range(2)] == [1, 1]
        assert_closed(running.pids())
        assert_no_command_line_has(spark.secret, [*running.pids(), *spark.pids()])
        spark.kill_worker(0)
        eventually(lambda: running.progress["restarts"] >= 1, WITHIN_S)
        after_the_loss = {p: end + 1 for p, end in writer.ends.items()}
        running.wait_for_positions(after_the_loss, within_s=WITHIN_S)
        writer.__exit__()
        running.wait_for_positions(writer.ends, within_s=WITHIN_S)
        assert running.stop().outcome is Outcome.STOPPED
    assert_copied(writer.written, west, f"east.{topic}")
    # Executors have no crosslog of their own on their path: it came with the application.
    assert "code=jobs.zip/jobs" in spark.executor_logs()


def test_slots_are_tasks_of_executors_and_flows_continue_when_a_worker_is_lost(
    tmp_path, east, west
):
    with StandaloneCluster(tmp_path / "spark") as cluster:
        environment = {**cluster.settings_of_runs(), "CROSSLOG_ENGINE_SLOTS": "2"}
        runs = (tmp_path / "runs").resolve()
        flows = [HostedFlow(east, west, runs, environment=environment) for _ in range(3)]
        with hosted(flows):
            with written(flows, per_s=50):
                for one in flows:
                    one.wait_for_ends(WITHIN_S)
                engine = flows[0].engine
                slots = engine_progress(engine)["slots"]
                assert sorted(len(row["flows"]) for row in slots) == [1, 2]
                cluster.kill_worker(0)
                eventually(lambda: engine_progress(engine)["restarts"] >= 1, WITHIN_S)
                for one in flows:
                    one.wait_for_ends(WITHIN_S)
                assert {one.engine for one in flows} == {engine}
            for one in flows:
                one.wait_for_ends(WITHIN_S)
        for one in flows:
            one.assert_equal()


@pytest.mark.campaign("faults")
def test_a_cluster_that_has_another_secret_is_named_with_what_to_look_at(spark, tmp_path):
    running = RunningFlow(
        flow_to_nobody(),
        (tmp_path / "run").resolve(),
        environment=spark.settings_of_runs(CROSSLOG_SECRET_SPARK="another one"),
    )
    with running:
        eventually(lambda: contract.read_result(running.folder) is not None, WITHIN_S)
    result = contract.read_result(running.folder)
    assert result.outcome is Outcome.FAILED
    assert spark.master in result.error
    assert "CROSSLOG_SPARK_SECRET" in result.error
    assert "another one" not in running.log_tail()
