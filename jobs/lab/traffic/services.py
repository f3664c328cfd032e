"""The services of the shop's order flow: one thread makes slips and does the steps of all of them."""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Sequence

from jobs.cluster.admin.groups import alter_group_offsets, read_committed_offsets
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.records import (
    ClientPartition,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
)
from jobs.lab.traffic.fulfilment import (
    DEAD_SERVICE,
    DWELL_S,
    FIRST_STEP,
    TOPICS,
    dwell_s,
    event_records,
    first_record,
    group_of,
    next_record,
    topic_of,
)
from jobs.lab.traffic.shop import ShopRecord

SLIPS_PER_S = 2.0
_TICK_S = 0.02
_AT_ONCE = 50
_WAIT_S = 5.0


def run_services(client: ClusterClient, seed: int, is_over: threading.Event) -> None:
    """Make slips and do their steps until the end; slips that wait then are read by the next run.

    Orders are numbered on from those on the cluster. Raises `KafkaException` and `ClusterFault` when the
    cluster does not answer or takes no record; nothing is committed then that was not written.
    """
    leave_unread(client, is_over)
    producer = client.producer({"enable.idempotence": True})
    services = [_Service(client, step, seed) for step in DWELL_S]
    try:
        number, next_at = _written_slips(services[0].consumer), 0.0
        while not is_over.wait(_TICK_S):
            now = time.monotonic()
            if now >= next_at:
                number, next_at = number + 1, now + 1 / SLIPS_PER_S
                events = event_records(seed, number, time.time_ns() // 1_000_000)
                _produce(producer, [*events, first_record(seed, number)])
            for service in services:
                service.read(now)
                _produce(producer, service.finish(now))
            if producer.flush(_WAIT_S) == 0:
                for service in services:
                    service.commit()
    finally:
        for service in services:
            service.consumer.close()


def leave_unread(client: ClusterClient, is_over: threading.Event) -> None:
    """Commit the first offsets for the group of the dead service, if it has none."""
    topic, group_id = topic_of(DEAD_SERVICE), group_of(DEAD_SERVICE)
    first = {
        TopicPartition(topic, number): CommittedOffset(0)
        for number in range(TOPICS[topic].partitions)
    }
    # The broker of the group may not know a new topic yet, and refuses.
    while not is_over.is_set():
        found = read_committed_offsets(client, [group_id]).get(group_id, {})
        missing = {where: offset for where, offset in first.items() if where not in found}
        if not missing:
            return
        alter_group_offsets(client, group_id, missing)
        is_over.wait(_TICK_S)


class _Service:
    """A service does one step of slips in the order of reading; commits only what it finished."""

    def __init__(self, client: ClusterClient, step: str, seed: int) -> None:
        self.step = step
        self.consumer = client.consumer(
            {
                "group.id": group_of(step),
                "client.id": f"{group_of(step)}-1",
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 10_000,
            }
        )
        self.consumer.subscribe([topic_of(step)])
        self._random = random.Random(f"{seed}:{step}")  # noqa: S311  no secrets
        # What was read: when it is finished, the record, its partition and offset.
        self._waiting: deque[tuple[float, ShopRecord, int, int]] = deque()
        self._finished: dict[int, int] = {}

    def read(self, now: float) -> None:
        for message in self.consumer.consume(_AT_ONCE, 0):
            # Not what only tells of an error, as for a topic that the broker does not know yet.
            if message.error() is None:
                due = now + dwell_s(self.step, self._random)
                headers = message.headers() or []
                assert isinstance(headers, list)  # noqa: S101  the library makes no other
                record = ShopRecord(topic_of(self.step), message.key(), message.value(), headers)
                place = message.partition() or 0, message.offset() or 0
                self._waiting.append((due, record, *place))

    def finish(self, now: float) -> list[ShopRecord]:
        """Return what is to be written for the slips that are due."""
        written = []
        while self._waiting and self._waiting[0][0] <= now:
            _, record, partition, offset = self._waiting.popleft()
            written.append(next_record(record, partition, offset))
            self._finished[partition] = offset + 1
        return [record for record in written if record is not None]

    def commit(self) -> None:
        """Commit what was finished; all of it must be acknowledged by now."""
        if self._finished:
            topic = topic_of(self.step)
            offsets = [ClientPartition(topic, *place) for place in self._finished.items()]
            self.consumer.commit(offsets=offsets, asynchronous=False)
            self._finished.clear()


def _written_slips(consumer: Consumer) -> int:
    """Return how many slips were ever written: each begins with one record in the first topic."""
    topic = topic_of(FIRST_STEP)
    partitions = [ClientPartition(topic, number) for number in range(TOPICS[topic].partitions)]
    ends = (consumer.get_watermark_offsets(one, _WAIT_S) for one in partitions)
    return sum(found[1] for found in ends if found)


def _produce(producer: Producer, records: Sequence[ShopRecord]) -> None:
    for record in records:
        producer.produce(
            record.topic, record.value, record.key, headers=record.headers, on_delivery=_check
        )


def _check(error: KafkaError | None, message: Message) -> None:
    """End the run when a record was not written: it is read again."""
    if error is not None:
        raise KafkaException(error)
