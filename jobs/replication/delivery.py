"""The writing half of the record path: records to remote topics, positions behind them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.offsets import read_offset_ranges
from jobs.cluster.records import KafkaError, Message, Producer
from jobs.replication.positions import PositionWriter, Positions

FLUSH_S = 0.5
LARGEST_BATCH_BYTES = 1_000_000
# librdkafka's own ceiling; the target's limit is checked per record, where the offset is known.
LARGEST_RECORD_BYTES = 1_000_000_000


class Delivery:
    """Sends records and knows when all of them are acknowledged.

    `batch_limit_bytes` is the smallest `max.message.bytes` of the remote topics: a batch larger than
    that would be refused although each of its records is small.
    """

    def __init__(self, target: ClusterClient, source_alias: str, batch_limit_bytes: int) -> None:
        self.target = target
        self.failures: list[KafkaError] = []
        self._source_alias = source_alias
        self._batch_bytes = min(batch_limit_bytes, LARGEST_BATCH_BYTES)
        self._producer: Producer | None = None

    def producer(self) -> Producer:
        """Return the producer, made on first use and after `renew`."""
        if self._producer is None:
            self._producer = self.target.producer(
                {
                    "acks": "all",
                    "enable.idempotence": True,
                    "compression.type": "lz4",
                    "linger.ms": 5,
                    "batch.size": self._batch_bytes,
                    "message.max.bytes": LARGEST_RECORD_BYTES,
                    "queue.buffering.max.kbytes": 32_768,
                    "queue.buffering.max.messages": 200_000,
                    # Without this a callback into Python would come for every record.
                    "delivery.report.only.error": True,
                    "on_delivery": self._on_failure,
                    "partitioner": "murmur2_random",
                }
            )
        return self._producer

    def send(self, message: Message, topic: str, partition: int, timestamp_ms: int) -> None:
        """Queue a record with the same content; waits while the queue is full."""
        producer = self.producer()
        while True:
            try:
                producer.produce(
                    topic,
                    value=message.value(),
                    key=message.key(),
                    partition=partition,
                    timestamp=timestamp_ms,
                    headers=message.headers(),
                )
            except BufferError:
                producer.poll(0.1)
                if self.failures:
                    return
            else:
                return

    def settle(self, while_waiting: Callable[[], bool]) -> bool:
        """Wait until all queued records are acknowledged; False when some were not.

        `while_waiting` is called about twice a second and ends the wait by returning False.
        """
        producer = self.producer()
        while producer.flush(FLUSH_S) > 0 and not self.failures:
            if not while_waiting():
                return False
        return not self.failures

    def commit(
        self,
        positions: Mapping[TopicPartition, int],
        places: Mapping[TopicPartition, TopicPartition],
    ) -> None:
        """Queue the positions, each with the end of its remote partition at this moment.

        Call it when everything below the positions is settled. The end tells the next run how many
        records were written after this commit, and so how many it writes twice.
        """
        ends = read_offset_ranges(self.target, list(places.values()), with_timestamps=False)
        writer = PositionWriter(self.producer(), self._source_alias, Positions({}))
        for where, position in positions.items():
            end = ends.get(places[where])
            writer.write(where, position, end.high_watermark if end else None)

    def renew(self) -> None:
        """Give up what is queued and begin with a new producer, after a loss or a fatal error."""
        if self._producer is not None:
            self._producer.purge()
            self._producer.flush(FLUSH_S)
        self._producer = None
        self.failures = []

    def close(self, budget_s: float = 10.0) -> None:
        """Wait a little for what is queued and let go of the producer."""
        if self._producer is not None:
            end = time.monotonic() + budget_s
            while self._producer.flush(FLUSH_S) > 0 and time.monotonic() < end:
                continue
            self._producer.purge()
            self._producer = None

    def _on_failure(self, error: KafkaError, _message: Message) -> None:
        self.failures.append(error)
