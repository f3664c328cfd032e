"""Read a whole topic back, for tests that compare what was copied."""

import time
from typing import Any

from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.records import ClientPartition, is_partition_eof
from tests.waiting import PATIENCE


def read_all(connection, topic: str, timeout_s: float = 30.0) -> list[Any]:
    """Return every committed record, by partition and offset."""
    with ClusterClient(connection, timeout_s=60) as client:
        (described,) = describe_topics(client, [topic])
        waiting = {p.partition for p in described.partitions}
        consumer = client.consumer(
            {
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
            }
        )
        try:
            consumer.assign([ClientPartition(topic, p, 0) for p in waiting])
            found = _read(consumer, waiting, time.monotonic() + timeout_s * PATIENCE)
        finally:
            consumer.close()
    return sorted(found, key=lambda m: (m.partition(), m.offset()))


def _read(consumer, waiting: set[int], end: float) -> list[Any]:
    found = []
    while waiting:
        assert time.monotonic() < end, f"partitions {waiting} were not read to their end"
        for message in consumer.consume(1000, timeout=0.2):
            if is_partition_eof(message.error()):
                waiting.discard(message.partition())
            elif message.error() is None:
                found.append(message)
    return found
