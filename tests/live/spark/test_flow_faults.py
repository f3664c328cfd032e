"""A whole flow through Spark while its surroundings misbehave."""

import itertools
import signal
import time
import uuid
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka.admin import NewPartitions

from jobs.cluster.admin.topics import NewTopicSpec, create_topics, delete_topics, describe_topics
from jobs.cluster.client import ClusterClient
from jobs.lab.traffic.fill import Filling, fill
from jobs.replication.flow.spec import FlowSpec, OnRecreated
from jobs.spark import contract, processes, submit
from jobs.spark.contract import JobSpec
from tests.live.knowing import wait_until_known
from tests.live.reading import read_all
from tests.support import wait_until

pytestmark = pytest.mark.live

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

    def row(self, partition: int = 0) -> dict:
        rows = [r for r in self.progress()["partitions"] if r["partition"] == partition]
        return rows[0] if rows else {"state": None, "position": 0, "reason": ""}

    def wait_for_state(self, state: str, within_s: float = STARTS_WITHIN_S) -> dict:
        wait_until(lambda: self.row()["state"] == state, within_s)
        return self.row()

    def wait_for_position(self, position: int, within_s: float = STARTS_WITHIN_S) -> None:
        wait_until(lambda: self.row()["position"] >= position, within_s)

    def kill_spark(self) -> None:
        """Kill -9 everything below the keeper at once: JVM, Python driver, tasks."""
        keeper = contract.read_json(self.folder / contract.KEEPER)["pid"]
        processes.signal_all(processes.children_of(keeper), signal.SIGKILL)
        wait_until(lambda: not submit.is_alive(self.folder))

    def kill(self) -> None:
        for folder in self.folders:
            submit.kill_run(folder)
            wait_until(lambda folder=folder: not submit.is_alive(folder))


# Yesterday: younger than every retention. A step has room for the largest test's records.
WRITTEN = itertools.count(int(time.time() - 86_400) * 1000, 1_000_000)


def produce(cluster, topic: str, count: int):
    """Write records whose timestamps are all different, over all calls of this test run."""
    filling = Filling(count, partitions=1, first_timestamp_ms=next(WRITTEN))
    return fill(cluster.connection, topic, filling)


@pytest.fixture
def topic(east):
    name = f"fault-{uuid.uuid4().hex[:8]}"
    create(east, name)
    return name


def create(cluster, name: str, partitions: int = 1) -> str:
    """Create a topic and return its id once the cluster knows it."""
    with ClusterClient(cluster.connection) as client:
        create_topics(client, {name: NewTopicSpec(partitions, None, {})})
        wait_until_known(cluster.connection, name, partitions)
        return ids_of(client, name)[0]


def ids_of(client, name: str) -> list[str]:
    return [t.topic_id for t in describe_topics(client, [name]) if t.topic_id and t.partitions]


@pytest.fixture
def flow(east, west, topic, tmp_path):
    spec = FlowSpec(f"faults-{topic}", east.connection, west.connection, topics=(topic,))
    running = RunningFlow(spec, tmp_path)
    yield running
    running.kill()


def test_a_topic_created_again_under_a_running_flow_stops_with_both_ids(flow, east, topic):
    produce(east, topic, 5)
    flow.start()
    flow.wait_for_position(5)
    old = flow.progress()["topics"][topic]["topic_id"]
    with ClusterClient(east.connection) as client:
        delete_topics(client, [topic])
        wait_until(lambda: not ids_of(client, topic))
    new = create(east, topic)
    produce(east, topic, 3)
    wait_until(lambda: f"{old} -> {new}" in flow.row()["reason"], FOLLOWS_WITHIN_S)
    assert (flow.row()["state"], flow.row()["position"]) == ("failed", 5)


def test_a_topic_created_again_under_a_running_flow_is_copied_anew_where_that_is_wanted(
    flow, east, west, topic
):
    flow.flow = replace(flow.flow, on_recreated=OnRecreated.FROM_START)
    produce(east, topic, 5)
    flow.start()
    flow.wait_for_position(5)
    with ClusterClient(east.connection) as client:
        delete_topics(client, [topic])
        wait_until(lambda: not ids_of(client, topic))
    new = create(east, topic)
    produce(east, topic, 3)
    wait_until(
        lambda: (flow.row()["position"], flow.row()["state"]) == (3, "caught_up"),
        2 * FOLLOWS_WITHIN_S,
    )
    assert flow.progress()["topics"][topic]["topic_id"] == new
    assert len(read_all(west.connection, f"east.{topic}")) == 8


def test_an_accepted_new_topic_is_copied_from_its_beginning(flow, east, west, topic):
    old = "AAAAAAAAAAAAAAAAAAAAAA"
    produce(east, topic, 4)
    flow.start(topic_ids={topic: old}, reset_topics=[topic])
    flow.wait_for_position(4)
    assert flow.progress()["topics"][topic]["topic_id"] != old
    assert len(read_all(west.connection, f"east.{topic}")) == 4


def test_a_topic_deleted_under_a_running_flow_is_shown_as_stopped(flow, east, topic):
    produce(east, topic, 5)
    flow.start()
    flow.wait_for_position(5)
    with ClusterClient(east.connection) as client:
        delete_topics(client, [topic])
    row = flow.wait_for_state("stopped", FOLLOWS_WITHIN_S)
    assert "no longer exists on the source" in row["reason"]


def test_a_partition_added_under_a_running_flow_is_refused_with_the_command_that_helps(
    flow, east, topic
):
    flow.flow = replace(flow.flow, grow_partitions=False)
    produce(east, topic, 1)
    flow.start()
    flow.wait_for_position(1)
    with ClusterClient(east.connection) as client:
        client.admin.create_partitions([NewPartitions(topic, 2)])[topic].result(60)
    wait_until(lambda: flow.row(1)["state"] == "failed", FOLLOWS_WITHIN_S)
    assert f"--alter --topic east.{topic} --partitions 2" in flow.row(1)["reason"]
    flow.wait_for_state("caught_up")


def test_a_killed_driver_loses_nothing_and_counts_what_it_wrote_twice(flow, east, west, topic):
    first = produce(east, topic, 200_000)
    flow.start()
    wait_until(lambda: flow.row()["position"] > 0, STARTS_WITHIN_S)
    flow.kill_spark()
    rest = produce(east, topic, 500)
    flow.start()
    flow.wait_for_position(200_500)
    copied = Counter(
        message.timestamp()[1] for message in read_all(west.connection, f"east.{topic}")
    )
    assert set(copied) == {record.timestamp_ms for record in [*first, *rest]}
    assert flow.row()["duplicates"] == sum(copied.values()) - len(copied)
