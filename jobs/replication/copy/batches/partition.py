"""One partition on the batch path: what is fetched, queued, sent, acknowledged and committed."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from uuid import UUID

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.batches.filter import BatchFilter, FilteredBatches
from jobs.replication.copy.batches.outgoing import OutgoingBatch
from jobs.replication.copy.contract import CopyState, PartitionProgress, PartitionStart
from jobs.replication.copy.sync_tracker import SyncTracker
from jobs.wire.rebatch.rebatcher import change_points

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0


class Reached(NamedTuple):
    """A position, and the leader epoch of the batch before it (-1: not known)."""

    next_offset: int
    leader_epoch: int


@dataclass(slots=True)
class Count:
    """How much was copied since the run began; bytes are those of batches, compressed as they are."""

    records: int = 0
    bytes: int = 0
    batches: int = 0
    packed: int = 0
    duplicates: int = 0
    last_timestamp_ms: int | None = None


@dataclass(slots=True, eq=False)
class BatchPartition:
    """A partition between two commits.

    `committed` is the position on the target, `fetched` the next offset to fetch. Everything
    between them is in `queue` (not sent), on its way, or acknowledged and not committed. Epochs belong to the
    batch before the offset that they stand beside.
    `where` is its topic and partition on the source, `remote` on the target.
    `retry_at` is a monotonic time at which a partition that is set aside is tried again, `blocked` why
    nothing moves although nothing failed. `topic_id` is that of the topic that is copied. `needs_note`: the
    position is to be written even if nothing is copied. `counts_duplicates`: no other producer writes to the
    remote partition, and no markers are there, so a gap behind `remote_end` is what was written twice.
    `keeps_up`: since the last commit there was a moment in which everything that the source had was sent.
    """

    start: PartitionStart
    batch_filter: BatchFilter
    counts_duplicates: bool = False
    committed: int = 0
    committed_epoch: int = -1
    fetched: int = 0
    leader_epoch: int = -1
    sent_epoch: int = -1
    queue: deque[OutgoingBatch] = field(default_factory=deque)
    queued_bytes: int = 0
    syncs: SyncTracker = field(default_factory=SyncTracker)
    count: Count = field(default_factory=Count)
    safe: Count = field(default_factory=Count)
    state: CopyState = CopyState.STARTING
    reason: str = ""
    blocked: str = ""
    retry_at: float | None = None
    retries: int = 0
    commits: int = 0
    refusals: int = 0
    denied: str = ""
    remote_end: int | None = None
    safe_end: int | None = None
    end_offset: int | None = None
    topic_id: UUID | None = None
    needs_note: bool = False
    keeps_up: bool = False
    stop_reason: str = ""
    needs_records: bool = False
    record_path_reason: str = ""
    findings: list[str] = field(default_factory=list)
    where: TopicPartition = field(init=False)
    remote: TopicPartition = field(init=False)

    def __post_init__(self) -> None:
        self.where = self.start.where
        self.remote = TopicPartition(self.start.remote_topic, self.start.partition)
        self.committed = self.fetched = self.start.position
        self.remote_end = self.safe_end = self.start.remote_end
        if self.start.leader_epoch is not None:
            self.committed_epoch = self.start.leader_epoch
        if self.start.last_sync is not None:
            self.syncs = SyncTracker.after(self.start.last_sync, self.start.untold_syncs)

    def next_start(self) -> PartitionStart:
        """Return where the next copier of this partition begins."""
        return replace(
            self.start,
            position=self.committed,
            remote_end=self.remote_end,
            leader_epoch=self.committed_epoch if self.committed_epoch >= 0 else None,
            last_sync=self.syncs.last,
            untold_syncs=self.syncs.untold(),
        )

    @property
    def is_open(self) -> bool:
        """Whether this partition can be copied, now or later."""
        return self.state not in (CopyState.FAILED, CopyState.STOPPED)

    @property
    def is_wanted(self) -> bool:
        """Whether more is to be fetched, as far as this partition is concerned."""
        until = self.batch_filter.until
        return self.is_open and self.retry_at is None and (until is None or self.fetched < until)

    @property
    def is_dirty(self) -> bool:
        """Whether there is something that a commit would make safe."""
        # As `reached`, but asked a hundred times a second.
        next_offset = self.queue[0].from_offset if self.queue else self.fetched
        return self.needs_note or next_offset != self.committed

    @property
    def reached(self) -> Reached:
        """The position when everything sent is acknowledged."""
        if self.queue:
            return Reached(self.queue[0].from_offset, self.sent_epoch)
        return Reached(self.fetched, self.leader_epoch)

    def begin(self) -> None:
        """Begin again at the committed position: what was fetched and not committed is forgotten.

        A partition that is set aside stays so.
        """
        self.queue.clear()
        self.queued_bytes = 0
        self.fetched = self.committed
        self.leader_epoch = self.sent_epoch = self.committed_epoch
        self.syncs.abort()
        self.count = replace(self.safe)
        self.remote_end = self.safe_end
        self.blocked = ""
        self.keeps_up = False
        if self.is_open and self.retry_at is None:
            self.state, self.reason = CopyState.STARTING, ""

    def receive(self, filtered: FilteredBatches) -> None:
        """Queue what came out of a fetch."""
        if not self.queue:
            self.sent_epoch = self.leader_epoch
        self.queue.extend(filtered.batches)
        self.queued_bytes += sum(len(outgoing.batch) for outgoing in filtered.batches)
        self.fetched = filtered.next_offset
        if filtered.leader_epoch >= 0:
            self.leader_epoch = filtered.leader_epoch

    def pick(self) -> OutgoingBatch:
        """Take the next outgoing batch off the queue, to be sent."""
        outgoing = self.queue.popleft()
        self.queued_bytes -= len(outgoing.batch)
        self.sent_epoch = outgoing.leader_epoch
        self._note_keeping_up()
        return outgoing

    def was_fetched(self, end_offset: int | None) -> None:
        """Note where the source's log ended when this partition was fetched last; None: not known."""
        self.end_offset, self.reason = end_offset, ""
        is_at_end = end_offset is not None and self.fetched >= end_offset
        self.state = CopyState.CAUGHT_UP if is_at_end else CopyState.COPYING
        self._note_keeping_up()

    def _note_keeping_up(self) -> None:
        self.keeps_up |= not self.queue and self.state is CopyState.CAUGHT_UP

    def acknowledged(self, outgoing: OutgoingBatch, base_offset: int) -> None:
        """Note where the target put an outgoing batch."""
        changes = change_points(
            outgoing.offsets, outgoing.first_offset, outgoing.record_count, base_offset
        )
        last = (outgoing.last_offset, base_offset + outgoing.record_count - 1)
        self.syncs.copied(changes, last)
        self._note_end(base_offset, last[1] + 1)
        self.refusals = 0
        self.count.records += outgoing.record_count
        self.count.bytes += len(outgoing.batch)
        self.count.batches += 1
        self.count.packed += outgoing.is_packed
        if outgoing.max_timestamp_ms >= 0:
            self.count.last_timestamp_ms = outgoing.max_timestamp_ms

    def _note_end(self, base_offset: int, end: int) -> None:
        if not self.counts_duplicates:
            return
        if self.remote_end is not None and base_offset > self.remote_end:
            self.count.duplicates += base_offset - self.remote_end
        self.remote_end = end

    def settle(self, reached: Reached) -> None:
        """Note that everything up to a position is committed, offset syncs included."""
        before = self.committed
        self.committed, self.committed_epoch = reached
        self.commits += self.committed != before
        self.needs_note = self.keeps_up = False
        self._note_keeping_up()
        self.safe = replace(self.count)
        self.safe_end = self.remote_end
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
        self.leader_epoch = -1
        if end_offset >= self.fetched:
            return
        self.find(
            f"{self.where} lost its records from offset {end_offset} to {self.fetched - 1} on the source "
            "after they were replicated (unclean leader election). They stay on the target; replication "
            f"resumed with the source's new records at offset {end_offset}."
        )
        self.fetched = end_offset

    def stop_at(self, offset: int, reason: str, *, needs_records: bool = False) -> None:
        """Copy up to an offset and end there: what comes then cannot be copied on this path.

        `needs_records`: the record path can, and takes over.
        """
        if self.batch_filter.until is None or offset < self.batch_filter.until:
            self.batch_filter.until = offset
            self.stop_reason, self.needs_records = reason, needs_records

    def end_when_done(self) -> None:
        """End here when everything before `stop_at`'s offset is committed."""
        if not self.is_open or not self.ends_at(self.committed):
            return
        if self.needs_records:
            self.record_path_reason = self.stop_reason
            self.state = CopyState.STOPPED
            self.reason = f"The record path takes over here: {self.stop_reason}."
        else:
            self.fail(self.stop_reason)

    def ends_at(self, offset: int) -> bool:
        """Whether nothing comes after this offset."""
        return self.batch_filter.until is not None and offset >= self.batch_filter.until

    def has_to_commit(self, now_s: float, *, is_last: bool = False) -> bool:
        """Whether a commit has something to do here: make safe what is sent, or tell what waited too long."""
        return self.is_dirty or (self.is_open and self.syncs.owes(now_s, at_once=is_last))

    def find(self, finding: str) -> None:
        """Note something that a person must know although copying continues."""
        if finding not in self.findings:
            self.findings.append(finding)

    def fail(self, reason: str) -> None:
        """Stop here for good: somebody has to do something."""
        self.state, self.reason, self.retry_at = CopyState.FAILED, reason, None

    def set_aside(self, reason: str, now_s: float, denied: str = "") -> None:
        """Stop here for a while, longer each time until something is acknowledged; `now_s`: monotonic."""
        self.denied = denied
        pause_s = min(FIRST_PAUSE_S * 2.0 ** min(self.refusals, 30), LONGEST_PAUSE_S)
        self.state, self.reason, self.retry_at = CopyState.RETRYING, reason, now_s + pause_s
        self.retries += 1
        self.refusals += 1

    def come_back(self, now_s: float) -> None:
        """Resume where it was set aside, when its time has come."""
        if self.retry_at is not None and self.retry_at <= now_s:
            self.state, self.reason, self.retry_at = CopyState.STARTING, "", None
            self.denied = ""

    def looks(self) -> tuple[object, ...]:
        """Return what `progress` depends on: where it is the same, so is the progress."""
        safe = (self.safe.records, self.safe.batches, self.safe.duplicates, self.committed)
        why = (self.state, self.reason, self.blocked, self.denied, self.is_dirty)
        return *safe, *why, self.retries, self.commits, self.end_offset, len(self.findings)

    def progress(self, away: str = "") -> PartitionProgress:
        """Return what a person sees; `away` is why a whole cluster does not answer now."""
        state, reason = self.state, self.reason
        if state is CopyState.CAUGHT_UP and self.is_dirty:
            state = CopyState.COPYING
        if self.is_open and (away or self.blocked):
            state, reason = CopyState.RETRYING, away or self.blocked
        return PartitionProgress(
            topic=self.start.topic,
            partition=self.start.partition,
            position=self.committed,
            state=state,
            reason=reason,
            last_timestamp_ms=self.safe.last_timestamp_ms,
            records=self.safe.records,
            bytes=self.safe.bytes,
            duplicates=self.safe.duplicates,
            path="batch",
            batches=self.safe.batches,
            packed=self.safe.packed,
            retries=self.retries,
            commits=self.commits,
            end_offset=self.end_offset,
            findings=(*self.findings, *self._doubled()),
            denied=self.denied,
        )

    def _doubled(self) -> tuple[str, ...]:
        if not self.safe.duplicates:
            return ()
        return (
            f"{self.safe.duplicates} records were written to {self.remote} after the last committed "
            "position, by this flow unless somebody else writes there, and were written again "
            "(at-least-once).",
        )
