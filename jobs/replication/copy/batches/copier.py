"""The batch path as an engine: sessions one after the other, and what to do about what ended one."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.offsets import LATEST, ListedOffset, list_offsets
from jobs.cluster.protocol.data.transactions import ProducerIdentity
from jobs.cluster.protocol.transport.timing import LASTING_S, Patience, Timing
from jobs.replication.copy.batches.commit import CommitPace, CommitWriter
from jobs.replication.copy.batches.errors import apply_error, is_late, leaves
from jobs.replication.copy.batches.fetch import Fetcher, FetchOptions
from jobs.replication.copy.batches.filter import BatchFilter
from jobs.replication.copy.batches.leaders import Leaders
from jobs.replication.copy.batches.markers import transactional_id
from jobs.replication.copy.batches.outgoing import Memory
from jobs.replication.copy.batches.partition import BatchPartition, Reached
from jobs.replication.copy.batches.produce import Sender, Window
from jobs.replication.copy.batches.session import BatchSession
from jobs.replication.copy.batches.source_resets import check_topic_id
from jobs.replication.copy.batches.target_state import DEFAULT_LIMIT_BYTES, TargetState, in_thread
from jobs.replication.copy.batches.transactions import (
    SLACK_MS,
    Delivery,
    ProducerSettings,
    UnfinishedTransaction,
)
from jobs.replication.copy.contract import (
    AssignmentChanges,
    PartitionStart,
    Report,
)
from jobs.replication.copy.positions import positions_topic
from jobs.replication.copy.quotas import FetchScheduler, Quotas, Throttle
from jobs.replication.flow.spec import FlowSpec, Guarantee, IsolationLevel
from jobs.waiting import wait_up_to

logger = logging.getLogger(__name__)

REPORT_INTERVAL_S = 1.0
# What a task as a whole took is reported so often.
TASK_INTERVAL_S = 5.0
LONGEST_BACKOFF_S = 5.0
# After the request to stop, what is on its way gets this long to arrive; the next start aborts it.
STOP_GRACE_S = 8.0
PATIENCE_S = 3.0
# A broker of the target that hangs holds up a whole transaction, so it is given up sooner than others.
TARGET_TIMING = Timing(request_timeout_s=10.0)

HandOver = Callable[[PartitionStart, str], None]


class BatchCopier:
    """Copies partitions batch by batch, once; see `contract` for the invariants it keeps.

    `slot` is the number of this share of the flow: together with the flow's name it makes the
    transactional id, so two copiers with the same slot fence each other and the later one wins. `hand_over`
    takes what only the record path can copy. `unprepared` are the partitions about which the target is
    to be queried before they are copied.
    """

    def __init__(
        self,
        flow: FlowSpec,
        slot: int,
        should_stop: Callable[[], bool],
        report: Report,
        hand_over: HandOver,
        changes: AssignmentChanges | None = None,
    ) -> None:
        self._flow = flow
        self._is_exact = flow.delivery is Guarantee.EXACTLY_ONCE
        self._settings = ProducerSettings(
            transactional_id(flow, slot) if self._is_exact else None,
            flow.commit_interval_ms + SLACK_MS,
        )
        self._identity: ProducerIdentity | None = None
        self._unfinished = UnfinishedTransaction()
        self.parts: list[BatchPartition] = []
        self.unprepared: list[BatchPartition] = []
        self._changes = changes
        self.throttle = Throttle(flow.max_bytes_per_s, time.monotonic)
        self._quotas = Quotas(time.monotonic)
        self.fetch_scheduler = FetchScheduler()
        self._window = Window()
        self._should_stop = should_stop
        self._report = report
        self._hand_over = hand_over
        self._told: dict[TopicPartition, tuple[object, ...]] = {}
        self._tell_at = self._task_at = 0.0
        self._task: tuple[float | None, int, int] = (None, 0, 0)
        self._woken = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        if changes is not None:
            changes.listen(self.wake)
        self._target_state = TargetState(flow)
        self._session: BatchSession | None = None
        self._commit_ms: float | None = None
        self._pending: dict[TopicPartition, Reached] = {}
        self._problem = ""
        self._patience = Patience(waits_for_people=True)

    def copy(self, starts: Sequence[PartitionStart]) -> None:
        """Copy until a stop or, where nothing can be requested, until no partition can be copied.

        Raises `ClusterFault` for faults that need an operator, `ProducerFenced` among them.
        """
        for start in starts:
            self._take_on(start)
        asyncio.run(self._run())

    def wake(self) -> None:
        """Look at once whether something is requested, or whether to stop; from any thread."""
        with contextlib.suppress(RuntimeError):  # it is over
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._woken.set()
        if self._session is not None:
            self._session.wake()

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        prefix = threading.current_thread().name
        executor = ThreadPoolExecutor(thread_name_prefix=prefix)
        self._loop.set_default_executor(executor)
        failures = 0
        while not self._should_stop() and self._has_work():
            self.apply_changes()
            before = sum(part.committed for part in self.parts)
            self._problem = await self._try() if any(p.is_open for p in self.parts) else ""
            self._part_ways()
            progressed = sum(part.committed for part in self.parts) != before
            failures = failures + 1 if self._problem and not progressed else 0
            if progressed:
                self._patience.succeeded()
            await self._pause(failures)
        self._tell()

    def _has_work(self) -> bool:
        return self._changes is not None or any(part.is_open for part in self.parts)

    def _may_change(self) -> bool:
        """Whether something is requested; not while it is unknown whether the last commit counts."""
        return self._changes is not None and self._changes.is_waiting and not self._pending

    def apply_changes(self) -> None:
        """Take partitions on and let others go: between two sessions nothing is on its way."""
        if self._changes is None or not self._may_change():
            return
        self._tell()
        released: list[PartitionStart] = []
        for change in self._changes.take():
            if isinstance(change, PartitionStart):
                self._take_on(change)
            else:
                released += self._let_go(change)
        self._changes.release(released)

    def _take_on(self, start: PartitionStart) -> None:
        read_committed = self._flow.isolation_level is IsolationLevel.READ_COMMITTED
        batch_filter = BatchFilter(DEFAULT_LIMIT_BYTES, read_committed)
        part = BatchPartition(start, batch_filter, counts_duplicates=not self._is_exact)
        self.parts.append(part)
        self.unprepared.append(part)

    def _let_go(self, where: TopicPartition) -> list[PartitionStart]:
        left = [part for part in self.parts if part.where == where]
        for part in left:
            part.begin()  # forgets what was sent and not committed
            self.parts.remove(part)
            self._told.pop(where, None)
        self.unprepared = [part for part in self.unprepared if part.where != where]
        return [part.next_start() for part in left]

    def _is_interrupted(self) -> bool:
        return self._should_stop() or (self._changes is not None and self._changes.is_waiting)

    def _part_ways(self) -> None:
        """Hand over the partitions that stopped because of what only the record path can copy."""
        for part in [part for part in self.parts if part.record_path_reason]:
            self.parts.remove(part)
            self._hand_over(part.next_start(), part.record_path_reason)

    async def _try(self) -> str:
        """Run one session; returns what broke it, if it is something that a pause may help against."""
        began_s = time.monotonic()
        session = asyncio.create_task(self._run_session())
        session.add_done_callback(lambda _: self._woken.set())
        try:
            await self._watch(session)
            session.result()
        except asyncio.CancelledError:
            if not session.cancelled():
                raise
            logger.warning("stopped before the target acknowledged everything")
        except (ExceptionGroup, ClusterFault) as error:
            logger.warning("session ended: %s", "; ".join(map(str, leaves(error))))
            if is_late(error):
                self._window.shrink()
            problem = apply_error(error, self.parts)
            if time.monotonic() - began_s >= LASTING_S:
                self._patience.succeeded()
            for fault in leaves(error):
                if isinstance(fault, ClusterFault) and self._patience.is_over(fault):
                    raise fault from None
            return problem
        finally:
            session.cancel()
        return ""

    async def _watch(self, session: asyncio.Task[None]) -> None:
        """Tell how it goes until a session ends, or must end."""
        end = math.inf
        while not session.done():
            self.tune()
            self._part_ways()
            await self._wait(REPORT_INTERVAL_S)
            self._tell_in_time()
            if end == math.inf and self._should_stop():
                end = time.monotonic() + STOP_GRACE_S
            if time.monotonic() >= end:
                session.cancel()

    async def _run_session(self) -> None:
        flow = self._flow
        if self.unprepared:
            await in_thread(lambda: self._target_state.prepare(self.unprepared))
            self.unprepared.clear()
        async with (
            RawCluster(flow.source, client_id=flow.name, rack=flow.client_rack or None) as source,
            RawCluster(flow.target, client_id=flow.name, timing=TARGET_TIMING) as target,
        ):
            delivery = Delivery(target, self._settings, self._identity, self._unfinished)
            try:
                await delivery.begin()
                await self._run_with(source, target, delivery)
            finally:
                self._identity = delivery.last_identity

    async def _run_with(
        self, source_cluster: RawCluster, target_cluster: RawCluster, delivery: Delivery
    ) -> None:
        """Copy as the only producer; what is known of the partitions is true from here on."""
        if self._pending:
            pending = dict(self._pending)
            await in_thread(
                lambda: self._target_state.resolve_uncertain_commit(self.parts, pending)
            )
            self._pending.clear()
        parts = [part for part in self.parts if part.is_open]
        for part in parts:
            part.begin()
        source = Leaders(source_cluster, self._source_topics(parts))
        target = Leaders(target_cluster, self._target_topics(parts))
        await source.learn()
        await target.learn()
        for part in parts:
            check_topic_id(part, source.topic_id(part.where.topic))
        await self._find_remote_ends(target_cluster, parts)
        await self._run_loops(parts, source, target, delivery)

    async def _run_loops(
        self, parts: list[BatchPartition], source: Leaders, target: Leaders, delivery: Delivery
    ) -> None:
        sender = Sender(target, parts, delivery, self._window, self._quotas)
        committed = self._flow.isolation_level is IsolationLevel.READ_COMMITTED
        commits = CommitPace(self._flow.commit_interval_ms / 1000, readers_wait=self._is_exact)
        memory = Memory(self._flow.name)
        reading = FetchOptions(
            committed, self.throttle, self._quotas, self.fetch_scheduler, commits, memory
        )
        fetcher = Fetcher(source, parts, reading, sender)
        commit_writer = CommitWriter(
            source,
            target,
            delivery,
            self._target_state.internal_topics,
            self._target_state.positions,
        )
        session = BatchSession(parts, fetcher, sender, commit_writer, commits, self._is_interrupted)
        self._session, self._problem = session, ""
        try:
            await session.run()
        finally:
            memory.close()
            self._session = None
            self._pending = dict(session.committing)

    async def _find_remote_ends(self, target: RawCluster, parts: list[BatchPartition]) -> None:
        """At least once: note where remote partitions end, to know what is written twice after a crash."""
        fresh = [part for part in parts if part.counts_duplicates and part.remote_end is None]
        if not fresh:
            return
        moments = {part.remote: LATEST for part in fresh}
        ends = await list_offsets(target, moments, read_committed=False)
        for part in fresh:
            end = ends[part.remote]
            if isinstance(end, ListedOffset):
                part.remote_end = part.safe_end = end.offset
                part.needs_note = True

    def _source_topics(self, parts: list[BatchPartition]) -> set[str]:
        books = self._target_state.internal_topics
        own = {books.syncs_topic} if books.syncs_on_source else set()
        return {part.where.topic for part in parts} | {name for name in own if name}

    def _target_topics(self, parts: list[BatchPartition]) -> set[str]:
        books = self._target_state.internal_topics
        own = set() if books.syncs_on_source else {books.syncs_topic}
        own.add(positions_topic(self._flow.source.alias))
        return {part.remote.topic for part in parts} | {name for name in own if name}

    def tune(self) -> None:
        """Use the limit and the priorities that are requested now."""
        if self._changes is not None:
            self.throttle.per_s = self._changes.tuning.max_bytes_per_s
            self.fetch_scheduler.prefer(self._changes.tuning.priorities)
        if self._session is not None and self._session.commit_ms is not None:
            self._commit_ms = round(self._session.commit_ms, 1)
        now = time.monotonic()
        if now >= self._task_at or self._task[0] is None:
            self._task_at = now + TASK_INTERVAL_S
            self._task = (self._commit_ms, self.throttle.rested_ms, self._quotas.rested_ms)

    def _tell_in_time(self) -> None:
        now = time.monotonic()
        if now >= self._tell_at:
            self._tell_at = now + REPORT_INTERVAL_S
            self._tell()

    def _tell(self) -> None:
        """Report the partitions that look different from the last report."""
        changed = []
        away = self._problem or self._slowness()
        commit_ms, throttled_ms, quota_ms = self._task
        for part in self.parts:
            looks = (away, self._task, *part.looks())
            if self._told.get(part.where) != looks:
                self._told[part.where] = looks
                changed.append(
                    replace(
                        part.progress(away),
                        commit_ms=commit_ms,
                        throttled_ms=throttled_ms,
                        quota_ms=quota_ms,
                    )
                )
        if changed:
            self._report(changed)

    def _slowness(self) -> str:
        waited_s = self._session.waited_s() if self._session is not None else 0.0
        if waited_s <= PATIENCE_S:
            return ""
        return f"{self._flow.target.alias} has not acknowledged for {waited_s:.0f} s."

    async def _wait(self, longest_s: float) -> None:
        """Wait until something is to be looked at."""
        await wait_up_to(self._woken.wait(), longest_s)
        self._woken.clear()

    async def _pause(self, failures: int) -> None:
        """Wait a little after failures in a row, or until there is something to do."""
        seconds = min(0.25 * 2.0 ** min(failures - 1, 10), LONGEST_BACKOFF_S) if failures else 0.0
        end = time.monotonic() + seconds
        while not self._should_stop() and self._has_work():
            is_due = time.monotonic() >= end and any(part.is_open for part in self.parts)
            if is_due or self._may_change():
                return
            self._tell_in_time()
            until_s = end - time.monotonic()
            await self._wait(min(until_s, REPORT_INTERVAL_S) if until_s > 0 else REPORT_INTERVAL_S)
