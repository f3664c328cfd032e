"""The writing half of the record path: a producer that loses nothing without saying so."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.records import (
    Headers,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    is_aftermath,
    refusal_in,
)

FLUSH_S = 0.5
PURGE_S = 2.0
PURGE_POLL_INTERVAL_S = 0.1
LARGEST_BATCH_BYTES = 1_000_000
# librdkafka's own ceiling; the target's limit is checked per record, where the offset is known.
LARGEST_RECORD_BYTES = 1_000_000_000
SMALLEST_BUFFER_BYTES = 32 * 1024 * 1024


class NotDelivered(Exception):
    """Something queued is not on the target, or that is not known: resume at the committed positions.

    `refusals` are the target's words per remote partition; empty when the producer itself gave up.
    """

    def __init__(self, reason: str, refusals: dict[TopicPartition, KafkaError]) -> None:
        super().__init__(reason)
        self.reason = reason
        self.refusals = refusals


class RecordDoesNotFit(Exception):
    """One record is larger than the whole buffer of the producer."""


class GaveUp(Exception):
    """The wait for the target was ended from outside."""


class Delivery:
    """Sends records in order and knows when all of them are acknowledged.

    `limit_bytes` are the smallest and the largest `max.message.bytes` of the remote topics. `wait`
    is called about twice a second while something is waited for; it ends the wait by returning
    False. `held_back` is called with the seconds for which a broker throttles the client (KIP-219).
    Invariant: after a refusal nothing more is written to any partition by this producer.
    """

    def __init__(
        self,
        target: ClusterClient,
        limit_bytes: tuple[int, int],
        wait: Callable[[float], bool],
        held_back: Callable[[float], None],
    ) -> None:
        self._refusals: dict[TopicPartition, KafkaError] = {}
        self._is_broken = False
        self._wait = wait
        smallest, largest = limit_bytes
        buffer_bytes = max(SMALLEST_BUFFER_BYTES, 2 * largest)
        self.producer: Producer = target.producer(
            {
                "acks": "all",
                "throttle_cb": lambda event: held_back(event.throttle_time),
                "enable.idempotence": True,
                # Without it the records behind a refused batch would be written all the same.
                "enable.gapless.guarantee": True,
                "message.timeout.ms": 0,
                # The topics are there before the copying begins.
                "topic.metadata.propagation.max.ms": 10_000,
                "compression.type": "lz4",
                "linger.ms": 10,
                # A larger batch would be refused although each of its records is small.
                "batch.size": min(smallest, LARGEST_BATCH_BYTES),
                "message.max.bytes": LARGEST_RECORD_BYTES,
                "queue.buffering.max.kbytes": buffer_bytes // 1024,
                "queue.buffering.max.messages": 200_000,
                # Keys of positions go where the Java client puts them; records name their partition.
                "partitioner": "murmur2_random",
                # No call into Python for what went well.
                "delivery.report.only.error": True,
                "on_delivery": self._hear_refusal,
            }
        )

    def send(
        self,
        remote: TopicPartition,
        *,
        key: bytes | None,
        value: bytes | None,
        timestamp_ms: int,
        headers: Headers | None,
    ) -> None:
        """Queue a record, waiting for room; raises `NotDelivered`, `RecordDoesNotFit`, `GaveUp`."""
        while True:
            try:
                self.producer.produce(
                    remote.topic,
                    value=value,
                    key=key,
                    partition=remote.partition,
                    timestamp=timestamp_ms,
                    headers=headers,
                )
            except BufferError:
                self.wait_for_room()
            except KafkaException as error:
                raise self.broken(error) from None
            else:
                return

    def serve(self) -> None:
        """Take delivery reports; raises `NotDelivered`."""
        self._poll(0)
        self._check()

    def wait_for_room(self) -> None:
        """Wait until the producer's queue is shorter; see `send` for what it raises."""
        began = time.monotonic()
        length = len(self.producer)
        if length == 0:
            raise RecordDoesNotFit
        while len(self.producer) >= length:
            self._poll(FLUSH_S)
            self._check()
            if len(self.producer) >= length and not self._wait(time.monotonic() - began):
                raise GaveUp

    def flush(self) -> None:
        """Wait until everything queued is acknowledged; raises `NotDelivered`, `GaveUp`."""
        began = time.monotonic()
        while self._flush() > 0:
            self._check()
            if not self._wait(time.monotonic() - began):
                raise GaveUp
        self._check()

    def broken(self, raised: BaseException) -> NotDelivered:
        """Return what the producer's giving up means; what it did not deliver is lost with it."""
        self._is_broken = True
        refusal = refusal_in(raised)
        if refusal is not None:
            self._refusals.setdefault(*refusal)
        self.close()
        return NotDelivered(str(raised.__cause__ or raised), self._refusals)

    def close(self) -> None:
        """Give up what is still queued, hear about all of it, and let go of the producer."""
        self.producer.purge()
        give_up_at = time.monotonic() + PURGE_S
        while len(self.producer) > 0 and time.monotonic() < give_up_at:
            # After a fatal error each of these calls says so again.
            with contextlib.suppress(KafkaException, SystemError):
                self.producer.poll(PURGE_POLL_INTERVAL_S)

    def _poll(self, timeout_s: float) -> None:
        try:
            self.producer.poll(timeout_s)
        except (KafkaException, SystemError) as error:
            raise self.broken(error) from None

    def _flush(self) -> int:
        try:
            return self.producer.flush(FLUSH_S)
        except (KafkaException, SystemError) as error:
            raise self.broken(error) from None

    def _check(self) -> None:
        if self._refusals or self._is_broken:
            self.close()
            words = [f"{where}: {error.str()}" for where, error in self._refusals.items()]
            raise NotDelivered("; ".join(words) or "the producer gave up", self._refusals)

    def _hear_refusal(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            return
        if is_aftermath(error):
            self._is_broken = True
            return
        where = TopicPartition(message.topic() or "", message.partition() or 0)
        self._refusals.setdefault(where, error)
