"""Checkpoints of a running flow whose source is written without a pause: each true, and none before its last.

`make campaign soak` watches it for twenty minutes, which make tens of thousands of checkpoints.
"""

import json
import logging
import threading
from dataclasses import asdict

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ClientPartition

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.checkpoints.thread import CheckpointThread
from jobs.replication.failover.kafka import read_translator
from jobs.replication.flow.internal_topics import syncs_place
from tests.campaigns import seconds_of_campaign
from tests.live.copied_records import examine_checkpoints
from tests.live.copiers import BatchCopying, flow_between
from tests.live.groups import new_group
from tests.live.records import SteadyProducer
from tests.live.topics import new_topic
from tests.waiting import Stalls, eventually, stays

logger = logging.getLogger(__name__)

PARTITIONS, RECORDS_PER_S, COMMIT_S, ROUND_S = 6, 400, 0.7, 2
WATCHED_S = seconds_of_campaign(16)
pytestmark = pytest.mark.timeout(900 + WATCHED_S)
# So many records behind the writer are the groups, in each partition.
BEHIND = (0, 3, 40, 400)


class Groups:
    """Groups that follow a writer and commit each `COMMIT_S`, while the block runs."""

    def __init__(self, cluster, topic: str, prefix: str, writer: SteadyProducer) -> None:
        self._topic = topic
        self._writer = writer
        self._behind = {f"{prefix}-{behind}": behind for behind in BEHIND}
        self._consumers = {
            group: Consumer(
                {
                    "bootstrap.servers": cluster.bootstrap_servers,
                    "group.id": group,
                    "enable.auto.commit": False,
                }
            )
            for group in self._behind
        }
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self.names = frozenset(self._behind)

    def __enter__(self) -> "Groups":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        for consumer in self._consumers.values():
            consumer.close()

    def _work(self) -> None:
        while not self._over.wait(COMMIT_S):
            for group, consumer in self._consumers.items():
                place = max(self._writer.written - self._behind[group], 0)
                offsets = [ClientPartition(self._topic, p, place) for p in range(PARTITIONS)]
                consumer.commit(offsets=offsets, asynchronous=False)


def test_checkpoints_of_a_topic_that_is_written_without_a_pause_are_true_and_never_fall(east, west):
    topic, prefix = new_topic(east, PARTITIONS), new_group("on")
    flow = flow_between(
        east, west, topic, groups=(f"{prefix}-.*",), emit_checkpoints_interval_s=ROUND_S
    )
    rounds: set[int] = set()
    with SteadyProducer(east, topic, PARTITIONS, per_s=RECORDS_PER_S) as writer:
        eventually(lambda: writer.written > 10)
        with BatchCopying(flow) as copying:
            eventually(lambda: copying.rows, 60)
            with Groups(east, topic, prefix, writer) as groups, CheckpointThread(flow) as thread:
                watch(thread, rounds)
            writer.stop()
            copying.wait_for_positions(dict.fromkeys(range(PARTITIONS), writer.written), 120)
    syncs_topic, _ = syncs_place(flow)
    figures = examine_checkpoints(
        west, (f"east.{topic}", syncs_topic, "east.checkpoints.internal"), groups.names
    )
    told = {**asdict(figures), "rounds": len(rounds), "seconds": WATCHED_S}
    logger.info("%s", json.dumps(told))
    assert figures.wrong == {}, told
    # Rounds that take longer than the pause between them would be fewer.
    assert len(rounds) >= WATCHED_S / ROUND_S / 2, rounds
    assert figures.checkpoints >= len(rounds) * PARTITIONS, told


def test_the_offset_syncs_for_a_plan_are_read_soon_while_more_of_them_are_written(east, west):
    topic = new_topic(east, PARTITIONS)
    flow = flow_between(east, west, topic)
    times = []
    with (
        SteadyProducer(east, topic, PARTITIONS, per_s=RECORDS_PER_S),
        BatchCopying(flow) as copying,
    ):
        copying.wait_for_positions(dict.fromkeys(range(PARTITIONS), 200))
        for _ in range(5):
            with Stalls() as stalls:
                translator = read_translator(flow)
            times.append(stalls.took_s)
            found = translator.translate(TopicPartition(topic, 0), 100)
            assert found is not None
            assert found.lo > 0
    assert sorted(times)[2] < 3, times


def watch(thread: CheckpointThread, rounds: set[int]) -> None:
    """Note the rounds for `WATCHED_S` after the first one that told something."""

    def is_well() -> bool:
        report = thread.to_mapping() or {}
        assert not report.get("fault"), report
        if report.get("told"):
            rounds.add(report["at_ms"])
        return True

    eventually(lambda: is_well() and rounds, 60)
    stays(is_well, WATCHED_S)
