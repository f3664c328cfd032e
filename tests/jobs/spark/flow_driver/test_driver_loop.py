"""The loop of a flow's driver, over real sockets, with tasks and clusters that only pretend."""

import threading
import time
from dataclasses import asdict, replace
from functools import partial

import pytest

from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import (
    OffsetRange,
    PartitionDescription,
    TopicDescription,
    TopicPartition,
)
from jobs.cluster.errors import Unreachable
from jobs.replication.copy.contract import CopyState, PartitionProgress, PartitionStart
from jobs.replication.flow.plan import FlowPlan
from jobs.replication.flow.preflight import Preflight
from jobs.replication.flow.spec import FlowSpec
from jobs.spark import contract
from jobs.spark.channel.line import DriverChannel, TaskChannel
from jobs.spark.control import ControlFile
from jobs.spark.flow_driver.balancing import Balance
from jobs.spark.flow_driver.driver_loop import DriverIntervals, FlowDriverLoop
from jobs.spark.flow_driver.recovery import PositionsBehind
from jobs.spark.flow_driver.state import FlowState
from tests.waiting import PATIENCE, eventually

pytestmark = pytest.mark.slow

FLOW = FlowSpec("f", Connection("east", "a:1"), Connection("west", "b:1"), tasks=2)


def where(partition: int, topic: str = "t") -> TopicPartition:
    return TopicPartition(topic, partition)


class FakeClusters:
    """A source with topics of so many records per partition, and the positions on the target."""

    def __init__(self, **topics: int):
        self.topics = topics
        self.ids, self.accepted, self.positions = {}, {}, {}
        self.records = 100
        self.fault = None
        self.recovered = []

    def survey(self, topic_ids, _reset_topics=frozenset()) -> Preflight:
        if self.fault is not None:
            raise self.fault
        starts = [
            PartitionStart(topic, p, self.positions.get(where(p, topic), 0), f"east.{topic}")
            for topic, count in self.topics.items()
            for p in range(count)
        ]
        gone = [
            PartitionProgress(topic, 0, 0, CopyState.STOPPED, "gone")
            for topic in topic_ids
            if topic not in self.topics
        ]
        ids = {topic: self.ids.get(topic, "1") for topic in self.topics}
        described = tuple(
            TopicDescription(t, ids[t], False, tuple(PartitionDescription(p, 0, (), ()) for p in range(n)))
            for t, n in self.topics.items()
        )  # fmt: skip
        ranges = {start.where: OffsetRange(0, self.records, self.records) for start in starts}
        plan = FlowPlan(tuple(starts), tuple(gone), {**topic_ids, **ids})
        return Preflight(plan, described, {}, ranges)

    def recover(self, task, lost, told):
        self.recovered.append(task)
        if self.fault is not None:
            raise self.fault
        return [replace(s, position=self.positions.get(s.where, s.position)) for s in lost]


class FakeTask:
    """A task in a thread: takes partitions on, lets them go, and says what a test tells it to."""

    def __init__(self, channel, number, clusters):
        self.number = number
        self.problem = self.slot = None
        self.has = {}
        self.let_go = []
        self.answers = True
        self._clusters = clusters
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(channel.address,), daemon=True)
        self._thread.start()

    def is_running(self):
        return self._thread.is_alive()

    def cancel(self):
        self._over.set()

    def die(self, problem="Error: killed"):
        self.problem = problem
        self._over.set()

    def _run(self, address):
        self.channel = TaskChannel(address, self.number)
        while not self._over.is_set() and not self.channel.should_stop():
            for change in self.channel.changes.take() if self.answers else ():
                if isinstance(change, PartitionStart):
                    self.has[change.where] = change.position
                elif change in self.has:
                    self.let_go.append(change)
                    at = PartitionStart(*change, self.has.pop(change), f"east.{change.topic}")
                    self.channel.changes.release([at])
            time.sleep(0.005)
        self.channel.close()

    def copy(self, partition: TopicPartition, position: int, **more):
        self.has[partition] = self._clusters.positions[partition] = position
        row = PartitionProgress(*partition, position, CopyState.COPYING, **more)
        self.channel.report([asdict(row)])


