"""Groups of a source, rounds of checkpoints, and what a consumer that goes over reads."""

import time
import uuid

from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ClientPartition

from jobs.cluster.admin.groups import alter_group_offsets, read_committed_offsets
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.replication.checkpoints.door import KafkaCheckpointDoor
from jobs.replication.checkpoints.rounds import CheckpointReport, CheckpointRounds
from jobs.replication.flow.spec import FlowSpec
from tests.waiting import Deadline

# A broker may be stalled for longer than the default.
BUDGET_S = 60


def group_name(prefix: str = "g") -> str:
    return f"{prefix}-{uuid.uuid4().hex[:8]}"


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
        self._door = KafkaCheckpointDoor(flow, self._source, self._target)
        self._rounds = CheckpointRounds(flow, self._door)

    def __enter__(self) -> "Rounds":
        return self

    def __exit__(self, *_: object) -> None:
        self._door.close()
        self._source.close()
        self._target.close()

    def run(self, *, sync_groups: bool = True) -> CheckpointReport:
        return self._rounds.run(time.time_ns() // 1_000_000, sync_groups=sync_groups)


def values_from(cluster, where: TopicPartition, offset: int, count: int) -> list[bytes]:
    """Return the next committed values of a partition, as a consumer that goes on there reads them."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": group_name("reader"),
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
