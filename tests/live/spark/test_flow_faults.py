"""A whole flow through Spark while its surroundings misbehave."""

import itertools
import signal
import time
import uuid
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka.admin import NewPartitions

from jobs.cluster.admin.topics import delete_topics, describe_topics
from jobs.cluster.client import ClusterClient
from jobs.lab.traffic.fill import Filling, fill
from jobs.replication.flow.spec import FlowSpec, OnRecreated
from jobs.spark import contract, processes, submit
from jobs.spark.contract import JobSpec
from tests.live.records import read_all
from tests.live.topics import admin_of, make_topic, new_topic
from tests.waiting import eventually

STARTS_WITHIN_S = 120
FOLLOWS_WITHIN_S = 45


class RunningFlow:
    """One flow between two clusters, started as often as a test wants."""

    def __init__(self, flow: FlowSpec, root: Path) -> None:
        self.flow = flow
        self.root = root
        self.folders: list[Path] = []

    def start(self, **arguments) -> None:
        self.folders.append(self.root / f"run-{len(self.folders)}")
        values = {"flow": self.flow.to_mapping(), "refresh_s": 1.0, **arguments}
        submit.start_run(JobSpec("faults", "replicate", values, lease_s=3_600.0), self.folder)

    @property
    def folder(self) -> Path:
        return self.folders[-1]

    def progress(self) -> dict:
        return submit.read_progress(self.folder) or {"partitions": [], "topics": {}}

    def row(self, topic: str, partition: int = 0) -> dict:
        rows = self.progress()["partitions"]
        found = [r for r in rows if (r["topic"], r["partition"]) == (topic, partition)]
        return found[0] if found else {"state": None, "position": 0, "reason": ""}

    def wait_for_state(self, topic: str, state: str, within_s: float = STARTS_WITHIN_S) -> dict:
        eventually(lambda: self.row(topic)["state"] == state, within_s)
        return self.row(topic)

    def wait_for_position(
        self, topic: str, position: int, within_s: float = STARTS_WITHIN_S
    ) -> None:
        eventually(lambda: self.row(topic)["position"] >= position, within_s)

    def kill_spark(self) -> None:
        """Kill -9 everything below the keeper at once: JVM, Python driver, tasks."""
        keeper = contract.read_json(self.folder / contract.KEEPER)["pid"]
        processes.signal_all(processes.children_of(keeper), signal.SIGKILL)
        eventually(lambda: not submit.is_alive(self.folder))

    def kill(self) -> None:
        for folder in self.folders:
            submit.kill_run(folder)
            eventually(lambda folder=folder: not submit.is_alive(folder))


# Yesterday: younger than every retention. A step has room for the largest test's records.
WRITTEN = itertools.count(int(time.time() - 86_400) * 1000, 1_000_000)


def produce(cluster, topic: str, count: int):
    """Write records whose timestamps are all different, over all calls of this test run."""
    filling = Filling(count, partitions=1, first_timestamp_ms=next(WRITTEN))
    return fill(cluster.connection, topic, filling)


@pytest.fixture
def topic(east):
    return new_topic(east)


def create_again(cluster, name: str) -> str:
    """Delete a topic and create it again with three records; return its new id."""
    with ClusterClient(cluster.connection) as client:
        delete_topics(client, [name])
        eventually(lambda: not ids_of(client, name))
        make_topic(cluster, name)
        produce(cluster, name, 3)
        return ids_of(client, name)[0]


def ids_of(client, name: str) -> list[str]:
    return [t.topic_id for t in describe_topics(client, [name]) if t.topic_id and t.partitions]


@pytest.fixture
def flow(east, west, topic, tmp_path):
    spec = FlowSpec(f"faults-{topic}", east.connection, west.connection, topics=(topic,))
    running = RunningFlow(spec, tmp_path)
    yield running
    running.kill()


@pytest.fixture(scope="module")
def strict(east, west, tmp_path_factory):
    """A run that stops at what it did not expect; its pattern begins with its name."""
    yield from running_pattern(east, west, "strict", tmp_path_factory.mktemp("strict"))


