"""The record path: every record is read by one Kafka client and written by another.

At least once with the idempotent producer: a position is committed when the target has acknowledged
everything below it, and whatever breaks, copying resumes at the committed positions.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence

from jobs.cluster.admin.configs import read_topic_configs
from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, RecordTooLarge
from jobs.cluster.librdkafka_errors import sentence_of
from jobs.cluster.protocol.cluster import CLIENT_ID_PREFIX
from jobs.cluster.records import KafkaError, is_denied, is_record_refused, is_record_too_large
from jobs.replication.copy.contract import AssignmentChanges, PartitionStart, Report
from jobs.replication.copy.positions import Positions, PositionWriter, read_positions
from jobs.replication.copy.quotas import Throttle
from jobs.replication.copy.records.delivery import Delivery, GaveUp, NotDelivered
from jobs.replication.copy.records.partition import CopiedPartition
from jobs.replication.copy.records.progress_report import ProgressReport
from jobs.replication.copy.records.session import RETRY_S, CopySession, Pace
from jobs.replication.flow.spec import FlowSpec

logger = logging.getLogger(__name__)

COMMIT_S = 1.0
POLL_INTERVAL_S = 0.2
STOP_GRACE_S = 10.0
LONGEST_BACKOFF_S = 30.0
FIRST_CHUNK = 1000
DEFAULT_LIMIT_BYTES = 1_048_588
_LIMIT, _TIMESTAMP_TYPE = "max.message.bytes", "message.timestamp.type"


class RecordCopier:
    """Copies partitions record by record; see `contract` for the invariants it keeps."""

    def __init__(
        self, flow: FlowSpec, *, commit_s: float = COMMIT_S, max_bytes_per_s: float | None = None
    ) -> None:
        self.flow = flow
        self.commit_s = commit_s
        self.max_bytes_per_s = max_bytes_per_s

    def copy(
        self,
        partitions: Sequence[PartitionStart],
        should_stop: Callable[[], bool],
        report: Report,
        changes: AssignmentChanges | None = None,
    ) -> None:
        """Copy until told to stop; raises `ClusterFault` for faults that need an operator."""
        name = CLIENT_ID_PREFIX + self.flow.name
        with (
            ClusterClient(self.flow.source, client_id=name) as source,
            ClusterClient(self.flow.target, client_id=name) as target,
        ):
            parts = [CopiedPartition(start) for start in partitions]
            throttle = Throttle(self.max_bytes_per_s, time.monotonic)
            progress = ProgressReport(parts, (source, target), report, throttle)
            copying = _Copying(source, target, parts, progress, should_stop)
            copying.commit_s = self.commit_s
            copying.changes = changes
            copying.run()


class _Copying:
    """One call of `copy`: one session after the other."""

    commit_s = COMMIT_S
    changes: AssignmentChanges | None = None

    def __init__(
        self,
        source: ClusterClient,
        target: ClusterClient,
        parts: list[CopiedPartition],
        progress: ProgressReport,
        should_stop: Callable[[], bool],
    ) -> None:
        self._source = source
        self._target = target
        self._parts = parts
        self._progress = progress
        self._should_stop = should_stop
        self._stop_by: float | None = None
        self._known = Positions({})
        self._unprepared = list(parts)
        self._throttle = progress.throttle

    def run(self) -> None:
        """Copy until a stop or, without changes, until no partition can be copied."""
        failures = 0
        while not self._should_stop() and self._is_waiting():
            self._take_changes()
            before = self._committed()
            problem = self._try() if self._ready() else ""
            failures = failures + 1 if problem and self._committed() == before else 0
            self._pause(failures, problem)
        self._progress.tell()

    def _take_changes(self) -> None:
        """Take partitions on and let others go: between two sessions nothing is on its way."""
        if self.changes is None or not self.changes.is_waiting:
            return
        self._progress.tell()
        released = []
        for change in self.changes.take():
            if isinstance(change, PartitionStart):
                part = CopiedPartition(change)
                self._parts.append(part)
                self._unprepared.append(part)
            else:
                released += self._let_go(change)
        self.changes.release(released)

    def _let_go(self, where: TopicPartition) -> list[PartitionStart]:
        left = [part for part in self._parts if part.where == where]
        for part in left:
            self._parts.remove(part)
            self._progress.forget(where)
        self._unprepared = [part for part in self._unprepared if part.where != where]
        return [part.next_start() for part in left]

    def _tick(self) -> None:
        if self.changes is not None:
            self._throttle.per_s = self.changes.tuning.max_bytes_per_s
        self._progress.tick()

    def _is_interrupted(self) -> bool:
        return self._should_stop() or (self.changes is not None and self.changes.is_waiting)

    def _try(self) -> str:
        """Run one session; returns what broke it, if it is something that a pause may help against."""
        try:
            self._run_session()
        except ClusterFault as fault:
            if not fault.retriable:
                raise
            return f"{fault} {fault.hint}"
        except NotDelivered as event:
            return self._after(event)
        except GaveUp:
            logger.warning("stopped before the target acknowledged everything")
        return ""

    def _after(self, event: NotDelivered) -> str:
        """Find out which partitions the target refuses; the others continue."""
        logger.warning("records were not delivered: %s", event.reason)
        refused = [p for p in self._parts if p.is_open and p.remote in event.refusals]
        for part in refused:
            self._judge(part, event.refusals[part.remote])
        return "" if refused else f"The target did not take what was sent: {event.reason}"

    def _prepare(self) -> None:
        """Ask the target what it takes and what it knows."""
        topics = {part.remote.topic for part in self._unprepared}
        configs = read_topic_configs(self._target, topics, [_LIMIT, _TIMESTAMP_TYPE])
        self._known = read_positions(self._target, self._source.connection.alias)
        for part in self._unprepared:
            values = configs.get(part.remote.topic, {})
            part.limited_to(int(values.get(_LIMIT, DEFAULT_LIMIT_BYTES)))
            if values.get(_TIMESTAMP_TYPE) == "LogAppendTime":
                part.find(
                    f"Topic {part.remote.topic} has message.timestamp.type=LogAppendTime: its records "
                    "have the time of copying instead of their own."
                )
        self._unprepared.clear()

    def _run_session(self) -> None:
        if self._unprepared:
            self._prepare()
        parts = self._ready()
        ends = read_offset_ranges(self._target, [p.remote for p in parts], with_timestamps=False)
        fresh = [part for part in parts if part.safe.remote_end is None]
        for part in parts:
            part.begin(ends[part.remote].high_watermark)
        limits = [part.limit_bytes for part in parts] or [DEFAULT_LIMIT_BYTES]
        held_back = self._progress.held_back
        delivery = Delivery(self._target, (min(limits), max(limits)), self._wait, held_back)
        try:
            self._run_with(delivery, parts, fresh)
        finally:
            delivery.close()

    def _run_with(
        self,
        delivery: Delivery,
        parts: Sequence[CopiedPartition],
        fresh: Sequence[CopiedPartition],
    ) -> None:
        writer = PositionWriter(delivery.producer, self._source.connection.alias, self._known)
        held_back = self._progress.held_back
        pace = Pace(self._is_interrupted, self._tick, self.commit_s, self._throttle, held_back)
        session = CopySession(self._source, parts, delivery, writer, pace)
        try:
            # So that after a crash before the first commit it is known what was written twice.
            session.write_positions(fresh)
            session.run(until=self._next_retry())
        finally:
            session.close()

    def _ready(self) -> list[CopiedPartition]:
        now = time.monotonic()
        return [p for p in self._parts if p.is_open and (p.retry_at is None or p.retry_at <= now)]

    def _next_retry(self) -> float:
        times = [part.retry_at for part in self._parts if part.retry_at is not None]
        return min(times, default=math.inf)

    def _judge(self, part: CopiedPartition, refusal: KafkaError) -> None:
        """Decide what a refusal of the target means for a partition."""
        words = sentence_of(refusal)
        if not is_record_refused(refusal):
            reason = f"Target partition {part.remote} takes no records: {words}."
            denied = f"WRITE on topic {part.remote.topic} of {self._target.connection.alias}"
            part.set_aside(reason, time.monotonic() + RETRY_S, denied if is_denied(refusal) else "")
        elif part.chunk == 1:
            part.fail(_refused_record(part, refusal))
        else:
            part.be_careful(part.position, min(FIRST_CHUNK, part.pending // 10))

    def _wait(self, waited_s: float) -> bool:
        """Report what is waited for; returns whether to keep waiting for the target."""
        self._progress.tick(waited_s)
        if not self._should_stop():
            return True
        if self._stop_by is None:
            self._stop_by = time.monotonic() + STOP_GRACE_S
        return time.monotonic() < self._stop_by

    def _pause(self, failures: int, problem: str) -> None:
        """Wait a little after failures in a row, and until a partition that is set aside is due."""
        seconds = min(2.0 ** (failures - 1), LONGEST_BACKOFF_S) if failures else 0.0
        end = time.monotonic() + seconds
        if not self._ready():
            end = max(end, self._next_retry())
        while time.monotonic() < end and not self._is_interrupted() and self._is_waiting():
            self._progress.tell(problem)
            time.sleep(POLL_INTERVAL_S)

    def _is_waiting(self) -> bool:
        """Whether something is left to do: who may be asked for more waits for it."""
        return self.changes is not None or any(part.is_open for part in self._parts)

    def _committed(self) -> int:
        return sum(part.committed for part in self._parts)


def _refused_record(part: CopiedPartition, refusal: KafkaError) -> str:
    size = part.bytes - part.safe.bytes
    what = (
        f"Record {part.where} offset {part.careful_offset}, {size} bytes of key and value, is refused "
        "by the target"
    )
    if is_record_too_large(refusal):
        return (
            f"{what}: {part.remote.topic} takes at most {part.limit_bytes} bytes "
            f"(max.message.bytes). {RecordTooLarge.hint}"
        )
    return (
        f"{what}: {sentence_of(refusal)}. Nothing after it was copied. Change the settings of "
        f"{part.remote.topic} so that it takes the record, then restart the flow."
    )
