"""What the record path knows of one partition while it copies it."""

from __future__ import annotations

from dataclasses import dataclass, field

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.contract import CopyState, PartitionProgress, PartitionStart

# What a record takes in a batch of its own, beside key, value and headers.
BATCH_OVERHEAD_BYTES = 100
# Far above every limit of a topic, and still a number that can be compared.
UNLIMITED_BYTES = 1 << 40


@dataclass(slots=True)
class Count:
    """How much was copied since the run began; `remote_end` is where the remote partition ends then."""

    records: int = 0
    bytes: int = 0
    last_timestamp_ms: int | None = None
    remote_end: int | None = None


@dataclass(slots=True)
class CopiedPartition:
    """One partition: `position` is what is queued, `committed` is what is safe on the target.

    Fields without a second meaning in `safe` are what was queued so far. `easy_bytes`: a record of
    this size (key, value, headers) or less can be queued without a second thought. `retry_at` is a
    monotonic time at which a partition that is set aside is tried again.
    """

    start: PartitionStart
    limit_bytes: int = UNLIMITED_BYTES
    position: int = 0
    committed: int = 0
    state: CopyState = CopyState.STARTING
    reason: str = ""
    retry_at: float | None = None
    denied: str = ""
    records: int = 0
    bytes: int = 0
    last_timestamp_ms: int | None = None
    safe: Count = field(default_factory=Count)
    easy_bytes: int = UNLIMITED_BYTES
    chunk: int = 0
    cautious_until: int = 0
    careful_offset: int = -1
    duplicates: int = 0
    commits: int = 0
    zero_timestamps: int = 0
    first_zero_timestamp: int = -1
    last_zero_timestamp: int = -1
    findings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.position = self.committed = self.start.position
        self.safe.remote_end = self.start.remote_end

    def next_start(self) -> PartitionStart:
        """Return where the next copier of this partition begins."""
        where = self.start
        return PartitionStart(
            where.topic, where.partition, self.committed, where.remote_topic, self.safe.remote_end
        )

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
        """Whether this partition can be copied, now or later."""
        return self.state not in (CopyState.FAILED, CopyState.STOPPED)

    @property
    def pending(self) -> int:
        """How many records are queued and not known to be safe."""
        return self.records - self.safe.records

    def limited_to(self, limit_bytes: int) -> None:
        """Note the remote topic's `max.message.bytes`."""
        self.limit_bytes = limit_bytes
        self.easy_bytes = limit_bytes - BATCH_OVERHEAD_BYTES

    def begin(self, remote_end: int | None) -> None:
        """Begin again at the committed position; `remote_end` is where the remote partition ends now.

        What is there beyond the end of the last commit was written after it and comes once more.
        """
        before = self.safe.remote_end
        if before is not None and remote_end is not None and remote_end > before:
            self.duplicates += remote_end - before
        self.safe.remote_end = remote_end
        self.position = self.committed
        self.records, self.bytes = self.safe.records, self.safe.bytes
        self.last_timestamp_ms = self.safe.last_timestamp_ms
        self.state, self.reason, self.retry_at = CopyState.STARTING, "", None
        self.denied = ""

    def receives(self) -> None:
        """Note that records come."""
        self.state, self.reason = CopyState.COPYING, ""

    def reached_end(self, offset: int) -> None:
        """Note the end of the log: markers up to there are no records, so the position passes them."""
        self.position = max(self.position, offset)
        self.state, self.reason = CopyState.CAUGHT_UP, ""

    def remote_end_now(self) -> int | None:
        """Return where the remote partition ends when everything queued is written once."""
        end = self.safe.remote_end
        return None if end is None else end + self.pending

    def settle(self) -> None:
        """Note that everything queued is safe and its position is committed."""
        self.safe = Count(self.records, self.bytes, self.last_timestamp_ms, self.remote_end_now())
        self.commits += self.position != self.committed
        self.committed = self.position
        if self.chunk and self.committed >= self.cautious_until:
            self.chunk = 0
            self.easy_bytes = self.limit_bytes - BATCH_OVERHEAD_BYTES

    def be_careful(self, until: int, chunk: int) -> None:
        """Commit after at most `chunk` records until an offset is behind.

        With one record between two commits, it is known which one the target refuses.
        """
        self.cautious_until = max(self.cautious_until, until)
        self.chunk = max(chunk, 1)
        self.easy_bytes = -1

    def skip_to(self, log_start_offset: int) -> None:
        """Note records that were deleted before they were copied."""
        lost = log_start_offset - self.position
        self.find(
            f"Offsets {self.position} to {log_start_offset - 1} of {self.where} were deleted on the "
            f"source (retention) before they were copied: up to {lost} records are missing on the "
            "target."
        )
        self.position = log_start_offset

    def find(self, finding: str) -> None:
        """Note something that a person must know although copying continues."""
        if finding not in self.findings:
            self.findings.append(finding)

    def has_zero_timestamp(self, offset: int) -> None:
        """Note a record whose timestamp the client library takes for "now"."""
        if offset <= self.last_zero_timestamp:
            return  # the same record, written again
        if not self.zero_timestamps:
            self.first_zero_timestamp = offset
        self.zero_timestamps += 1
        self.last_zero_timestamp = offset

    def fail(self, reason: str) -> None:
        """Stop here for good: somebody has to do something."""
        self.state, self.reason, self.retry_at = CopyState.FAILED, reason, None

    def set_aside(self, reason: str, retry_at: float, denied: str = "") -> None:
        """Stop here for a while; `denied` as in `PartitionProgress`."""
        self.denied = denied
        self.state, self.reason, self.retry_at = CopyState.RETRYING, reason, retry_at

    def progress(self, away: str = "") -> PartitionProgress:
        """Return what a person sees; `away` is why a whole cluster does not answer now."""
        state, reason = self.state, self.reason
        if state is CopyState.CAUGHT_UP and self.position != self.committed:
            state = CopyState.COPYING
        if away and self.is_open:
            state, reason = CopyState.RETRYING, away
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
            commits=self.commits,
            findings=tuple(self._all_findings()),
            denied=self.denied,
        )

    def _all_findings(self) -> list[str]:
        found = list(self.findings)
        if self.duplicates:
            found.append(
                f"{self.duplicates} records were written to {self.remote} after the last committed "
                "position, by this flow unless somebody else writes there, and were written again "
                "(at-least-once)."
            )
        if self.zero_timestamps:
            found.append(
                f"{self.zero_timestamps} records, the first at offset {self.first_zero_timestamp}, "
                "have the timestamp 0, which the record path cannot write: on the target they have "
                "the time of copying."
            )
        return found

    def is_large(self, size: int) -> bool:
        """Return whether the target may refuse a record of this size (key, value, headers)."""
        return size > self.limit_bytes - BATCH_OVERHEAD_BYTES