class World:
    """A driver's loop in a thread, with everything around it in the hands of the test."""

    def __init__(self, folder, clusters, flow=FLOW, **rhythm):
        self.clusters = clusters
        self.tasks = []
        self.folder = folder
        self.state = FlowState(flow, folder, ControlFile(folder))
        self.state.begin(clusters.survey({}))
        self.rhythm = DriverIntervals(**{"refresh_s": 0.1, "reconnect_timeout_s": 60.0, **rhythm})
        self.result = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join(20 * PATIENCE)
        assert not self._thread.is_alive()

    def _run(self):
        self.loop = FlowDriverLoop(
            self.state,
            self.clusters,
            self._start_job,
            partial(DriverChannel, "127.0.0.1"),
            self.rhythm,
        )
        self.result = self.loop.run(self._stop.is_set)

    def _start_job(self, channel, number):
        self.tasks.append(FakeTask(channel, number, self.clusters))
        return self.tasks[-1]

    def owner(self, partition):
        """The living task that has a partition."""
        owners = [t for t in self.tasks if partition in t.has and t.is_running()]
        assert len(owners) <= 1, "two tasks have the same partition"
        return owners[0] if owners else None

    def wait_for_owners(self, *partitions):
        eventually(lambda: all(self.owner(p) for p in partitions))

    def row(self, partition):
        rows = self.state.progress.rows(time.monotonic())
        return next((r for r in rows if (r["topic"], r["partition"]) == partition), None)


@pytest.fixture
def clusters():
    return FakeClusters(t=4)


FOUR = [where(p) for p in range(4)]


def test_every_partition_is_given_to_one_of_the_tasks(tmp_path, clusters):
    with World(tmp_path, clusters) as world:
        world.wait_for_owners(*FOUR)
        assert sorted(len(task.has) for task in world.tasks) == [2, 2]


def test_no_more_tasks_are_started_than_there_are_partitions(tmp_path):
    with World(tmp_path, FakeClusters(t=1)) as world:
        world.wait_for_owners(where(0))
        assert len(world.tasks) == 1


def test_what_a_task_says_is_shown(tmp_path, clusters):
    with World(tmp_path, clusters) as world:
        world.wait_for_owners(*FOUR)
        world.owner(where(0)).copy(where(0), 40, records=40)
        eventually(lambda: world.row(where(0))["records"] == 40)
        assert world.row(where(0))["lag"] == 60


def test_what_a_task_says_of_a_partition_that_is_not_its_own_is_not_believed(tmp_path, clusters):
    with World(tmp_path, clusters) as world:
        world.wait_for_owners(*FOUR)
        other = next(t for t in world.tasks if t is not world.owner(where(0)))
        own = next(iter(other.has))
        other.channel.report([asdict(PartitionProgress(*where(0), 99))])
        other.copy(own, 50)
        eventually(lambda: world.row(own)["position"] == 50)
        assert world.row(where(0))["position"] == 0


def test_a_lost_task_comes_back_alone_at_the_positions_on_the_target(tmp_path, clusters):
    with World(tmp_path, clusters) as world:
        world.wait_for_owners(*FOUR)
        lost, other = world.owner(where(0)), next(t for t in world.tasks if where(0) not in t.has)
        lost.copy(where(0), 30)
        eventually(lambda: world.row(where(0))["position"] == 30)
        lost.die()
        eventually(lambda: world.owner(where(0)) not in (None, lost))
        assert world.owner(where(0)).has[where(0)] == 30
        assert (world.clusters.recovered, other.let_go, other.is_running()) == (
            [lost.number],
            [],
            True,
        )
        assert (world.state.restarts, len(world.state.crashes)) == (1, 1)


