"""One share of a flow: each partition on the path that fits it, both paths side by side."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from jobs.cluster.client import ClusterClient
from jobs.cluster.topics import read_topic_configs
from jobs.replication.batches.batch_copier import BatchCopier
from jobs.replication.copier import PartitionProgress, PartitionStart
from jobs.replication.flow import CopyPath, FlowSpec
from jobs.replication.progress_report import Report
from jobs.replication.record_copier import RecordCopier

logger = logging.getLogger(__name__)

_TIMESTAMP_TYPE = "message.timestamp.type"
LOOK_S = 0.2


def record_path_reason(flow: FlowSpec, remote_configs: Mapping[str, str]) -> str:
    """Return why a partition cannot take the batch path; empty when it can.

    `remote_configs` are the settings of its remote topic. What only the bytes tell (an old format) is
    found out while copying.
    """
    if flow.path is CopyPath.RECORD:
        return "the flow is set to copy record by record"
    if remote_configs.get(_TIMESTAMP_TYPE) == "LogAppendTime":
        return (
            "the remote topic has message.timestamp.type=LogAppendTime, and a batch would keep the "
            "times of the source"
        )
    return ""


class FlowCopier:
    """Copies partitions, see `copier.Copier`; `slot` is the number of this share of the flow."""

    def __init__(self, flow: FlowSpec, slot: int = 0, shares: int = 1) -> None:
        self.flow = flow
        self.slot = slot
        self.shares = shares

    def copy(
        self,
        partitions: Sequence[PartitionStart],
        should_stop: Callable[[], bool],
        report: Report,
    ) -> None:
        """Copy until told to stop; raises `ClusterFault` for what nobody but a person can mend."""
        reasons = self._reasons(partitions)
        sharing = _Sharing(self, reasons, should_stop, report)
        whole = [start for start in partitions if not reasons[start]]
        sharing.copy_records([start for start in partitions if reasons[start]])
        if whole:
            copier = BatchCopier(self.flow, self.slot, self.shares)
            sharing.run(lambda: copier.copy(whole, sharing.should_stop, report, sharing.hand_over))
        sharing.join()

    def _reasons(self, partitions: Sequence[PartitionStart]) -> dict[PartitionStart, str]:
        topics = {start.remote_topic for start in partitions}
        with ClusterClient(self.flow.target) as target:
            configs = read_topic_configs(target, topics, [_TIMESTAMP_TYPE])
        return {
            start: record_path_reason(self.flow, configs.get(start.remote_topic, {}))
            for start in partitions
        }


class _Sharing:
    """The record path beside the batch path; when one of them fails, both end."""

    def __init__(
        self,
        copier: FlowCopier,
        reasons: dict[PartitionStart, str],
        should_stop: Callable[[], bool],
        report: Report,
    ) -> None:
        self._copier = copier
        self._reasons = {(s.topic, s.partition): why for s, why in reasons.items() if why}
        self._asked_to_stop = should_stop
        self._report = report
        self._threads: list[threading.Thread] = []
        self._error: BaseException | None = None

    def should_stop(self) -> bool:
        """Whether to end: told to, or because the other path failed."""
        return self._asked_to_stop() or self._error is not None

    def copy_records(self, starts: Sequence[PartitionStart]) -> None:
        """Copy partitions record by record, in a thread of its own."""
        if not starts:
            return
        logger.info("record path for %d partitions", len(starts))
        work = RecordCopier(self._copier.flow).copy
        thread = threading.Thread(
            target=self.run,
            args=(lambda: work(starts, self.should_stop, self._tell),),
            name="record-path",
            daemon=True,
        )
        self._threads.append(thread)
        thread.start()

    def hand_over(self, start: PartitionStart, why: str) -> None:
        """Take a partition that only the record path can go on with."""
        self._reasons[start.topic, start.partition] = why
        self.copy_records([start])

    def run(self, work: Callable[[], object]) -> None:
        """Run one path to its end; its failure is kept for `join`."""
        try:
            work()
        except BaseException as error:  # noqa: BLE001  raised again by `join`, in the task's thread
            logger.warning("a path ended: %s", error)
            self._error = self._error or error

    def join(self) -> None:
        """Wait for the record path; raises what either path failed with."""
        for thread in self._threads:
            thread.join()
        if self._error is not None:
            raise self._error

    def _tell(self, rows: Sequence[PartitionProgress]) -> None:
        self._report(
            [replace(row, path_reason=self._reasons[row.topic, row.partition]) for row in rows]
        )
