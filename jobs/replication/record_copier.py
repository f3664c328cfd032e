"""The record path: every record is read by one Kafka client and written by another.

At least once with the idempotent producer. A round reads records and queues them for the target; a
commit waits until the target acknowledged all of them and only then writes the positions. After a
lost acknowledgement everything goes on from the committed positions.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from jobs.cluster.brokers import describe_cluster
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.offsets import read_offset_ranges
from jobs.cluster.records import (
    ClientPartition,
    Consumer,
    KafkaError,
    Message,
    is_offset_out_of_range,
    is_partition_eof,
    is_record_too_large,
    is_unknown_topic,
)
from jobs.cluster.topics import read_topic_configs
from jobs.replication.copied_partition import CopiedPartition
from jobs.replication.copier import PartitionProgress, PartitionStart, PartitionState
from jobs.replication.delivery import Delivery
from jobs.replication.flow import FlowSpec

logger = logging.getLogger(__name__)

BATCH = 2000
POLL_S = 0.1
COMMIT_S = 1.0
COMMIT_RECORDS = 50_000
PROBE_S = 2.0
TELL_S = 0.5
DEFAULT_LIMIT_BYTES = 1_048_588
_LIMIT = "max.message.bytes"
_READER = {
    "isolation.level": "read_committed",
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    # Memory is bounded here, not by the number of partitions.
    "queued.max.messages.kbytes": 16_384,
    "queued.min.messages": 20_000,
    "fetch.message.max.bytes": 1_048_576,
    "fetch.max.bytes": 8_388_608,
    "fetch.wait.max.ms": 100,
}


Report = Callable[[Sequence[PartitionProgress]], None]


class _Ends(NamedTuple):
    source: ClusterClient
    target: ClusterClient


class RecordCopier:
    """Copies partitions record by record; see `copier.Copier` for the invariants it keeps."""

    def __init__(self, flow: FlowSpec, *, commit_s: float = COMMIT_S) -> None:
        self.flow = flow
        self.commit_s = commit_s

    def copy(
        self,
        partitions: Sequence[PartitionStart],
        should_stop: Callable[[], bool],
        report: Report,
    ) -> None:
        """Copy until told to stop; raises `ClusterFault` when the copying cannot even begin."""
        with ClusterClient(self.flow.source) as source, ClusterClient(self.flow.target) as target:
            copying = _Copying(
                partitions, _Ends(source, target), self.commit_s, should_stop, report
            )
            try:
                copying.run()
            finally:
                copying.close()


class _Copying:
    """One call of `copy`: the clients and the state of each partition."""

    def __init__(
        self,
        starts: Sequence[PartitionStart],
        clusters: _Ends,
        commit_s: float,
        should_stop: Callable[[], bool],
        report: Report,
    ) -> None:
        source, target = clusters
        self.source = source
        self._should_stop = should_stop
        self._report = report
        self.commit_s = commit_s
        limits = read_topic_configs(target, {s.remote_topic for s in starts}, [_LIMIT])
        ends = read_offset_ranges(target, [remote_of(s) for s in starts], with_timestamps=False)
        self.parts = {
            (s.topic, s.partition): CopiedPartition(
                s, _limit(limits, s), ends[remote_of(s)].high_watermark
            )
            for s in starts
        }
        smallest = min(
            (part.limit_bytes for part in self.parts.values()), default=DEFAULT_LIMIT_BYTES
        )
        self.delivery = Delivery(target, source.connection.alias, smallest)
        self.consumer: Consumer = source.consumer(_READER)
        self.queued = 0
        self.commit_at = 0.0
        self.probe_at = 0.0
        self.tell_at = 0.0
        self.away = ""

    def run(self) -> None:
        """Copy until told to stop or until no partition can go on."""
        self._go_back()
        while self._tell() and self._open():
            self._take(self.consumer.consume(BATCH, POLL_S))
            if time.monotonic() >= self.commit_at or self.queued >= COMMIT_RECORDS:
                self._commit()
        self._commit()
        self._report([part.progress() for part in self.parts.values()])

    def close(self) -> None:
        self.delivery.close()
        self.consumer.close()

    def _take(self, messages: Iterable[Message]) -> None:
        parts, send = self.parts, self.delivery.send
        for message in messages:
            part = parts[message.topic(), message.partition()]  # type: ignore[index]
            error = message.error()
            if error is not None:
                self._hear(part, error, message)
            elif part.is_open:
                size = part.size_of(message)
                if size > part.limit_bytes:
                    self._send_alone(part, message, size)
                    continue
                send(message, part.remote_topic, part.partition, part.timestamp_of(message))
                part.queued(message, size)
                self.queued += 1
        self._look_at_source()

    def _hear(self, part: CopiedPartition, error: KafkaError, message: Message) -> None:
        """Take an event of the reader that is not a record."""
        if is_partition_eof(error):
            part.reached_end(message.offset() or 0)
        elif is_offset_out_of_range(error):
            self._find_out_of_range(part)
        elif is_unknown_topic(error):
            part.fail(PartitionState.RETRYING, f"{part.where} is not there on the source any more.")
        else:
            logger.warning("reader said partition=%s error=%s", part.where, error)

    def _find_out_of_range(self, part: CopiedPartition) -> None:
        """Go on at the log start when retention was faster; refuse when the log became shorter."""
        found = read_offset_ranges(self.source, [part.where], with_timestamps=False)[part.where]
        if found.log_start_offset is None:
            part.fail(PartitionState.RETRYING, f"{part.where}: {found.error}")
        elif part.position < found.log_start_offset:
            part.skip_to(found.log_start_offset)
            self.consumer.seek(ClientPartition(*part.where, part.position))
        else:
            part.fail(
                PartitionState.FAILED,
                f"{part.where} ends at offset {found.high_watermark} but was copied up to "
                f"{part.position}: its log was truncated or the topic was created again.",
            )

    def _send_alone(self, part: CopiedPartition, message: Message, size: int) -> None:
        """Try a record above the target's limit by itself: compression may make it small enough."""
        if not self._commit():
            return
        offset = message.offset() or 0
        self.delivery.send(message, part.remote_topic, part.partition, part.timestamp_of(message))
        if self.delivery.settle(self._wait):
            part.queued(message, size)
            self.queued += 1
            return
        failures = self.delivery.failures
        too_large = any(is_record_too_large(error) for error in failures)
        self.delivery.renew()
        if too_large:
            part.refuse_record(offset, size)
            self.consumer.pause([ClientPartition(*part.where)])
        else:
            self._go_back()

    def _commit(self) -> bool:
        """Make what was queued safe and write the positions; False when it has to be sent again."""
        self.commit_at = time.monotonic() + self.commit_s
        changed = [part for part in self.parts.values() if part.position != part.committed]
        if not changed:
            return True

        try:
            done = self.delivery.settle(self._wait) and self._write_positions(changed)
        except ClusterFault as fault:
            logger.warning("commit failed error=%s", fault)
            done = False
        if not done:
            self._send_again(self.delivery.failures)
            return False
        for part in changed:
            part.committed = part.position
        self.queued = 0
        return True

    def _write_positions(self, changed: Sequence[CopiedPartition]) -> bool:
        self.delivery.commit(
            {part.where: part.position for part in changed},
            {part.where: remote_of(part.start) for part in changed},
        )
        return self.delivery.settle(self._wait)

    def _send_again(self, failures: Sequence[KafkaError]) -> None:
        logger.warning("records were not acknowledged errors=%s", [str(e) for e in failures[:3]])
        self.delivery.renew()
        self._go_back()

    def _go_back(self) -> None:
        """Read again from the committed positions."""
        for part in self.parts.values():
            part.go_back()
        self.queued = 0
        self.consumer.assign(
            [ClientPartition(*p.where, p.position) for p in self.parts.values() if p.is_open]
        )

    def _look_at_source(self) -> None:
        """Show that the source is away while it is; the reader itself reconnects for ever."""
        if self.source.fault() is None or time.monotonic() < self.probe_at:
            return
        try:
            # One broken connection is no lost cluster: ask, and an answer makes the fault forgotten.
            describe_cluster(self.source)
            self.away = ""
        except ClusterFault as fault:
            self.away = f"{fault} {fault.hint}"
        self.probe_at = time.monotonic() + PROBE_S

    def _wait(self) -> bool:
        """Say what is waited for, and whether to go on waiting."""
        fault = self.delivery.target.fault()
        return self._tell(f"{fault} {fault.hint}" if fault else "")

    def _tell(self, away: str = "") -> bool:
        """Report about once a second; returns whether to go on."""
        if time.monotonic() >= self.tell_at:
            self._report([part.progress(away or self.away) for part in self.parts.values()])
            self.tell_at = time.monotonic() + TELL_S
        return not self._should_stop()

    def _open(self) -> bool:
        return any(part.is_open for part in self.parts.values())


def remote_of(start: PartitionStart) -> TopicPartition:
    """Return topic and partition on the target."""
    return TopicPartition(start.remote_topic, start.partition)


def _limit(limits: Mapping[str, Mapping[str, str]], start: PartitionStart) -> int:
    return int(limits.get(start.remote_topic, {}).get(_LIMIT, DEFAULT_LIMIT_BYTES))