@pytest.fixture(scope="module")
def anew(east, west, tmp_path_factory):
    """A run that copies a new topic of an old name from its beginning, and makes no partitions."""
    settings = {"on_recreated": OnRecreated.FROM_START, "grow_partitions": False}
    yield from running_pattern(east, west, "anew", tmp_path_factory.mktemp("anew"), **settings)


def running_pattern(east, west, word, folder, **settings):
    name = f"{word}-{uuid.uuid4().hex[:8]}"
    spec = FlowSpec(name, east.connection, west.connection, (f"{name}.*",), **settings)
    running = RunningFlow(spec, folder)
    running.start()
    yield running
    running.kill()


def copied(running: RunningFlow, east) -> str:
    """Make a topic of the run's pattern with five records, and wait until they are copied."""
    topic = f"{running.flow.name}-{uuid.uuid4().hex[:8]}"
    make_topic(east, topic)
    produce(east, topic, 5)
    running.wait_for_position(topic, 5)
    return topic


def test_a_topic_created_again_under_a_running_flow_stops_with_both_ids(strict, east):
    topic = copied(strict, east)
    old = strict.progress()["topics"][topic]["topic_id"]
    new = create_again(east, topic)
    eventually(lambda: f"{old} -> {new}" in strict.row(topic)["reason"], FOLLOWS_WITHIN_S)
    assert (strict.row(topic)["state"], strict.row(topic)["position"]) == ("failed", 5)


def test_a_topic_deleted_under_a_running_flow_is_shown_as_stopped(strict, east):
    topic = copied(strict, east)
    with ClusterClient(east.connection) as client:
        delete_topics(client, [topic])
    row = strict.wait_for_state(topic, "stopped", FOLLOWS_WITHIN_S)
    assert "no longer exists on the source" in row["reason"]


def test_a_topic_created_again_under_a_running_flow_is_copied_anew_where_that_is_wanted(
    anew, east, west
):
    topic = copied(anew, east)
    new = create_again(east, topic)
    eventually(
        lambda: (anew.row(topic)["position"], anew.row(topic)["state"]) == (3, "caught_up"),
        2 * FOLLOWS_WITHIN_S,
    )
    assert anew.progress()["topics"][topic]["topic_id"] == new
    assert len(read_all(west, f"east.{topic}")) == 8


def test_a_partition_added_under_a_running_flow_is_refused_with_the_command_that_helps(anew, east):
    topic = copied(anew, east)
    with ClusterClient(east.connection) as client:
        admin_of(client.connection).create_partitions([NewPartitions(topic, 2)])[topic].result(60)
    eventually(lambda: anew.row(topic, 1)["state"] == "failed", FOLLOWS_WITHIN_S)
    assert f"--alter --topic east.{topic} --partitions 2" in anew.row(topic, 1)["reason"]
    anew.wait_for_state(topic, "caught_up")


def test_an_accepted_new_topic_is_copied_from_its_beginning(flow, east, west, topic):
    old = "AAAAAAAAAAAAAAAAAAAAAA"
    produce(east, topic, 4)
    flow.start(topic_ids={topic: old}, reset_topics=[topic])
    flow.wait_for_position(topic, 4)
    assert flow.progress()["topics"][topic]["topic_id"] != old
    assert len(read_all(west, f"east.{topic}")) == 4


@pytest.mark.campaign("faults")
def test_a_killed_driver_loses_nothing_and_counts_what_it_wrote_twice(flow, east, west, topic):
    first = produce(east, topic, 200_000)
    flow.start()
    eventually(lambda: flow.row(topic)["position"] > 0, STARTS_WITHIN_S)
    flow.kill_spark()
    rest = produce(east, topic, 500)
    flow.start()
    flow.wait_for_position(topic, 200_500)
    copied = Counter(record.timestamp_ms for record in read_all(west, f"east.{topic}"))
    assert set(copied) == {record.timestamp_ms for record in [*first, *rest]}
    assert flow.row(topic)["duplicates"] == sum(copied.values()) - len(copied)
