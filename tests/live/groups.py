"""Consumer groups of real clusters: their members, their committed offsets, and rounds of checkpoints."""

from __future__ import annotations

import time
import uuid
from contextlib import contextmanager

from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ClientPartition

from jobs.cluster.admin.groups import alter_group_offsets, describe_groups, read_committed_offsets
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.replication.checkpoints.clusters import FlowClusters
from jobs.replication.checkpoints.rounds import CheckpointReport, CheckpointRounds
from jobs.replication.flow.spec import FlowSpec
from tests.waiting import Deadline, eventually

WITHIN_S = 60
# A broker may be stalled for longer than the default.
BUDGET_S = 60


def new_group(prefix: str = "g") -> str:
    return f"{prefix}-{uuid.uuid4().hex[:10]}"


@contextmanager
def consuming(cluster, group: str, topic: str):
    """Yield a consumer that is a member of the group until the block ends."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    consumer.subscribe([topic])
    try:
        yield consumer
    finally:
        consumer.close()


def consume(cluster, group: str, topic: str, count: int | None = None) -> list[bytes]:
    """Read as a group and commit: so many records, or all up to the end; return their values."""
    found: list[bytes] = []
    ended: set[tuple[str, int]] = set()
    with consuming(cluster, group, topic) as consumer:
        deadline = Deadline(WITHIN_S)
        while count is None or len(found) < count:
            deadline.check(f"{group} read {len(found)} records of {topic}")
            left = 500 if count is None else min(500, count - len(found))
            heard = consumer.consume(left, timeout=0.5)
            messages = [m for m in heard if m.error() is None]
            found += [m.value() for m in messages]
            if messages:
                consumer.commit(offsets=_behind(messages), asynchronous=False)
            ended |= {(m.topic(), m.partition()) for m in heard if _is_an_end(m)}
            mine = {(one.topic, one.partition) for one in consumer.assignment()}
            if count is None and mine and mine <= ended:
                break
    wait_until_inactive(cluster, group)
    return found


def _is_an_end(message) -> bool:
    return message.error() is not None and message.error().name() == "_PARTITION_EOF"


def _behind(messages) -> list[ClientPartition]:
    ends: dict[tuple[str, int], int] = {}
    for one in messages:
        ends[one.topic(), one.partition()] = one.offset() + 1
    return [ClientPartition(topic, partition, end) for (topic, partition), end in ends.items()]


def wait_until_inactive(cluster, group: str) -> None:
    with ClusterClient(cluster.connection, timeout_s=BUDGET_S) as client:
        # Without an answer the number of members is None.
        eventually(lambda: describe_groups(client, [group])[group].member_count == 0, WITHIN_S)


def committed(cluster, group: str) -> dict[str, int]:
    """Return the committed offsets of a group, by topic and partition."""
    found = offsets_of(cluster, group)
    return {str(where): offset for where, offset in found.items() if offset is not None}


def commit(cluster, group: str, offsets: dict[TopicPartition, int]) -> None:
    """Put a group without members where it is said to be."""
    wanted = {where: CommittedOffset(offset) for where, offset in offsets.items()}
    with ClusterClient(cluster.connection, timeout_s=BUDGET_S) as client:
        assert alter_group_offsets(client, group, wanted) == dict.fromkeys(wanted)


def offsets_of(cluster, group: str) -> dict[TopicPartition, int | None]:
    with ClusterClient(cluster.connection, timeout_s=BUDGET_S) as client:
        found = read_committed_offsets(client, [group])[group]
    return {where: committed.offset for where, committed in found.items()}


class Rounds:
    """The rounds of one driver."""

    def __init__(self, flow: FlowSpec) -> None:
        self._source = ClusterClient(flow.source, timeout_s=BUDGET_S)
        self._target = ClusterClient(flow.target, timeout_s=BUDGET_S)
        clusters = FlowClusters(flow, self._source, self._target)
        self._rounds = CheckpointRounds(flow, clusters)

    def __enter__(self) -> Rounds:
        return self

    def __exit__(self, *_: object) -> None:
        self._source.close()
        self._target.close()

    def run(self, *, sync_groups: bool = True) -> CheckpointReport:
        return self._rounds.run(time.time_ns() // 1_000_000, sync_groups=sync_groups)


def values_from(cluster, where: TopicPartition, offset: int, count: int) -> list[bytes]:
    """Return the next committed values of a partition, as a consumer that goes on there reads them."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": new_group("reader"),
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
        }
    )
    found: list[bytes] = []
    try:
        consumer.assign([ClientPartition(*where, offset)])
        deadline = Deadline(30)
        while len(found) < count:
            deadline.check(f"{len(found)} of {count} records came")
            message = consumer.poll(0.2)
            if message is not None:
                assert message.error() is None, message.error()
                found.append(message.value())
        return found
    finally:
        consumer.close()
