"""One share of a flow: each partition on the path that fits it, both paths side by side."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from jobs.cluster.admin.configs import read_topic_configs
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.transport.apis import FETCH, PRODUCE
from jobs.replication.copy.batches.copier import BatchCopier
from jobs.replication.copy.contract import (
    AssignmentChanges,
    CopyLimits,
    CopyState,
    PartitionProgress,
    PartitionStart,
    Report,
)
from jobs.replication.copy.records.copier import RecordCopier
from jobs.replication.flow.spec import CopyPath, FlowSpec, Guarantee

logger = logging.getLogger(__name__)

_TIMESTAMP_TYPE = "message.timestamp.type"
POLL_INTERVAL_S = 0.2
RETRY_DELAY_S = 2.0
WITHOUT_TRANSACTIONS = (
    "Records are copied one by one, at least once and not exactly once: after a crash some may be twice in "
    "the target."
)


def record_path_reason(flow: FlowSpec, remote_configs: Mapping[str, str], lacks: str = "") -> str:
    """Return why a partition cannot take the batch path; empty when it can.

    `remote_configs` are the settings of its remote topic, `lacks` what `lacks_batches` says. What only the
    bytes tell (an old format) is found out while copying.
    """
    if flow.path is CopyPath.RECORD:
        return "the flow is set to copy record by record"
    if lacks:
        is_exact = flow.delivery is Guarantee.EXACTLY_ONCE
        return f"{lacks} {WITHOUT_TRANSACTIONS}" if is_exact else lacks
    if remote_configs.get(_TIMESTAMP_TYPE) == "LogAppendTime":
        return (
            "the remote topic has message.timestamp.type=LogAppendTime, and a batch would keep the "
            "times of the source"
        )
    return ""


def lacks_batches(source: ClusterClient, target: ClusterClient) -> str:
    """Return which broker cannot serve or take whole batches, in a sentence; "": none of those that answer.

    Raises `ClusterFault`.
    """
    for client, speaks in ((source, FETCH), (target, PRODUCE.speaks)):
        found = client.ask("Reading versions", partial(RawCluster.offers, speaks=speaks))
        lacking = [str(broker) for broker, offers in sorted(found.items()) if offers is False]
        if lacking:
            verb = "does" if len(lacking) == 1 else "do"
            return (
                f"{client.connection.alias}: broker {', '.join(lacking)} {verb} not have version "
                f"{speaks.versions[-1]} of the request {speaks.name}, which came with Kafka {speaks.since} "
                "and which copying whole batches needs."
            )
    return ""


class FlowCopier:
    """Copies one share of a flow once: the record path beside the batch path; when one fails, both end.

    See `contract`. `slot` is the number of this share.
    """

    def __init__(
        self,
        flow: FlowSpec,
        slot: int,
        should_stop: Callable[[], bool],
        report: Report,
        changes: AssignmentChanges | None = None,
    ) -> None:
        self._flow = flow
        self._slot = slot
        self._asked_to_stop = should_stop
        self._report = report
        self._changes = changes
        # What threads of a flow cost is found by the beginning of their names.
        name = f"{flow.name}: task {slot}"
        self._batches = CopyThread(f"{name}: batches", self._copy_batches, self._inner())
        self._records = CopyThread(f"{name}: records", self._copy_records, self._inner())
        self._lock = threading.RLock()
        self._copy_threads: dict[TopicPartition, CopyThread] = {}
        self._reasons: dict[TopicPartition, str] = {}
        self._leaving: set[TopicPartition] = set()
        self._coming: list[PartitionStart] = []
        self._place_at = 0.0
        self._error: BaseException | None = None
        self._woken = threading.Event()
        self._batch_copiers: list[BatchCopier] = []
        if changes is not None:
            changes.listen(self._woken.set)

    def _inner(self) -> AssignmentChanges | None:
        return (
            None
            if self._changes is None
            else AssignmentChanges(self._released, self._changes.tuning)
        )

    def copy(self, starts: Sequence[PartitionStart]) -> None:
        """Copy until told to stop; raises `ClusterFault` for faults that need an operator."""
        self._coming = list(starts)
        self._keep_error(self._place_coming)
        while (self._changes is not None or self._coming) and not self._should_stop():
            self._woken.wait(POLL_INTERVAL_S)
            self._woken.clear()
            self._keep_error(self._route)
        for copier in tuple(self._batch_copiers):
            copier.wake()
        self._batches.join()
        self._records.join()
        if self._error is not None:
            raise self._error

    def _should_stop(self) -> bool:
        """Whether to end: told to, or because the other path failed."""
        return self._asked_to_stop() or self._error is not None

    def _route(self) -> None:
        """Pass a request to the path that it is about."""
        if self._changes is not None:
            self._take(self._changes)
        if self._coming and time.monotonic() >= self._place_at:
            self._place_coming()

    def _take(self, changes: AssignmentChanges) -> None:
        self._tune(changes.tuning)
        for change in changes.take():
            if isinstance(change, PartitionStart):
                self._coming.append(change)
                self._place_at = 0.0
            else:
                self._let_go(change, changes)

    def _tune(self, limits: CopyLimits) -> None:
        """Pass limit and priorities on; two paths at work share the limit."""
        both = (self._batches, self._records)
        limit, begun = limits.max_bytes_per_s, sum(thread.is_begun for thread in both)
        each = replace(limits, max_bytes_per_s=limit / max(begun, 1) if limit else None)
        for thread in both:
            assert thread.changes is not None  # noqa: S101  as the outer one
            thread.changes.tuning = each

    def _place_coming(self) -> None:
        """Begin with what came, each on the path that fits it; later if the target does not answer now."""
        try:
            self._place(self._coming)
        except ClusterFault as fault:
            if not fault.retriable:
                raise
            self._place_at = time.monotonic() + RETRY_DELAY_S
            why = f"{fault} {fault.hint}"
            self._report(
                [
                    PartitionProgress(s.topic, s.partition, s.position, CopyState.RETRYING, why)
                    for s in self._coming
                ]
            )
        else:
            self._coming = []

    def _place(self, starts: Sequence[PartitionStart]) -> None:
        reasons = self._find_reasons(starts) if starts else {}
        with self._lock:
            for start, why in reasons.items():
                self._copy_threads[start.where] = self._records if why else self._batches
                if why:
                    self._reasons[start.where] = why
            self._batches.add([start for start, why in reasons.items() if not why])
            self._records.add([start for start, why in reasons.items() if why])

    def _find_reasons(self, starts: Sequence[PartitionStart]) -> dict[PartitionStart, str]:
        """Return why partitions take the record path, "" for those that do not; raises `ClusterFault`."""
        flow, topics = self._flow, {start.remote_topic for start in starts}
        with ClusterClient(flow.source) as source, ClusterClient(flow.target) as target:
            configs = read_topic_configs(target, topics, [_TIMESTAMP_TYPE])
            lacks = "" if flow.path is CopyPath.RECORD else lacks_batches(source, target)
        return {
            start: record_path_reason(flow, configs.get(start.remote_topic, {}), lacks)
            for start in starts
        }

    def _let_go(self, where: TopicPartition, changes: AssignmentChanges) -> None:
        coming = [start for start in self._coming if start.where == where]
        if coming:
            self._coming = [start for start in self._coming if start.where != where]
            changes.release(coming)
            return
        with self._lock:
            thread = self._copy_threads.get(where)
            if thread is not None and thread.changes is not None:
                self._leaving.add(where)
                thread.changes.remove([where])

    def _released(self, released: Sequence[PartitionStart]) -> None:
        assert self._changes is not None  # noqa: S101  otherwise it is not called
        with self._lock:
            for one in released:
                self._leaving.discard(one.where)
                self._copy_threads.pop(one.where, None)
                self._reasons.pop(one.where, None)
        self._changes.release(released)

    def _hand_over(self, start: PartitionStart, why: str) -> None:
        """Take a partition that only the record path can copy."""
        with self._lock:
            self._reasons[start.where] = why
            self._copy_threads[start.where] = self._records
            self._records.add([start])
            if start.where in self._leaving and self._records.changes is not None:
                self._records.changes.remove([start.where])

    def _copy_batches(
        self, starts: Sequence[PartitionStart], changes: AssignmentChanges | None
    ) -> None:
        copier = BatchCopier(
            self._flow, self._slot, self._should_stop, self._report, self._hand_over, changes
        )
        self._batch_copiers.append(copier)
        self._keep_error(lambda: copier.copy(starts))

    def _copy_records(
        self, starts: Sequence[PartitionStart], changes: AssignmentChanges | None
    ) -> None:
        logger.info("record path for %d partitions", len(starts))
        copier = RecordCopier(self._flow, max_bytes_per_s=self._flow.max_bytes_per_s)
        self._keep_error(lambda: copier.copy(starts, self._should_stop, self._tell, changes))

    def _keep_error(self, work: Callable[[], object]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  raised again by `run`, in the task's thread
            logger.warning("a path ended: %s", error)
            self._error = self._error or error
            self._woken.set()

    def _tell(self, rows: Sequence[PartitionProgress]) -> None:
        self._report(
            [
                replace(
                    row, path_reason=self._reasons.get(TopicPartition(row.topic, row.partition), "")
                )
                for row in rows
            ]
        )


Work = Callable[[Sequence[PartitionStart], AssignmentChanges | None], None]


class CopyThread:
    """Copies partitions by one engine; `work` is its `copy`, called in a thread.

    With `changes` one call takes everything that comes later too; without, every addition is a call of
    its own, which returns when it has nothing left to do.
    """

    def __init__(self, name: str, work: Work, changes: AssignmentChanges | None) -> None:
        self.changes = changes
        self._name = name
        self._work = work
        self._threads: list[threading.Thread] = []

    @property
    def is_begun(self) -> bool:
        """Whether this path has, or had, something to do."""
        return bool(self._threads)

    def add(self, starts: Sequence[PartitionStart]) -> None:
        """Take partitions on; asked by one thread at a time."""
        if not starts:
            return
        if self._threads and self.changes is not None:
            self.changes.add(starts)
            return
        thread = threading.Thread(
            target=self._work, args=(starts, self.changes), name=self._name, daemon=True
        )
        self._threads.append(thread)
        thread.start()

    def join(self) -> None:
        """Wait until everything is over, also what is added meanwhile."""
        for thread in self._threads:
            thread.join()
