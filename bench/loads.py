"""What the benchmarks copy: records of one kind on a topic of their own."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from jobs.cluster.client import ClusterClient
from jobs.cluster.topics import NewTopicSpec, create_topics
from jobs.lab.cluster import Cluster

PARTITIONS = 4
KEY_BYTES = 8
VALUES = 500
SEGMENT_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Load:
    """Records to copy; `size` is key + value in bytes, `per_batch` how many go into a source batch."""

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

    def keyed(self) -> Iterator[bytes]:
        for number in range(self.records):
            yield (number % (self.keys or self.records)).to_bytes(KEY_BYTES, "big")


def fill(cluster: Cluster, load: Load) -> None:
    """Write the records of a load to a new topic."""
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
        for number, key in enumerate(load.keyed()):
            while True:
                try:
                    producer.produce(
                        load.topic,
                        values[number % VALUES],
                        key,
                        number % PARTITIONS,
                        headers=headers,
                    )
                    break
                except BufferError:
                    producer.poll(0.1)
            if number % 1000 == 0:
                producer.poll(0)
        producer.flush()