def test_a_task_that_does_not_come_back_leaves_its_share_to_the_others(tmp_path, clusters):
    with World(tmp_path, clusters, reconnect_timeout_s=0.0) as world:
        world.wait_for_owners(*FOUR)
        lost, other = world.owner(where(0)), next(t for t in world.tasks if where(0) not in t.has)
        lost.die()
        eventually(lambda: len(other.has) == 4)


def test_while_the_target_is_away_no_task_gets_what_a_lost_task_had(tmp_path, clusters):
    with World(tmp_path, clusters) as world:
        world.wait_for_owners(*FOUR)
        clusters.fault = Unreachable("no answer", cluster="west")
        lost = world.owner(where(0))
        lost.die()
        eventually(lambda: clusters.recovered and not lost.is_running())
        assert world.owner(where(0)) is None
        assert world.row(where(0))["state"] == "retrying"
        clusters.fault = None
        eventually(lambda: world.owner(where(0)) is not None)


def test_positions_that_cannot_be_right_restart_everything(tmp_path, clusters):
    with World(tmp_path, clusters) as world:
        world.wait_for_owners(*FOUR)
        clusters.fault = PositionsBehind("behind")
        world.owner(where(0)).die()
        eventually(lambda: world.result is not None)
    assert world.result == "behind"


def test_a_partition_that_failed_does_not_fail_again_in_the_next_task(tmp_path, clusters):
    with World(tmp_path, clusters) as world:
        world.wait_for_owners(*FOUR)
        lost = world.owner(where(0))
        row = PartitionProgress(*where(0), 5, CopyState.FAILED, "too large")
        lost.channel.report([asdict(row)])
        eventually(lambda: world.row(where(0))["state"] == "failed")
        others = set(lost.has) - {where(0)}
        lost.die()
        eventually(lambda: all(world.owner(p) not in (None, lost) for p in others))
        assert world.owner(where(0)) is None
        assert world.row(where(0))["reason"] == "too large"


def test_new_topics_are_taken_on_and_gone_ones_let_go_of_while_the_others_continue(
    tmp_path, clusters
):
    with World(tmp_path, clusters) as world:
        world.wait_for_owners(*FOUR)
        clusters.topics = {"t": 4, "new": 1}
        world.wait_for_owners(where(0, "new"))
        clusters.topics = {"new": 1}
        eventually(lambda: not any(world.owner(p) for p in FOUR))
        eventually(lambda: world.row(where(0))["state"] == "stopped")
        assert world.owner(where(0, "new")).let_go.count(where(0, "new")) == 0


def test_a_topic_that_was_created_again_and_is_accepted_restarts_everything(tmp_path, clusters):
    with World(tmp_path, clusters) as world:
        world.wait_for_owners(*FOUR)
        clusters.ids = {"t": "2"}
        eventually(lambda: world.result is not None)
    assert "re-created" in world.result
    assert (world.state.topic_ids, world.state.recreated) == ({"t": "1"}, {"t"})


def test_people_pause_and_resume(tmp_path, clusters):
    with World(tmp_path, clusters) as world:
        world.wait_for_owners(*FOUR)
        world.owner(where(0)).copy(where(0), 30)
        contract.write_control(tmp_path, {"paused": ["t:0"]})
        eventually(lambda: world.row(where(0))["state"] == "paused")
        assert (world.owner(where(0)), world.row(where(0))["reason"]) == (
            None,
            "Paused by an operator.",
        )
        contract.write_control(tmp_path, {})
        world.wait_for_owners(where(0))
        assert world.owner(where(0)).has[where(0)] == 30


def test_people_restart_what_failed(tmp_path, clusters):
    with World(tmp_path, clusters) as world:
        world.wait_for_owners(*FOUR)
        task = world.owner(where(0))
        task.channel.report([asdict(PartitionProgress(*where(0), 0, CopyState.FAILED, "no"))])
        eventually(lambda: world.row(where(0))["state"] == "failed")
        contract.write_control(tmp_path, {"restart": {"token": "1", "topics": ["t:0"]}})
        eventually(lambda: task.let_go == [where(0)])
        world.wait_for_owners(where(0))
        assert world.row(where(0))["state"] == "starting"


