"""What the record path knows of one partition while it copies it."""

from __future__ import annotations

from dataclasses import dataclass, field

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import RecordTooLarge
from jobs.cluster.records import TIMESTAMP_NOT_AVAILABLE, Message
from jobs.replication.copier import PartitionProgress, PartitionStart, PartitionState

# What a record takes in a batch of its own beside key, value and headers.
BATCH_OVERHEAD_BYTES = 80
HEADER_OVERHEAD_BYTES = 8


@dataclass(slots=True)
class CopiedPartition:
    """`position` is read and queued up to here, `committed` is safe in the target up to here.

    `limit_bytes` is the remote topic's `max.message.bytes`; `remote_end` where the remote partition
    ended when the copying began (None: not known).
    """

    start: PartitionStart
    limit_bytes: int
    remote_end: int | None
    position: int = 0
    committed: int = 0
    state: PartitionState = PartitionState.STARTING
    reason: str = ""
    at_end: bool = False
    last_timestamp_ms: int | None = None
    records: int = 0
    bytes: int = 0
    duplicates: int = 0
    lost_timestamps: int = 0
    findings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.position = self.committed = self.start.position
        before, now = self.start.remote_end, self.remote_end
        if before is not None and now is not None and now > before:
            # Written after the last commit of the run before this one: they come again now.
            self.duplicates = now - before
            self.findings.append(
                f"{self.duplicates} records were written to {self.remote_topic}-{self.partition} "
                "after the last committed position and are written again (at-least-once)."
            )

    @property
    def where(self) -> TopicPartition:
        """Topic and partition on the source."""
        return TopicPartition(self.start.topic, self.start.partition)

    @property
    def partition(self) -> int:
        """The number of the partition, the same on both sides."""
        return self.start.partition

    @property
    def remote_topic(self) -> str:
        """The topic on the target."""
        return self.start.remote_topic

    @property
    def is_open(self) -> bool:
        """Whether this partition can go on."""
        return self.state not in (PartitionState.FAILED, PartitionState.STOPPED)

    def size_of(self, message: Message) -> int:
        """Return an upper bound of the bytes that the record takes in a batch of its own."""
        size = len(message) + len(message.key() or b"") + BATCH_OVERHEAD_BYTES
        for name, value in message.headers() or ():
            size += len(name) + len(value or b"") + HEADER_OVERHEAD_BYTES
        return size

    def timestamp_of(self, message: Message) -> int:
        """Return the timestamp to write; counts those that the client library cannot write.

        librdkafka takes 0 for "now", so a record with timestamp 0 or none would get the present time.
        """
        kind, timestamp = message.timestamp()
        if kind == TIMESTAMP_NOT_AVAILABLE or timestamp <= 0:
            self.lost_timestamps += 1
            return 0
        return timestamp

    def queued(self, message: Message, size: int) -> None:
        """Note that a record was handed to the producer."""
        self.position = (message.offset() or 0) + 1
        self.records += 1
        self.bytes += size - BATCH_OVERHEAD_BYTES
        timestamp = message.timestamp()[1]
        if timestamp > 0:
            self.last_timestamp_ms = timestamp
        self.at_end = False
        self.state, self.reason = PartitionState.COPYING, ""

    def reached_end(self, offset: int) -> None:
        """Note the end of the log: markers up to there are no records, so the position passes them."""
        self.position = max(self.position, offset)
        self.at_end = True
        if self.is_open:
            self.state, self.reason = PartitionState.CAUGHT_UP, ""

    def skip_to(self, log_start_offset: int) -> None:
        """Note records that retention deleted before they were copied."""
        lost = log_start_offset - self.position
        self.findings.append(
            f"Offsets {self.position} to {log_start_offset - 1} of {self.where} were deleted by "
            f"retention before they were copied: up to {lost} records are missing on the target."
        )
        self.position = log_start_offset

    def refuse_record(self, offset: int, size: int) -> None:
        """Stop before a record that the target does not take."""
        self.position = offset
        self.fail(
            PartitionState.FAILED,
            f"Record {self.where} offset {offset} has {size} bytes, more than {self.remote_topic} "
            f"takes (max.message.bytes={self.limit_bytes}). {RecordTooLarge.hint}",
        )

    def fail(self, state: PartitionState, reason: str) -> None:
        """Note why this partition does not go on."""
        self.state, self.reason = state, reason

    def go_back(self) -> None:
        """Begin again at the committed position: what was queued since may have been written."""
        if self.position > self.committed:
            self.duplicates += self.position - self.committed
        self.position = self.committed
        self.at_end = False

    def progress(self, away: str = "") -> PartitionProgress:
        """Return what a person sees; `away` is why no cluster answers at the moment."""
        state, reason = self.state, self.reason
        if away and self.is_open:
            state, reason = PartitionState.RETRYING, away
        findings = list(self.findings)
        if self.lost_timestamps:
            findings.append(
                f"{self.lost_timestamps} records without a timestamp above 0 got the time of "
                "copying: the record path cannot write such timestamps."
            )
        return PartitionProgress(
            topic=self.where.topic,
            partition=self.partition,
            position=self.committed,
            state=state,
            reason=reason,
            last_timestamp_ms=self.last_timestamp_ms,
            records=self.records,
            bytes=self.bytes,
            duplicates=self.duplicates,
            findings=tuple(findings),
        )
