"""The batch path as an engine: sessions one after the other, and what to do about what ended one."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.raw.cluster import RawCluster
from jobs.cluster.raw.errors import BatchTooLarge, FaultKind, OutcomeUnknown, kind_of
from jobs.cluster.topics import describe_topics, read_topic_configs
from jobs.replication.batches.batch_partition import BatchPartition
from jobs.replication.batches.delivery import Delivery, ProducerSettings
from jobs.replication.batches.fetching import Fetching, SourceChanged
from jobs.replication.batches.intake import Intake
from jobs.replication.batches.leaders import Leaders
from jobs.replication.batches.ledger import Books, Ledger
from jobs.replication.batches.sending import PartitionsRefused, Refusal, Sending
from jobs.replication.batches.session import BatchSession, Pace
from jobs.replication.batches.throttle import Throttle
from jobs.replication.copier import PartitionProgress, PartitionStart
from jobs.replication.fencing import transactional_id
from jobs.replication.flow import FlowSpec, Guarantee, IsolationLevel
from jobs.replication.internal_topics import syncs_place
from jobs.replication.positions import Positions, read_positions
from jobs.replication.positions_format import positions_topic
from jobs.replication.progress_report import Report
from jobs.replication.sync_tracker import SyncTracker
from jobs.wire.record_batch import has_valid_crc

logger = logging.getLogger(__name__)

TELL_S = 0.5
RETRY_S = 10.0
LONGEST_BACKOFF_S = 30.0
LOOK_S = 0.1
SMALLEST_LIMIT_BYTES = 1024
DEFAULT_LIMIT_BYTES = 1_048_588
_LIMIT = "max.message.bytes"

HandOver = Callable[[PartitionStart, str], None]


class BatchCopier:
    """Copies partitions batch by batch; see `copier.Copier` for the invariants it keeps.

    `slot` is the number of this share of the flow: together with the flow's name it makes the
    transactional id, so two copiers with the same slot fence each other and the later one wins.
    """

    def __init__(self, flow: FlowSpec, slot: int = 0, shares: int = 1) -> None:
        self.flow = flow
        self.slot = slot
        self.shares = shares

    def copy(
        self,
        partitions: Sequence[PartitionStart],
        should_stop: Callable[[], bool],
        report: Report,
        hand_over: HandOver,
    ) -> None:
        """Copy until told to stop; `hand_over` takes what only the record path can go on with.

        Raises `ClusterFault` for what nobody but a person can mend, `ProducerFenced` among them.
        """
        asyncio.run(_Copying(self, partitions, should_stop, report, hand_over).run())


class _Copying:
    """One call of `copy`."""

    def __init__(
        self,
        copier: BatchCopier,
        starts: Sequence[PartitionStart],
        should_stop: Callable[[], bool],
        report: Report,
        hand_over: HandOver,
    ) -> None:
        flow = self._flow = copier.flow
        exact = flow.delivery is Guarantee.EXACTLY_ONCE
        self._settings = ProducerSettings(transactional_id(flow, copier.slot) if exact else None)
        self._shares = copier.shares
        read_committed = flow.isolation_level is IsolationLevel.READ_COMMITTED
        self._parts = [
            BatchPartition(start, Intake(DEFAULT_LIMIT_BYTES, read_committed)) for start in starts
        ]
        self._should_stop = should_stop
        self._report = report
        self._hand_over = hand_over
        self._told: dict[tuple[str, int], PartitionProgress] = {}
        self._tell_at = 0.0
        self._known = Positions({})
        self._books = Books(flow.source.alias, 1, None)
        self._session: BatchSession | None = None
        self._commit_ms: float | None = None
        self._throttled_ms = 0
        self._is_prepared = False
        self._is_outcome_unknown = False
        self._pending: dict[TopicPartition, int] = {}

    async def run(self) -> None:
        """Copy until told to stop or until no partition can go on."""
        failures = 0
        while not self._should_stop() and any(part.is_open for part in self._parts):
            before = sum(part.committed for part in self._parts)
            problem = await self._try()
            self._part_ways()
            progressed = sum(part.committed for part in self._parts) != before
            failures = failures + 1 if problem and not progressed else 0
            await self._pause(failures, problem)
        self._tell("")

    def _part_ways(self) -> None:
        """Hand over the partitions that stopped because of what only the record path can copy."""
        for part in [part for part in self._parts if part.record_path_reason]:
            self._parts.remove(part)
            start = PartitionStart(*part.where, part.committed, part.remote.topic)
            self._hand_over(start, part.record_path_reason)

    async def _try(self) -> str:
        """Run one session; returns what broke it, if it is something that a pause may help against."""
        try:
            await self._run_session()
        except ExceptionGroup as group:
            return self._after(_worst(group))
        except (ClusterFault, PartitionsRefused, SourceChanged) as error:
            return self._after(error)
        return ""

    def _after(self, error: Exception) -> str:
        """Decide what a session's end means for the partitions and for the copier."""
        logger.warning("session ended: %s", error)
        if isinstance(error, PartitionsRefused):
            for part in self._parts:
                refusal = error.refusals.get(part.where)
                if refusal is not None:
                    self._judge(part, refusal)
            return ""
        if isinstance(error, SourceChanged):
            return ""
        if not isinstance(error, ClusterFault) or not _may_pass(error):
            raise error
        return f"{error} {error.hint}"

    def _judge(self, part: BatchPartition, refusal: Refusal) -> None:
        """Decide what a refusal of the target means for a partition; the others simply go on."""
        fault = refusal.fault
        kind = kind_of(fault)
        if kind is FaultKind.FENCED:
            raise fault
        if isinstance(fault, BatchTooLarge) and refusal.parcel.record_count > 1:
            part.intake.limit_bytes = max(len(refusal.parcel.batch) // 2, SMALLEST_LIMIT_BYTES)
        elif kind is FaultKind.BATCH_REFUSED:
            part.begin()
            part.fail(_refused_batch(part, refusal))
        elif kind not in (FaultKind.REFRESH_METADATA, FaultKind.NEW_TRANSACTION):
            reason = (
                f"Target partition {part.remote} takes no records: {fault.message} {fault.hint}"
            )
            part.begin()
            part.set_aside(reason, time.monotonic() + RETRY_S)

    async def _run_session(self) -> None:
        flow = self._flow
        if not self._is_prepared:
            await asyncio.to_thread(self._prepare)
        async with (
            RawCluster(flow.source, client_id=flow.name) as source_cluster,
            RawCluster(flow.target, client_id=flow.name) as target_cluster,
        ):
            delivery = Delivery(target_cluster, self._settings)
            await delivery.begin()
            if self._is_outcome_unknown:
                await asyncio.to_thread(self._reconcile)
            parts = self._ready()
            for part in parts:
                part.begin()
            source = Leaders(source_cluster, self._source_topics(parts))
            target = Leaders(target_cluster, self._target_topics(parts))
            await source.learn()
            await target.learn()
            await self._run_with(parts, source, target, delivery)

    async def _run_with(
        self,
        parts: list[BatchPartition],
        source: Leaders,
        target: Leaders,
        delivery: Delivery,
    ) -> None:
        sending = Sending(target, parts, delivery)
        limit = self._flow.max_bytes_per_s
        fetching = Fetching(
            source,
            parts,
            read_committed=self._flow.isolation_level is IsolationLevel.READ_COMMITTED,
            throttle=Throttle(limit / self._shares if limit else None, time.monotonic),
            sending=sending,
        )
        ledger = Ledger(source, target, delivery, self._books, self._known)
        pace = Pace(self._should_stop, self._tick, self._flow.commit_interval_ms / 1000)
        session = self._session = BatchSession(parts, fetching, sending, ledger, pace)
        try:
            await session.run(until=self._next_retry())
        finally:
            self._throttled_ms += fetching.throttled_ms
            self._is_outcome_unknown = session.is_committing
            self._pending = dict(session.committing)

    def _prepare(self) -> None:
        """Ask the target what it takes and what it knows."""
        flow = self._flow
        topics = {part.remote.topic for part in self._parts}
        with ClusterClient(flow.target) as target:
            configs = read_topic_configs(target, topics, [_LIMIT])
            self._known = read_positions(target, flow.source.alias)
            described = describe_topics(target, [positions_topic(flow.source.alias)])[0]
        for part in self._parts:
            limit = configs.get(part.remote.topic, {}).get(_LIMIT, DEFAULT_LIMIT_BYTES)
            part.intake.limit_bytes = int(limit)
            self._recall(part)
        topic, on_source = syncs_place(flow)
        self._books = Books(flow.source.alias, len(described.partitions), topic, on_source)
        self._is_prepared = True

    def _recall(self, part: BatchPartition) -> None:
        """Take what was noted beside the position that this partition starts from."""
        entry = self._known.entry(part.where)
        if entry is None or entry.next_offset != part.committed:
            return
        part.committed_epoch = -1 if entry.leader_epoch is None else entry.leader_epoch
        if entry.last_sync is not None:
            part.syncs = SyncTracker.after(entry.last_sync)

    def _reconcile(self) -> None:
        """Find out from the positions whether the last commit counts; nobody can change them now."""
        with ClusterClient(self._flow.target) as target:
            self._known = read_positions(target, self._flow.source.alias)
        for part in self._parts:
            position = self._pending.get(part.where)
            if position is not None and self._known.get(part.where) == position:
                part.settle(position)
        self._is_outcome_unknown = False

    def _ready(self) -> list[BatchPartition]:
        now = time.monotonic()
        return [p for p in self._parts if p.is_open and (p.retry_at is None or p.retry_at <= now)]

    def _next_retry(self) -> float:
        times = [part.retry_at for part in self._parts if part.retry_at is not None]
        return min(times, default=math.inf)

    def _source_topics(self, parts: list[BatchPartition]) -> set[str]:
        own = {self._books.syncs_topic} if self._books.syncs_on_source else set()
        return {part.where.topic for part in parts} | {name for name in own if name}

    def _target_topics(self, parts: list[BatchPartition]) -> set[str]:
        own = set() if self._books.syncs_on_source else {self._books.syncs_topic}
        own.add(positions_topic(self._flow.source.alias))
        return {part.remote.topic for part in parts} | {name for name in own if name}

    def _tick(self) -> None:
        now = time.monotonic()
        if self._session is not None and self._session.commit_ms is not None:
            self._commit_ms = round(self._session.commit_ms, 1)
        if now >= self._tell_at:
            self._tell_at = now + TELL_S
            self._tell("")

    def _tell(self, away: str) -> None:
        """Report the partitions that look different from the last report."""
        changed = []
        for part in self._parts:
            progress = replace(
                part.progress(away), commit_ms=self._commit_ms, throttled_ms=self._throttled_ms
            )
            if self._told.get(part.where) != progress:
                self._told[part.where] = progress
                changed.append(progress)
        if changed:
            self._report(changed)

    async def _pause(self, failures: int, problem: str) -> None:
        """Wait a little after failures in a row, and until a partition that is set aside is due."""
        seconds = min(0.25 * 2.0 ** (failures - 1), LONGEST_BACKOFF_S) if failures else 0.0
        end = time.monotonic() + seconds
        if not self._ready():
            end = max(end, self._next_retry())
        while time.monotonic() < end and not self._should_stop():
            if not any(part.is_open for part in self._parts):
                return
            self._tell(problem)
            await asyncio.sleep(LOOK_S)


def _may_pass(fault: ClusterFault) -> bool:
    """Return whether beginning again may help."""
    return (
        fault.retriable
        or isinstance(fault, OutcomeUnknown)
        or kind_of(fault) is FaultKind.NEW_TRANSACTION
    )


def _worst(group: ExceptionGroup[Exception]) -> Exception:
    """Return the error of a group that says most: what a person must mend comes first."""
    leaves = list(_leaves(group))
    final = [e for e in leaves if isinstance(e, ClusterFault) and not _may_pass(e)]
    strange = [
        e for e in leaves if not isinstance(e, ClusterFault | PartitionsRefused | SourceChanged)
    ]
    return (strange or final or leaves)[0]


def _leaves(group: ExceptionGroup[Exception]) -> Iterator[Exception]:
    for error in group.exceptions:
        if isinstance(error, ExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


def _refused_batch(part: BatchPartition, refusal: Refusal) -> str:
    """Say which records the target refuses, and whether the source's own bytes are damaged."""
    parcel, fault = refusal.parcel, refusal.fault
    offsets = f"{parcel.first_offset} to {parcel.last_offset}"
    what = f"The batch with the offsets {offsets} of {part.where}"
    if not has_valid_crc(parcel.batch):
        return (
            f"{what} is damaged on the source: its CRC is wrong. Nothing from there on was copied."
        )
    if isinstance(fault, BatchTooLarge):
        limit = part.intake.limit_bytes
        return (
            f"{what}, {len(parcel.batch)} bytes, is refused by the target: {part.remote.topic} takes "
            f"at most {limit} bytes (max.message.bytes). {fault.hint}"
        )
    said = "; ".join(f"record {index}: {message}" for index, message in refusal.records[:3])
    return (
        f"{what} is refused by the target: {fault.message} {said} Nothing from there on was copied. "
        f"Change the settings of {part.remote.topic} so that it takes the records, then restart the flow."
    )
