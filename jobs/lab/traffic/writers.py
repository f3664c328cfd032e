"""Traffic on a cluster of the lab: writers and consumer groups that run until they are stopped."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import FrameType, TracebackType
from typing import Any, Self

from jobs.cluster.admin.topics import create_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault
from jobs.cluster.librdkafka_errors import error_in
from jobs.cluster.records import Consumer, KafkaException, Message, Producer
from jobs.lab.errors import LabError
from jobs.lab.traffic import fulfilment
from jobs.lab.traffic.services import run_services
from jobs.lab.traffic.shop import SHARES, TOPICS, Shop

logger = logging.getLogger(__name__)

_TICK_S = 0.1
_TRANSACTION_S = 1.0
_ABORT_EVERY = 5  # every fifth transaction is aborted
_AGAIN_S = 1.0
_JOIN_S = 15.0


class Traffic:
    """Writes the shop's records at `rate` per second in all and reads them in several groups.

    `prefix` is before the names of all topics and groups, so that several shops fit on one cluster. The shop
    without a prefix also has an order flow (`services`).
    `written` counts acknowledged records by topic, `aborted` how many of them were in aborted
    transactions.
    """

    def __init__(
        self, connection: Connection, *, rate: float = 200.0, seed: int = 1, prefix: str = ""
    ) -> None:
        self.client = ClusterClient(connection)
        self.rate = rate
        self.prefix = prefix
        self.seed = seed
        self.shop = Shop(seed)
        self.written: Counter[str] = Counter()
        self.aborted = 0
        self._is_over = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Create the topics and begin; raises `LabError` when the topics cannot be made."""
        topics = {f"{self.prefix}{topic}": spec for topic, spec in TOPICS.items()}
        if not self.prefix:
            topics |= fulfilment.TOPICS
        for topic, fault in create_topics(self.client, topics).items():
            if fault is not None:
                raise LabError(f"{topic} cannot be created: {fault}")
        idle = prefixed(IDLE_GROUP, self.prefix)
        self._start("idle group", lambda: leave_idle_group(self.client, idle, self._is_over))
        self._start("orders", lambda: self._write(("orders", "customers"), {}))
        self._start("clicks", lambda: self._write(("clicks",), {"compression.type": "lz4"}))
        self._start("payments", self._write_transactions)
        if not self.prefix:
            self._start("fulfilment", lambda: run_services(self.client, self.seed, self._is_over))
        for group in (prefixed(one, self.prefix) for one in GROUPS):
            for member in range(1, group.members + 1):
                name = f"{group.group_id}-{member}"
                work = partial(read_as_member, self.client, group, name, self._is_over)
                self._start(name, work)

    def stop(self) -> None:
        """End all writers and groups; groups commit and leave."""
        self._is_over.set()
        for thread in self._threads:
            thread.join(_JOIN_S)
        self.client.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.stop()

    def _start(self, name: str, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=self._keep_on, args=(work,), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _keep_on(self, work: Callable[[], None]) -> None:
        """Do the work until the end; after a fault of the cluster restart with new clients."""
        while not self._is_over.is_set():
            try:
                work()
            except (KafkaException, ClusterFault) as error:
                logger.warning(
                    "traffic restarts part=%s %s", threading.current_thread().name, error
                )
                self._is_over.wait(_AGAIN_S)
            else:
                return

    def _write(self, topics: Sequence[str], overrides: dict[str, Any]) -> None:
        """Write at an even pace; what a down cluster does not take in time is not caught up."""
        producer = self.client.producer({"enable.idempotence": True, "linger.ms": 20, **overrides})
        due = dict.fromkeys(topics, 0.0)
        last = time.monotonic()
        while not self._is_over.wait(_TICK_S):
            now = time.monotonic()
            for topic in topics:
                due[topic] += self.rate * SHARES[topic] * (now - last)
                self._produce(producer, topic, int(due[topic]))
                due[topic] %= 1
            last = now
        producer.flush(_JOIN_S)

    def _write_transactions(self) -> None:
        """Write payments: a transaction a second, every fifth is aborted."""
        settings = {
            "transactional.id": f"lab-{self.prefix}payments",
            "transaction.timeout.ms": 20_000,
        }
        producer = self.client.producer(settings)
        producer.init_transactions(30)
        number = 0
        while not self._is_over.is_set():
            number += 1
            producer.begin_transaction()
            wanted = max(1, round(self.rate * SHARES["payments"] * _TRANSACTION_S))
            self._produce(producer, "payments", wanted)
            self._is_over.wait(_TRANSACTION_S)
            if number % _ABORT_EVERY:
                producer.commit_transaction(30)
            else:
                producer.flush(_JOIN_S)  # without it the records would never reach the log
                producer.abort_transaction(30)
                self.aborted += wanted

    def _produce(self, producer: Producer, topic: str, count: int) -> None:
        for _ in range(count):
            record = self.shop.next(topic)
            try:
                producer.produce(
                    f"{self.prefix}{topic}",
                    record.value,
                    record.key,
                    headers=record.headers,
                    on_delivery=self._count,
                )
            except (
                BufferError
            ):  # the cluster is down and the queue is full: lose it, as a sensor would
                logger.debug("record dropped topic=%s", topic)
        producer.poll(0)

    def _count(self, error: object, message: Message) -> None:
        if error is None:
            self.written[str(message.topic())] += 1


def run_until_stopped(
    connection: Connection, *, rate: float, seed: int, prefix: str, say: Callable[[str], None]
) -> dict[str, Any]:
    """Run the traffic in this process until SIGTERM or Ctrl-C; returns what was written."""
    is_over = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        is_over.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    with Traffic(connection, rate=rate, seed=seed, prefix=prefix) as traffic:
        say(f"traffic on {connection.alias}: about {rate:g} records/s, Ctrl-C ends it")
        is_over.wait()
    return {"written": dict(traffic.written), "aborted": traffic.aborted}


# The consumer groups of the lab's traffic: some keep up, one falls behind and recovers, one is idle.

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
