"""Write records to a real cluster and read them back, outside the code under test."""

import uuid
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from confluent_kafka import Consumer, Message, Producer
from confluent_kafka import TopicPartition as ClientPartition

from jobs.cluster.admin.topics import NewTopicSpec, create_topics, describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.records import is_partition_eof
from tests.live.knowing import wait_until_known
from tests.waiting import PATIENCE, Deadline, eventually

READ_WITHIN_S = 60


class Record(NamedTuple):
    """A record as a reader sees it; `timestamp_ms` None in a record to be written means "now"."""

    partition: int = 0
    key: bytes | None = None
    value: bytes | None = None
    headers: list[tuple[str, bytes | None]] | None = None
    timestamp_ms: int | None = None


def new_topic(cluster, partitions: int = 1, **configs: str) -> str:
    """Create a topic with a name of its own; setting names have `_` for `.`."""
    name = f"t-{uuid.uuid4().hex[:10]}"
    make_topic(cluster, name, partitions, **configs)
    return name


def make_topic(cluster, name: str, partitions: int = 1, **configs: str) -> None:
    """Create a topic and wait until every broker knows its leaders."""
    settings = {key.replace("_", "."): value for key, value in configs.items()}
    with ClusterClient(cluster.connection, timeout_s=60) as client:

        def is_made() -> bool:
            fault = create_topics(client, {name: NewTopicSpec(partitions, None, settings)})[name]
            # A broker that a busy machine held back for its session is fenced, and back in a moment.
            assert fault is None or fault.retriable or "INVALID_REPLICATION_FACTOR" in fault.message
            return fault is None

        eventually(is_made, 30, every=0.5)
    wait_until_known(cluster.connection, name, partitions)


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
        found = read_to_ends(
            consumer, dict.fromkeys((p.partition for p in described.partitions), 0)
        )
        return sorted(map(_record, found), key=lambda record: record.partition)
    finally:
        consumer.close()


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


def _record(message: Message) -> Record:
    return Record(
        message.partition(),
        message.key(),
        message.value(),
        message.headers(),
        message.timestamp()[1],
    )
