"""The consumer groups of the lab's traffic: some keep up, one falls behind and recovers, one is idle."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace

from jobs.cluster.client import ClusterClient
from jobs.cluster.records import Consumer, KafkaException, error_in

_POLL_S = 0.2
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class ShopGroup:
    """A group: commits every `commit_every_s`; of every `cycle_s` it rests the last `rest_s`."""

    group_id: str
    topic: str
    members: int = 1
    commit_every_s: float = 1.0
    cycle_s: float = 1.0
    rest_s: float = 0.0
    is_read_committed: bool = False
    # Kafka's group.protocol: "consumer" is the one of KIP-848.
    protocol: str = "classic"

    def rests(self, elapsed_s: float) -> bool:
        """Return whether the group rests this long after its start."""
        return elapsed_s % self.cycle_s >= self.cycle_s - self.rest_s


GROUPS = (
    ShopGroup("billing", "payments", is_read_committed=True),
    ShopGroup("shipping", "orders", members=2, commit_every_s=5.0),
    ShopGroup("inventory", "orders", members=2, commit_every_s=5.0, protocol="consumer"),
    ShopGroup("analytics", "clicks", commit_every_s=2.0, cycle_s=90.0, rest_s=60.0),
)
IDLE_GROUP = ShopGroup("monthly-report", "orders")


def prefixed(group: ShopGroup, prefix: str) -> ShopGroup:
    """Return the same group of another shop."""
    return replace(group, group_id=f"{prefix}{group.group_id}", topic=f"{prefix}{group.topic}")


def read_as_member(
    client: ClusterClient, group: ShopGroup, name: str, is_over: threading.Event
) -> None:
    """Read and commit as one member of a group until the end, then commit and leave."""
    consumer = _consumer(client, group, name)
    began = committed_at = time.monotonic()
    try:
        while not is_over.is_set():
            now = time.monotonic()
            # A resting member keeps polling: its place in the group is not lost, only lag grows.
            if group.rests(now - began):
                consumer.pause(consumer.assignment())
            else:
                consumer.resume(consumer.assignment())
            consumer.consume(_AT_ONCE, _POLL_S)
            if now - committed_at >= group.commit_every_s:
                committed_at = now
                _commit(consumer)
        _commit(consumer)
    finally:
        consumer.close()


def leave_idle_group(client: ClusterClient, group: ShopGroup, is_over: threading.Event) -> None:
    """Read once, commit and leave: a group that stopped long ago and whose lag only grows."""
    consumer = _consumer(client, group, f"{group.group_id}-1")
    try:
        while not is_over.is_set():
            # Not what only tells of an error, as for a topic that the broker does not know yet.
            if any(one.error() is None for one in consumer.consume(_AT_ONCE, _POLL_S)):
                _commit(consumer)
                return
    finally:
        consumer.close()


def _consumer(client: ClusterClient, group: ShopGroup, name: str) -> Consumer:
    # By the protocol of KIP-848 the group coordinator sets the time of a session.
    is_classic = group.protocol == "classic"
    session = {"session.timeout.ms": 10_000} if is_classic else {"group.protocol": group.protocol}
    consumer = client.consumer(
        {
            "group.id": group.group_id,
            "client.id": name,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed" if group.is_read_committed else "read_uncommitted",
            **session,
        }
    )
    consumer.subscribe([group.topic])
    return consumer


def _commit(consumer: Consumer) -> None:
    """Commit what was read; a member that read nothing yet has nothing to commit."""
    try:
        consumer.commit(asynchronous=False)
    except KafkaException as error:
        if error_in(error).name() != "_NO_OFFSET":
            raise
