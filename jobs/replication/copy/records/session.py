"""The hot loop of the record path: read, queue, and every second make safe and commit."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.client import ClusterClient
from jobs.cluster.librdkafka_errors import sentence_of
from jobs.cluster.records import (
    ClientPartition,
    Consumer,
    KafkaException,
    Message,
    is_denied,
    is_offset_out_of_range,
    is_partition_eof,
    is_retriable,
)
from jobs.replication.copy.positions import PositionWriter
from jobs.replication.copy.quotas import Throttle
from jobs.replication.copy.records.delivery import Delivery, RecordDoesNotFit
from jobs.replication.copy.records.partition import CopiedPartition

logger = logging.getLogger(__name__)

POLL_S = 0.1
RETRY_S = 10.0
# How many bytes of records are between reader and writer: batches get shorter as records get longer.
BATCH_BYTES = 2 * 1024 * 1024
SMALLEST_BYTES = 16 * 1024
LONGEST_BATCH = 5000
SHORTEST_BATCH = 10
FIRST_BATCH = 200
HEADER_OVERHEAD_BYTES = 10
READER = {
    "isolation.level": "read_committed",
    "enable.partition.eof": True,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",
    "check.crcs": True,
    # Memory is bounded here, not by the number of partitions.
    "queued.max.messages.kbytes": 16_384,
    "queued.min.messages": 100_000,
    "fetch.message.max.bytes": 1_048_576,
    "fetch.max.bytes": 8_388_608,
    "fetch.wait.max.ms": 100,
    # A full queue is looked at again after this, and it is empty in a fraction of a second.
    "fetch.queue.backoff.ms": 20,
}


@dataclass(frozen=True, slots=True)
class Pace:
    """When to stop (asked after every batch), what to do meanwhile, and how often to commit.

    `held_back` is called with the seconds for which a broker throttles the client (KIP-219).
    """

    should_stop: Callable[[], bool]
    tick: Callable[[], None]
    commit_s: float
    throttle: Throttle
    held_back: Callable[[float], None]


class CopySession:
    """Copies from the committed positions with one reader and one writer, until something changes.

    Whatever goes wrong with either of them ends the session; the next one begins at the committed
    positions. That is the only way back, so there is no state to repair.
    """

    def __init__(
        self,
        source: ClusterClient,
        parts: Collection[CopiedPartition],
        delivery: Delivery,
        writer: PositionWriter,
        pace: Pace,
    ) -> None:
        self._source = source
        self._parts = parts
        self._open: dict[tuple[str, int], CopiedPartition] = {p.where: p for p in parts}
        self._delivery = delivery
        self._writer = writer
        self._pace = pace
        self._is_over = False
        self._until = math.inf
        self._batch = FIRST_BATCH
        self._taken_bytes = 0
        self._consumer: Consumer = source.consumer(
            {**READER, "throttle_cb": lambda event: pace.held_back(event.throttle_time)}
        )

    def run(self, until: float) -> None:
        """Copy until told to stop, until a partition must be read from elsewhere, or until a time.

        That time (monotonic) becomes earlier when a partition is set aside meanwhile.

        Raises `NotDelivered` and `GaveUp`; then nothing after the committed positions counts.
        """
        self._consumer.assign([ClientPartition(*p.where, p.position) for p in self._parts])
        self._until = until
        commit_at = time.monotonic() + self._pace.commit_s
        while not self._is_over and not self._pace.should_stop():
            self._copy(self._consumer.consume(self._batch, POLL_S))
            self._delivery.serve()
            self._rest()
            now = time.monotonic()
            if now >= commit_at:
                self.commit()
                commit_at = time.monotonic() + self._pace.commit_s
            self._pace.tick()
            self._is_over = self._is_over or now >= self._until or not self._open
        self.commit()

    def _rest(self) -> None:
        """Read nothing for as long as the limit asks for."""
        rest_s = self._pace.throttle.rest_s(self._taken_bytes)
        self._taken_bytes = 0
        while rest_s > 0 and not self._pace.should_stop():
            time.sleep(min(rest_s, POLL_S))
            self._pace.throttle.rested_ms += round(min(rest_s, POLL_S) * 1000)
            self._delivery.serve()
            self._pace.tick()
            rest_s = self._pace.throttle.rest_s(0)

    def commit(self) -> None:
        """Wait until all records are acknowledged, then write their positions and wait for those."""
        changed = [part for part in self._parts if part.position != part.committed]
        if not changed:
            return
        self._delivery.flush()
        self.write_positions(changed)

    def write_positions(self, parts: Iterable[CopiedPartition]) -> None:
        """Write the positions of partitions whose records are all acknowledged."""
        written = list(parts)
        for part in written:
            self._write_position(part)
        self._delivery.flush()
        for part in written:
            part.settle()

    def close(self) -> None:
        """Let go of the reader."""
        self._consumer.close()

    def _write_position(self, part: CopiedPartition) -> None:
        while True:
            try:
                self._writer.write(part.where, part.position, part.remote_end_now())
            except BufferError:
                self._delivery.wait_for_room()
            except KafkaException as error:
                raise self._delivery.broken(error) from None
            else:
                return

    def _copy(self, messages: list[Message]) -> None:
        """Queue records."""
        try:
            self._queue(messages)
        except KafkaException as error:
            raise self._delivery.broken(error) from None

    def _queue(self, messages: list[Message]) -> None:  # noqa: C901, PLR0915  no call of ours per record
        produce = self._delivery.producer.produce
        topic, number = "", -1
        part: CopiedPartition | None = None
        total = 0
        for message in messages:
            if message.error() is not None:
                self._hear(message)
                number = -1
                continue
            if message.partition() != number or message.topic() != topic:
                topic, number = message.topic() or "", message.partition() or 0
                part = self._open.get((topic, number))
                if part is not None:
                    part.receives()
            if part is None:
                continue
            key, value = message.key(), message.value()
            size = len(key or b"") + len(value or b"")
            timestamp = message.timestamp()[1]
            try:
                headers = message.headers()
            except UnicodeDecodeError as error:
                self._stop_before(
                    part, f"{_name(message)} has a header name that is not UTF-8: {error}"
                )
                part = None
                continue
            wire = size if headers is None else size + headers_bytes(headers)
            if wire > part.easy_bytes or timestamp == 0:
                if not self._send_with_care(part, message, wire):
                    part = None
                    continue
            else:
                try:
                    produce(
                        part.start.remote_topic,
                        value=value,
                        key=key,
                        partition=number,
                        timestamp=timestamp,
                        headers=headers,
                    )
                except BufferError:
                    self._send(part, message)
            part.position = (message.offset() or 0) + 1
            part.records += 1
            part.bytes += size
            if timestamp > 0:
                part.last_timestamp_ms = timestamp
            total += wire
        self._adapt(len(messages), total)

    def _send(self, part: CopiedPartition, message: Message) -> None:
        self._delivery.send(
            part.remote,
            key=message.key(),
            value=message.value(),
            timestamp_ms=message.timestamp()[1],
            headers=message.headers(),
        )

    def _send_with_care(self, part: CopiedPartition, message: Message, size: int) -> bool:
        """Queue a record that may be refused, alone if it is large; returns whether it was queued."""
        if message.timestamp()[1] == 0:
            part.has_zero_timestamp(message.offset() or 0)
        if part.chunk and part.pending >= part.chunk:
            self.commit()
        if part.is_large(size):
            # Compression may make it small enough; if not, only this record is to be sent again.
            self.commit()
            part.be_careful(until=(message.offset() or 0) + 1, chunk=1)
        part.careful_offset = message.offset() or 0
        try:
            self._send(part, message)
        except RecordDoesNotFit:
            reason = f"{_name(message)} has {size} bytes, more than crosslog can hold in memory."
            self._stop_before(part, reason)
            return False
        return True

    def _stop_before(self, part: CopiedPartition, reason: str) -> None:
        """Stop one partition at a record that cannot be copied; what comes before it is made safe."""
        self.commit()
        part.fail(reason)
        self._leave(part)

    def _hear(self, message: Message) -> None:
        """Take an event of the reader that is not a record."""
        error = message.error()
        part = self._open.get((message.topic() or "", message.partition() or 0))
        if part is None or error is None:
            return
        if is_partition_eof(error):
            part.reached_end(message.offset() or 0)
        elif is_offset_out_of_range(error):
            self._find_position(part)
        elif is_retriable(error):
            logger.info("reader continues partition=%s error=%s", part.where, error)
        else:
            denied = f"READ on topic {part.where.topic} of {self._source.connection.alias}"
            self._set_aside(
                part,
                f"{part.where} cannot be read: {sentence_of(error)}.",
                denied if is_denied(error) else "",
            )

    def _find_position(self, part: CopiedPartition) -> None:
        """Resume at the log start when retention was faster; stop when the log became shorter."""
        found = read_offset_ranges(self._source, [part.where], with_timestamps=False)[part.where]
        if found.log_start_offset is None or found.high_watermark is None:
            self._set_aside(part, f"{part.where}: {found.error}")
        elif part.position > found.high_watermark:
            part.fail(
                f"{part.where} ends at offset {found.high_watermark} but was copied up to "
                f"{part.position}: its log was truncated or the topic was created again."
            )
            self._leave(part)
        else:
            if part.position < found.log_start_offset:
                part.skip_to(found.log_start_offset)
            self._is_over = True

    def _set_aside(self, part: CopiedPartition, reason: str, denied: str = "") -> None:
        retry_at = time.monotonic() + RETRY_S
        part.set_aside(reason, retry_at, denied)
        self._until = min(self._until, retry_at)
        self._leave(part)

    def _leave(self, part: CopiedPartition) -> None:
        self._open.pop(part.where, None)
        self._consumer.pause([ClientPartition(*part.where)])

    def _adapt(self, count: int, total: int) -> None:
        """Choose the length of the next batch by the size of the records in this one."""
        self._taken_bytes += total
        if total:
            fitting = self._pace.throttle.most_bytes(BATCH_BYTES, SMALLEST_BYTES) * count // total
            self._batch = max(SHORTEST_BATCH, min(LONGEST_BATCH, fitting, 2 * self._batch))


def headers_bytes(headers: Any) -> int:
    """Return an upper bound of what the headers of a record take: a list of names and values."""
    return sum(len(name) + len(value or b"") + HEADER_OVERHEAD_BYTES for name, value in headers)


def _name(message: Message) -> str:
    return f"Record {message.topic()}-{message.partition()} offset {message.offset()}"