def test_limit_and_priorities_reach_the_tasks(tmp_path, clusters):
    contract.write_control(tmp_path, {"max_bytes_per_s": 10_000, "priorities": {"t": 2}})
    with World(tmp_path, clusters) as world:
        world.wait_for_owners(*FOUR)
        for task in world.tasks:
            eventually(lambda t=task: t.channel.changes.tuning.max_bytes_per_s == 5_000)
            assert task.channel.changes.tuning.priorities == {"t": 2}


def test_a_busy_task_gives_a_partition_to_an_idle_one(tmp_path, clusters):
    balance = Balance(lasting_s=0.2, every_s=1.0, least_bytes_per_s=1000.0)
    with World(tmp_path, clusters, balance=balance) as world:
        world.wait_for_owners(*FOUR)
        busy = world.owner(where(0))
        own = list(busy.has)
        begun = time.monotonic()
        while busy.let_go == [] and time.monotonic() < begun + 20:
            for partition in own:
                if partition in busy.has:
                    size = int((time.monotonic() - begun) * 1_000_000)
                    busy.copy(partition, min(size // 1000, 90), bytes=size)
            time.sleep(0.05)
        (moved,) = busy.let_go
        eventually(lambda: world.owner(moved) not in (None, busy))
        assert world.state.moves == 1


def test_a_run_up_to_fixed_ends_is_over_when_they_are_reached(tmp_path):
    clusters = FakeClusters(t=1)
    world = World(tmp_path, clusters)
    world.state.end_here(clusters.survey({}))
    clusters.records = 500
    with world:
        world.wait_for_owners(where(0))
        world.owner(where(0)).copy(where(0), 100)
        eventually(lambda: not world._thread.is_alive())
    assert (world.result, world.state.is_done) == (None, True)


def test_progress_says_who_does_what(tmp_path, clusters):
    with World(tmp_path, clusters) as world:
        world.wait_for_owners(*FOUR)
        eventually(lambda: [t["state"] for t in _progress(tmp_path)["tasks"]] == ["running"] * 2)
        found = _progress(tmp_path)
        assert [task["partitions"] for task in found["tasks"]] == [2, 2]
        assert {row["task"] for row in found["partitions"]} == {0, 1}


def _progress(folder):
    return contract.read_json(folder / contract.PROGRESS)


class TestChangedSettings:
    def test_the_next_survey_is_by_the_changed_settings_and_no_task_is_restarted(
        self, tmp_path, clusters
    ):
        with World(tmp_path, clusters, refresh_s=60.0) as world:
            world.wait_for_owners(*FOUR)
            began = []
            world.state.on_settings = lambda: began.append(world.state.flow)
            clusters.topics["u"] = 1
            contract.write_control(tmp_path, {"settings": {"topics": ["t", "u"]}})
            world.wait_for_owners(*FOUR, where(0, "u"))
            assert clusters.flow.topics == ("t", "u")
            assert began == [clusters.flow]
            assert world.state.restarts == 0

    def test_settings_that_are_removed_are_those_of_the_beginning(self, tmp_path, clusters):
        with World(tmp_path, clusters) as world:
            contract.write_control(tmp_path, {"settings": {"max_bytes_per_s": 2048}})
            eventually(lambda: world.state.limit_bytes_per_s() == 2048)
            contract.write_control(tmp_path, {})
            eventually(lambda: world.state.flow == FLOW)

    def test_settings_that_cannot_be_used_change_nothing_and_are_told(self, tmp_path, clusters):
        with World(tmp_path, clusters) as world:
            contract.write_control(tmp_path, {"settings": {"max_bytes_per_s": 1}})
            eventually(lambda: "max_bytes_per_s" in world.state.control.problem)
            assert world.state.flow == FLOW
