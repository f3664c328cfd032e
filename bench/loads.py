"""What the benchmarks copy: records of one kind on a topic of their own."""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from confluent_kafka import TopicPartition as ClientPartition

from jobs.cluster.admin.configs import ConfigAlteration, alter_topic_configs
from jobs.cluster.admin.topics import NewTopicSpec, create_topics
from jobs.cluster.client import ClusterClient
from jobs.lab.cluster import Cluster

PARTITIONS = 4
KEY_BYTES = 8
VALUES = 500
# Twice the cleaner's own pause between two looks.
CLEANER_RESTS_S = 30.0


@dataclass(frozen=True)
class Load:
    """Records to copy; `size` is key + value in bytes, `per_batch` how many go into a source batch.

    `keys`: how many keys there are, drawn at random, on a compacted topic; None: every record has its own.
    """

    topic: str
    records: int
    size: int
    compression: str = "none"
    per_batch: int = 10_000
    headers: int = 0
    configs: dict[str, str] = field(default_factory=dict)
    keys: int | None = None

    def values(self) -> list[bytes]:
        """Random values; where they are compressed, half of each is text that repeats."""
        draw = random.Random(self.size)
        size = self.size - KEY_BYTES
        values = [draw.randbytes(size) for _ in range(VALUES)]
        if self.compression == "none":
            return values
        text = b'{"order":"2026-01-01T00:00:00Z","amount":12.50,"currency":"EUR","lines":[' * 20
        return [value[: size // 2] + text[: size - size // 2] for value in values]

    def numbers(self) -> Iterator[int]:
        """Yield the key of each record as a number."""
        draw = random.Random(self.keys)
        keys = self.keys
        return (draw.randrange(keys) if keys else number for number in range(self.records))


def fill(cluster: Cluster, load: Load) -> int:
    """Write the records of a load to a new topic; returns how many are there after compaction."""
    with ClusterClient(cluster.connection) as client:
        spec = NewTopicSpec(PARTITIONS, 1, dict(load.configs))
        create_topics(client, {load.topic: spec})
        producer = client.producer(
            {
                "linger.ms": 20,
                "batch.num.messages": load.per_batch,
                "queue.buffering.max.messages": 1_000_000,
                "compression.type": load.compression,
            }
        )
        values = load.values()
        headers = [(f"header-{n}", b"value of a header") for n in range(load.headers)] or None
        for number, key in enumerate(load.numbers()):
            while True:
                try:
                    producer.produce(
                        load.topic,
                        values[number % VALUES],
                        key.to_bytes(KEY_BYTES, "big"),
                        key % PARTITIONS,
                        headers=headers,
                    )
                    break
                except BufferError:
                    producer.poll(0.1)
            if number % 1000 == 0:
                producer.poll(0)
        producer.flush()
        return load.records if load.keys is None else count_when_compacted(client, load.topic)


def count_when_compacted(client: ClusterClient, topic: str) -> int:
    """Wait until the log cleaner has nothing left to do, end its work, and count what is left."""
    before, left = -1, count(client, topic)
    while left != before:
        time.sleep(CLEANER_RESTS_S)
        before, left = left, count(client, topic)
    alter_topic_configs(client, {topic: [ConfigAlteration("min.compaction.lag.ms", str(2**62))]})
    return count(client, topic)


def count(client: ClusterClient, topic: str) -> int:
    """Read a topic to its end and count its records."""
    places = [ClientPartition(topic, number, 0) for number in range(PARTITIONS)]
    consumer = client.consumer({"group.id": "count", "enable.partition.eof": True})
    consumer.assign(places)
    found, ended = 0, 0
    while ended < PARTITIONS:
        for message in consumer.consume(10_000, timeout=1.0):
            ended += message.error() is not None
            found += message.error() is None
    consumer.close()
    return found
