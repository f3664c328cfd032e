"""Consumers in groups on real clusters, for tests that move groups from one to the other."""

from __future__ import annotations

import uuid
from contextlib import contextmanager

from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ClientPartition

from jobs.cluster.admin.groups import describe_groups, read_committed_offsets
from jobs.cluster.client import ClusterClient
from tests.waiting import Deadline, eventually

WITHIN_S = 60
# A broker may be stalled for longer than the default.
BUDGET_S = 60


def new_group() -> str:
    return f"g-{uuid.uuid4().hex[:10]}"


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
    with ClusterClient(cluster.connection, timeout_s=BUDGET_S) as client:
        found = read_committed_offsets(client, [group])[group]
    return {str(where): one.offset for where, one in found.items() if one.offset is not None}
