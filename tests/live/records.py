"""Write records to a real cluster and read them back, outside the code under test."""

import threading
import uuid
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, NamedTuple, Self

from confluent_kafka import Consumer, Message, Producer
from confluent_kafka import TopicPartition as ClientPartition

from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.records import is_partition_eof
from tests.waiting import PATIENCE, Deadline

READ_WITHIN_S = 60
_EVERY_S = 0.005


class Record(NamedTuple):
    """A record as a reader sees it; `timestamp_ms` None in a record to be written means "now"."""

    partition: int = 0
    key: bytes | None = None
    value: bytes | None = None
    headers: list[tuple[str, bytes | None]] | None = None
    timestamp_ms: int | None = None


def produce(cluster, topic: str, count: int, partition: int = 0, **settings: Any) -> list[Record]:
    """Write numbered records; return them as a reader sees them, but for the timestamp."""
    first = uuid.uuid4().hex[:8]
    records = [
        Record(partition, b"key-%d" % (n % 50), f"{first}-{n}".encode()) for n in range(count)
    ]
    write(cluster, topic, records, **settings)
    return records


def write(cluster, topic: str, records: Iterable[Record], **settings: Any) -> None:
    """Write records in order; fails when the cluster refuses one."""
    refused: list[Any] = []
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "enable.idempotence": True,
            "linger.ms": 5,
            **settings,
        }
    )
    for record in records:
        _produce(producer, topic, record, refused)
    assert producer.flush(READ_WITHIN_S * PATIENCE) == 0
    assert not refused


def _produce(producer: Producer, topic: str, record: Record, refused: list[Any]) -> None:
    def hear(error: object, _message: object) -> None:
        if error is not None:
            refused.append(error)

    while True:
        try:
            producer.produce(
                topic,
                value=record.value,
                key=record.key,
                partition=record.partition,
                timestamp=record.timestamp_ms or 0,
                headers=record.headers,  # type: ignore[arg-type]
                on_delivery=hear,
            )
        except BufferError:
            producer.poll(0.1)
        else:
            return


def read_all(cluster, topic: str, *, isolation: str = "read_committed") -> list[Record]:
    """Read a topic from its beginning to its end, partition by partition; [] when there is none."""
    return [
        Record(one.partition(), one.key(), one.value(), one.headers(), one.timestamp()[1])
        for one in read_messages(cluster, topic, isolation=isolation)
    ]


def read_messages(cluster, topic: str, *, isolation: str = "read_committed") -> list[Message]:
    """Do the same with the offsets; by partition and offset."""
    with ClusterClient(cluster.connection, timeout_s=60) as client:
        described = describe_topics(client, [topic])[0]
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": f"reader-{uuid.uuid4().hex[:8]}",
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )
    try:
        consumer.assign([ClientPartition(topic, p.partition, 0) for p in described.partitions])
        found = read_to_ends(consumer, {p.partition: 0 for p in described.partitions})
    finally:
        consumer.close()
    return sorted(found, key=lambda one: (one.partition(), one.offset()))


def read_to_ends(
    consumer: Consumer, ends: Mapping[int, int], within_s: float = READ_WITHIN_S
) -> list[Message]:
    """Read assigned partitions (of one topic) until each says that it ends, and not before `ends`."""
    found: list[Message] = []
    waiting = dict(ends)
    deadline = Deadline(within_s)
    while waiting:
        deadline.check(f"partitions {sorted(waiting)} were not read to their ends")
        for message in consumer.consume(2000, timeout=0.2):
            error = message.error()
            if error is None:
                found.append(message)
            elif is_partition_eof(error):
                if message.offset() >= waiting.get(message.partition(), 0):
                    waiting.pop(message.partition(), None)
            else:
                assert error.retriable(), error
    return found


class SteadyProducer:
    """Writes the numbers 0, 1, 2, ... to each partition in turn; `per_s` records of all partitions together.

    A record's value is its offset, as long as nobody else writes to the topic.
    """

    def __init__(self, cluster, topic: str, partitions: int = 1, *, per_s: float = 400) -> None:
        self._topic = topic
        self._partitions = partitions
        self._each = max(1, round(per_s * _EVERY_S / partitions))
        self._pause_s = self._each * partitions / per_s
        self._producer = Producer(
            {"bootstrap.servers": cluster.bootstrap_servers, "enable.idempotence": True}
        )
        self._refused: list[object] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._ends = [0] * partitions

    @property
    def written(self) -> int:
        """The records that every partition has."""
        return min(self._ends)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _at: TracebackType | None,
    ) -> None:
        self.stop()
        assert kind is not None or not self._refused

    def stop(self) -> None:
        """Write no more, and wait until everything is written."""
        self._over.set()
        self._thread.join()
        assert self._producer.flush(60) == 0

    def _work(self) -> None:
        number = 0
        while not self._over.wait(self._pause_s):
            for _ in range(self._each):
                for partition in range(self._partitions):
                    self._producer.produce(
                        self._topic, b"%d" % number, partition=partition, on_delivery=self._hear
                    )
                number += 1
            self._producer.poll(0)

    def _hear(self, error: object, message: Message) -> None:
        if error is not None:
            self._refused.append(error)
        else:
            self._ends[message.partition() or 0] = (message.offset() or 0) + 1
