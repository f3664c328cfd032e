"""Read a whole topic back, for tests that compare what was copied."""

from typing import Any

from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.records import ClientPartition
from tests.live.records import read_to_ends


def read_all(connection, topic: str, within_s: float = 30.0) -> list[Any]:
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
            found = read_to_ends(consumer, dict.fromkeys(waiting, 0), within_s)
        finally:
            consumer.close()
    return sorted(found, key=lambda m: (m.partition(), m.offset()))
