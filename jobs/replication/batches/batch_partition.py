"""One partition on the batch path: what is fetched, queued, sent, acknowledged and committed."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.batches.intake import Intake, Parcel, Taken
from jobs.replication.copier import PartitionProgress, PartitionStart, PartitionState
from jobs.replication.sync_tracker import SyncTracker
from jobs.wire.rebatch import change_points


@dataclass(slots=True)
class Count:
    """How much was copied since the run began; bytes are those of batches, compressed as they are."""

    records: int = 0
    bytes: int = 0
    batches: int = 0
    packed: int = 0
    last_timestamp_ms: int | None = None


@dataclass(slots=True, eq=False)
class BatchPartition:
    """A partition between two commits.

    `committed` is the position on the target, `fetched` the next offset to fetch. Everything
    between them is in `queue` (not sent), on its way, or acknowledged and not committed.
    `retry_at` is a monotonic time at which a partition that is set aside is tried again.
    """

    start: PartitionStart
    intake: Intake
    committed: int = 0
    fetched: int = 0
    leader_epoch: int = -1
    committed_epoch: int = -1
    queue: deque[Parcel] = field(default_factory=deque)
    queued_bytes: int = 0
    sent: int = 0
    is_sending: bool = False
    syncs: SyncTracker = field(default_factory=SyncTracker)
    count: Count = field(default_factory=Count)
    safe: Count = field(default_factory=Count)
    state: PartitionState = PartitionState.STARTING
    reason: str = ""
    retry_at: float | None = None
    retries: int = 0
    duplicates: int = 0
    remote_end: int | None = None
    end_offset: int | None = None
    record_path_reason: str = ""
    is_noted: bool = False
    findings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.committed = self.fetched = self.sent = self.start.position

    @property
    def where(self) -> TopicPartition:
        """Topic and partition on the source."""
        return TopicPartition(self.start.topic, self.start.partition)

    @property
    def remote(self) -> TopicPartition:
        """Topic and partition on the target."""
        return TopicPartition(self.start.remote_topic, self.start.partition)

    @property
    def is_open(self) -> bool:
        """Whether this partition can go on, now or later."""
        return self.state not in (PartitionState.FAILED, PartitionState.STOPPED)

    @property
    def is_dirty(self) -> bool:
        """Whether there is something that a commit would make safe.

        The first commit writes every position, also one that has not moved: a reader that does not
        skip aborted transactions (MirrorMaker 2 by default) may see a newer one that never counted.
        """
        return self.position != self.committed or not self.is_noted

    @property
    def position(self) -> int:
        """The next source offset to copy when everything sent is acknowledged."""
        return self.queue[0].from_offset if self.queue else self.fetched

    def begin(self) -> None:
        """Begin again at the committed position: what was fetched and not committed is forgotten."""
        self.queue.clear()
        self.queued_bytes = 0
        self.fetched = self.sent = self.committed
        self.leader_epoch = self.committed_epoch
        self.intake.restart()
        self.syncs.abort()
        self.count = _copy(self.safe)
        self.state, self.reason, self.retry_at = PartitionState.STARTING, "", None

    def receive(self, taken: Taken) -> None:
        """Queue what came out of a fetch."""
        self.queue.extend(taken.parcels)
        self.queued_bytes += sum(len(parcel.batch) for parcel in taken.parcels)
        self.fetched = taken.next_offset
        if taken.leader_epoch >= 0:
            self.leader_epoch = taken.leader_epoch

    def pick(self) -> Parcel:
        """Take the next parcel off the queue, to be sent."""
        parcel = self.queue.popleft()
        self.queued_bytes -= len(parcel.batch)
        return parcel

    def acknowledged(self, parcel: Parcel, base_offset: int) -> None:
        """Note where the target put a parcel."""
        changes = change_points(
            parcel.offsets, parcel.first_offset, parcel.record_count, base_offset
        )
        last = (parcel.last_offset, base_offset + parcel.record_count - 1)
        self.syncs.copied(changes, last)
        self.remote_end = last[1] + 1
        self.count.records += parcel.record_count
        self.count.bytes += len(parcel.batch)
        self.count.batches += 1
        self.count.packed += parcel.is_packed
        if parcel.max_timestamp_ms >= 0:
            self.count.last_timestamp_ms = parcel.max_timestamp_ms

    def settle(self, position: int) -> None:
        """Note that everything up to a position is committed, offset syncs included."""
        self.committed = position
        self.is_noted = True
        self.committed_epoch = self.leader_epoch
        self.safe = _copy(self.count)
        self.syncs.commit()

    def skip_to(self, log_start_offset: int) -> None:
        """Note records that were deleted before they were copied."""
        lost = log_start_offset - self.fetched
        self.find(
            f"Offsets {self.fetched} to {log_start_offset - 1} of {self.where} were deleted on the "
            f"source (retention) before they were copied: up to {lost} records are missing on the "
            "target."
        )
        self.fetched = log_start_offset
        self.leader_epoch = -1

    def diverged(self, end_offset: int) -> None:
        """Go back to where the source's log is still the one that was copied (KIP-320).

        An unclean election made another broker the leader, which never had the records after that.
        """
        self.find(
            f"{self.where} lost its records from offset {end_offset} to {self.fetched - 1} on the source "
            "after they were copied (unclean leader election). They stay on the target; copying went on "
            f"with the source's new records from offset {end_offset}."
        )
        self.fetched = end_offset
        self.leader_epoch = -1

    def needs_record_path(self, why: str) -> None:
        """Stop on this path: only the record path can go on."""
        self.record_path_reason = why
        self.state, self.reason = PartitionState.STOPPED, f"The record path goes on here: {why}."

    def find(self, finding: str) -> None:
        """Note something that a person must know although copying goes on."""
        if finding not in self.findings:
            self.findings.append(finding)

    def fail(self, reason: str) -> None:
        """Stop here for good: somebody has to do something."""
        self.state, self.reason, self.retry_at = PartitionState.FAILED, reason, None

    def set_aside(self, reason: str, retry_at: float) -> None:
        """Stop here for a while."""
        self.state, self.reason, self.retry_at = PartitionState.RETRYING, reason, retry_at
        self.retries += 1

    def progress(self, away: str = "") -> PartitionProgress:
        """Return what a person sees; `away` is why a whole cluster does not answer now."""
        state, reason = self.state, self.reason
        if state is PartitionState.CAUGHT_UP and self.is_dirty:
            state = PartitionState.COPYING
        if away and self.is_open:
            state, reason = PartitionState.RETRYING, away
        return PartitionProgress(
            topic=self.start.topic,
            partition=self.start.partition,
            position=self.committed,
            state=state,
            reason=reason,
            last_timestamp_ms=self.safe.last_timestamp_ms,
            records=self.safe.records,
            bytes=self.safe.bytes,
            duplicates=self.duplicates,
            path="batch",
            batches=self.safe.batches,
            packed=self.safe.packed,
            retries=self.retries,
            findings=tuple(self.findings),
        )


def _copy(count: Count) -> Count:
    return Count(count.records, count.bytes, count.batches, count.packed, count.last_timestamp_ms)
