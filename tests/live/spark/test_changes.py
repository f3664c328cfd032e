"""Copiers that take partitions on and let go of them while they run, between two real clusters."""

import os
import threading
from dataclasses import replace

import pytest

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.contract import AssignmentChanges, CopyLimits
from jobs.replication.copy.flow_copier import FlowCopier
from jobs.replication.flow.spec import CopyPath, FlowSpec, Guarantee
from tests.live.copiers import survey
from tests.live.records import Record, produce, read_all, write
from tests.live.spark.runs import Writer, assert_copied
from tests.live.topics import new_topic
from tests.waiting import PATIENCE, eventually

WITHIN_S = 60


class Share:
    """One task's copier in a thread; as a context manager it ends with the block."""

    def __init__(self, flow, slot, starts=()):
        self.rows = {}
        self.released = {}
        self.changes = AssignmentChanges(
            lambda all_: self.released.update({r.where: r for r in all_})
        )
        self.error = None
        self.stop = threading.Event()
        self._copier = FlowCopier(flow, slot, self.stop.is_set, self._report, self.changes)
        self._starts = starts
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self._thread.join(WITHIN_S * PATIENCE)
        assert not self._thread.is_alive()
        assert self.error is None

    def _run(self):
        try:
            self._copier.copy(self._starts)
        except BaseException as error:  # noqa: BLE001  shown by the test's thread
            self.error = error

    def _report(self, rows):
        self.rows |= {TopicPartition(row.topic, row.partition): row for row in rows}

    def position(self, where):
        assert self.error is None, self.error
        return self.rows[where].position if where in self.rows else -1

    def let_go(self, where):
        """Ask for a partition and wait for the answer."""
        self.changes.remove([where])
        eventually(lambda: where in self.released or self.error, WITHIN_S)
        return self.released.pop(where)


def flow_of(east, west, topic, **settings) -> FlowSpec:
    return FlowSpec(f"changes {topic}", east.connection, west.connection, (topic,), **settings)


PATHS = [
    pytest.param({}, id="batches, exactly once"),
    pytest.param({"delivery": Guarantee.AT_LEAST_ONCE}, id="batches, at least once"),
    pytest.param({"path": CopyPath.RECORD}, id="record by record"),
]


@pytest.mark.parametrize("settings", PATHS)
def test_a_partition_moves_back_and_forth_under_load_and_no_record_is_lost_or_doubled(
    east, west, settings
):
    topic = new_topic(east, 2)
    flow = flow_of(east, west, topic, **settings)
    starts = {start.where: start for start in survey(flow).plan.starts}
    moving, staying = TopicPartition(topic, 0), TopicPartition(topic, 1)
    with (
        Share(flow, 0, list(starts.values())) as first,
        Share(flow, 1) as second,
        Writer(east, topic, [0, 1]) as writer,
    ):
        eventually(lambda: first.position(moving) > 0 and first.position(staying) > 0, WITHIN_S)
        start = starts[moving]
        for giver, taker in [(first, second), (second, first)] * 2:
            answer = giver.let_go(moving)
            assert answer.position >= start.position
            start = answer
            taker.changes.add([start])
            eventually(lambda t=taker, a=answer: t.position(moving) > a.position, WITHIN_S)
        writer.__exit__()
        ends = writer.ends
        eventually(lambda: first.position(moving) >= ends[0], WITHIN_S)
        eventually(lambda: first.position(staying) >= ends[1], WITHIN_S)
    assert_copied(writer.written, west, f"east.{topic}")


def test_what_was_let_go_of_is_copied_no_further(east, west):
    topic = new_topic(east, 2)
    flow = flow_of(east, west, topic)
    produce(east, topic, 100)
    paused = TopicPartition(topic, 0)
    with Share(flow, 0, survey(flow).plan.starts) as share:
        eventually(lambda: share.position(paused) == 100, WITHIN_S)
        assert share.let_go(paused).position == 100
        produce(east, topic, 50)
        produce(east, topic, 10, partition=1)
        eventually(lambda: share.position(TopicPartition(topic, 1)) == 10, WITHIN_S)
        assert share.position(paused) == 100
    copied = read_all(west, f"east.{topic}")
    assert sum(record.partition == 0 for record in copied) == 100


def test_a_share_without_partitions_waits_for_some(east, west):
    topic = new_topic(east)
    flow = flow_of(east, west, topic)
    produce(east, topic, 10)
    (start,) = survey(flow).plan.starts
    with Share(flow, 0) as share:
        share.changes.add([start])
        eventually(lambda: share.position(start.where) == 10, WITHIN_S)


def test_a_partition_that_was_just_given_can_be_taken_back_at_once(east, west):
    topic = new_topic(east)
    flow = flow_of(east, west, topic)
    (start,) = survey(flow).plan.starts
    with Share(flow, 0) as share:
        share.changes.add([start])
        assert share.let_go(start.where).position == 0


@pytest.mark.parametrize("path", list(CopyPath))
def test_a_limit_holds_from_the_moment_it_is_set(east, west, path):
    topic = new_topic(east)
    flow = flow_of(east, west, topic, path=path)
    (start,) = survey(flow).plan.starts
    with Share(flow, 0, [start]) as share:
        share.changes.tuning = CopyLimits(max_bytes_per_s=20_000.0)
        eventually(lambda: share.rows, WITHIN_S)
        produce(east, topic, 50_000)
        eventually(lambda: share.rows[start.where].throttled_ms > 0, WITHIN_S)
        assert share.position(start.where) < 50_000
        share.changes.tuning = CopyLimits()
        eventually(lambda: share.position(start.where) == 50_000, WITHIN_S)


def test_when_not_everything_can_be_copied_the_higher_priority_is_first(east, west):
    urgent, other = new_topic(east), new_topic(east)
    flow = replace(flow_of(east, west, urgent), topics=(urgent, other))
    for topic in (urgent, other):
        records = [Record(value=os.urandom(1000)) for _ in range(5000)]
        # A broker answers with one batch at least: large ones would be whole turns.
        write(east, topic, records, **{"batch.size": 16_384})
    starts = survey(flow).plan.starts
    first, second = TopicPartition(urgent, 0), TopicPartition(other, 0)
    share = Share(flow, 0)
    share.changes.tuning = CopyLimits(max_bytes_per_s=250_000.0, priorities={urgent: 3})
    with share:
        share.changes.add(starts)
        # Before the end: from then on the other one has everything to itself.
        eventually(lambda: share.position(first) >= 4000, WITHIN_S)
        assert 0 < share.position(second) < 2000
        share.changes.tuning = CopyLimits()
        for where in (first, second):
            eventually(lambda at=where: share.position(at) == 5000, WITHIN_S)
