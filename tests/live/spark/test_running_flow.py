"""What changes while a flow of two tasks runs: load, tasks, topics, and what people ask for."""

import os
import signal
import uuid

import pytest
from confluent_kafka.admin import NewPartitions

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.flow.spec import FlowSpec
from jobs.spark.contract import Outcome
from tests.live.groups import commit, offsets_of
from tests.live.records import produce
from tests.live.spark.runs import RunningFlow, Writer, assert_copied
from tests.live.topics import admin_of, make_topic, new_topic, wait_until_known
from tests.waiting import eventually

WITHIN_S = 60


def flow_of(east, west, *topics: str, tasks: int = 2, **settings) -> FlowSpec:
    name = f"running {topics[0].replace('*', '')}"
    return FlowSpec(name, east.connection, west.connection, topics, tasks=tasks, **settings)


@pytest.fixture
def folder(tmp_path):
    return (tmp_path / "run").resolve()


def test_partitions_move_to_the_task_that_has_less_to_do_and_no_record_is_doubled(
    east, west, folder
):
    topic = new_topic(east, 4)
    flow = flow_of(east, west, topic)
    with RunningFlow(flow, folder, home_s=600.0, balance_s=3.0, balance_lasting_s=3.0) as running:
        running.wait_for_states(dict.fromkeys(range(4), "caught_up"), within_s=90)
        tasks = {partition: row["task"] for partition, row in running.rows().items()}
        busy = [partition for partition, task in tasks.items() if task == 0]
        assert len(busy) == 2
        with Writer(east, topic, busy, value_bytes=2000, batch=100) as writer:
            eventually(lambda: running.progress["moves"] >= 1, WITHIN_S)
            eventually(lambda: len({running.rows()[p]["task"] for p in busy}) == 2, WITHIN_S)
        running.wait_for_positions(writer.ends)
        assert running.progress["restarts"] == 0
        assert running.stop().outcome is Outcome.STOPPED
    assert_copied(writer.written, west, f"east.{topic}")


@pytest.mark.campaign("faults")
def test_a_killed_task_comes_back_alone_while_the_other_goes_on(east, west, folder):
    topic = new_topic(east, 4)
    with (
        RunningFlow(flow_of(east, west, topic), folder) as running,
        Writer(east, topic, range(4)) as writer,
    ):
        running.wait_for_positions(dict.fromkeys(range(4), 1))
        running.wait_for_tasks(2)
        before = running.task_pids()
        os.kill(before[0], signal.SIGKILL)
        eventually(lambda: running.progress["restarts"] == 1, WITHIN_S)
        eventually(lambda: len(running.task_pids()) == 2, WITHIN_S)
        writer.__exit__()
        running.wait_for_positions(writer.ends)
        assert before[1] in running.task_pids()
        assert running.progress["restarts"] == 1
        running.stop()
    assert_copied(writer.written, west, f"east.{topic}")


@pytest.mark.campaign("faults")
def test_a_task_that_hangs_is_given_up_and_its_partitions_go_on_elsewhere(east, west, folder):
    topic = new_topic(east, 2)
    flow = flow_of(east, west, topic)
    with (
        RunningFlow(flow, folder, home_s=1.0) as running,
        Writer(east, topic, range(2)) as writer,
    ):
        running.wait_for_positions(dict.fromkeys(range(2), 1))
        running.wait_for_tasks(2)
        os.kill(running.task_pids()[0], signal.SIGSTOP)
        eventually(lambda: running.progress["restarts"] == 1, WITHIN_S)
        writer.__exit__()
        running.wait_for_positions(writer.ends)
        running.stop()
    assert_copied(writer.written, west, f"east.{topic}")


@pytest.fixture(scope="module")
def shared(east, west, tmp_path_factory):
    """One run for what its tests ask of topics and groups of their own, and its prefix for them."""
    prefix = f"asked-{uuid.uuid4().hex[:6]}"
    settings = {"emit_checkpoints_interval_s": 1, "sync_group_offsets_interval_s": 1}
    flow = flow_of(
        east, west, f"{prefix}.*", groups=(f"{prefix}.*",), sync_group_offsets=True, **settings
    )
    with RunningFlow(flow, (tmp_path_factory.mktemp("shared") / "run").resolve()) as running:
        yield Asked(running, prefix, east)


class Asked:
    """A run, with topics that it copies."""

    def __init__(self, running: RunningFlow, prefix: str, source) -> None:
        self.running, self._prefix, self._source = running, prefix, source

    def name(self) -> str:
        return f"{self._prefix}-{uuid.uuid4().hex[:6]}"

    def new_topic(self, *counts: int) -> str:
        """Make a topic with so many records in each partition, and wait until they are copied."""
        topic = self.name()
        make_topic(self._source, topic, len(counts))
        for partition, count in enumerate(counts):
            produce(self._source, topic, count, partition)
        self.running.wait_for_positions(dict(enumerate(counts)), topic)
        return topic


def test_new_topics_and_partitions_are_taken_on_without_a_restart(shared, east):
    running = shared.running
    first = shared.new_topic(10)
    pids = running.task_pids()
    shared.new_topic(20)
    with ClusterClient(east.connection) as client:
        admin_of(client.connection).create_partitions([NewPartitions(first, 2)])[first].result(60)
    wait_until_known(east.connection, first, 2)
    produce(east, first, 30, partition=1)
    running.wait_for_positions({1: 30}, first)
    assert set(pids) <= set(running.task_pids())
    assert running.progress["restarts"] == 0


def test_people_pause_resume_and_restart_single_partitions(shared, east):
    running, topic = shared.running, shared.new_topic(10, 10)
    running.ask(paused=[f"{topic}:0"])
    running.wait_for_states({0: "paused"}, topic)
    assert running.rows(topic)[0]["reason"] == "Paused by an operator."
    produce(east, topic, 5)
    produce(east, topic, 5, partition=1)
    running.wait_for_positions({1: 15}, topic)
    assert running.rows(topic)[0]["position"] == 10
    eventually(lambda: running.rows(topic)[0]["lag"] == 5, WITHIN_S)
    running.ask(restart={"token": "a", "topics": [topic]})
    running.wait_for_positions({0: 15}, topic)
    eventually(lambda: running.progress["control"]["restart_token"] == "a", WITHIN_S)
    running.wait_for_states({0: "caught_up", 1: "caught_up"}, topic)
    assert running.progress["restarts"] == 0


def test_a_nonsensical_control_file_is_told_and_changes_nothing(shared):
    running, topic = shared.running, shared.new_topic(10)
    running.ask(paused="everything")
    eventually(lambda: "paused" in running.progress["control"]["problem"], WITHIN_S)
    running.wait_for_states({0: "caught_up"}, topic)
    running.ask()
    eventually(lambda: not running.progress["control"]["problem"], WITHIN_S)


def test_outside_of_its_windows_only_bulk_copying_waits(east, west, folder):
    topic = new_topic(east, 2)
    produce(east, topic, 50)
    produce(east, topic, 5, partition=1)
    folder.mkdir()
    running = RunningFlow(flow_of(east, west, topic, tasks=1), folder)
    running.ask(windows=[_closed_window()], bulk_lag=20)
    with running:
        running.wait_for_positions({1: 5})
        running.wait_for_states({0: "paused"})
        assert "Waiting for the catch-up window" in running.rows()[0]["reason"]
        running.ask(windows=["00:00-24:00"], bulk_lag=20)
        running.wait_for_positions({0: 50})


def _closed_window() -> str:
    """A window that is at least two hours away."""
    from datetime import UTC, datetime

    begin = (datetime.now(UTC).hour + 3) % 24
    return f"{begin:02}:00-{begin:02}:30"


def test_a_running_flow_keeps_groups_of_the_target_where_they_are_on_the_source(shared, east, west):
    topic, group = shared.new_topic(100), shared.name()
    source, remote = TopicPartition(topic, 0), TopicPartition(f"east.{topic}", 0)
    commit(east, group, {source: 40})
    eventually(lambda: offsets_of(west, group) == {remote: 40}, WITHIN_S)
    commit(east, group, {source: 7})
    eventually(lambda: offsets_of(west, group) == {remote: 7}, WITHIN_S)

    def is_told() -> bool:
        told = shared.running.progress.get("checkpoints") or {}
        errors = (told.get("group_sync") or {}).get("errors")
        found = (told.get("told"), told.get("groups"), told.get("fault"), errors)
        return found == (1, 1, "", {})

    # A round that a stalled broker fails is followed by another one.
    eventually(is_told, WITHIN_S)
