"""A copier that runs in a thread while a test does something to the clusters around it."""

import threading
from collections.abc import Sequence

from jobs.replication.copy.contract import CopyState, PartitionProgress, PartitionStart
from jobs.replication.copy.records.copier import RecordCopier
from jobs.replication.flow.spec import FlowSpec
from tests.live.surveying import survey
from tests.waiting import PATIENCE, eventually

WITHIN_S = 60


def flow_between(source, target, topic: str, **settings) -> FlowSpec:
    """Return a flow that copies one topic."""
    return FlowSpec(f"copy {topic}", source.connection, target.connection, (topic,), **settings)


class Copying:
    """One call of `RecordCopier.copy`; as a context manager it ends with the block."""

    def __init__(
        self,
        flow: FlowSpec,
        starts: Sequence[PartitionStart] | None = None,
        *,
        commit_s: float = 0.3,
    ) -> None:
        self.starts = starts if starts is not None else survey(flow).plan.starts
        self.rows: dict[int, PartitionProgress] = {}
        self.history: list[PartitionProgress] = []
        self.error: BaseException | None = None
        self._stop = threading.Event()
        self._copier = RecordCopier(flow, commit_s=commit_s)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Copying":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self, within_s: float = WITHIN_S) -> None:
        """Tell the copier to stop and wait for its end."""
        self._stop.set()
        self._thread.join(within_s * PATIENCE)
        assert not self._thread.is_alive(), "the copier did not stop"
        if self.error is not None:
            raise self.error

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def wait_for_position(self, position: int, partition: int = 0, within_s=WITHIN_S) -> None:
        eventually(lambda: self._position(partition) >= position or self.error, within_s)
        assert self.error is None

    def wait_for_state(
        self, state: CopyState, partition: int = 0, within_s=WITHIN_S
    ) -> PartitionProgress:
        eventually(lambda: partition in self.rows and self.rows[partition].state is state, within_s)
        return self.rows[partition]

    def wait_for_reason(self, words: str, within_s=WITHIN_S) -> PartitionProgress:
        """Wait until some row has said why, whatever the rows after it say; return the first."""
        eventually(lambda: any(words in row.reason for row in self.history), within_s)
        return next(row for row in self.history if words in row.reason)

    def _position(self, partition: int) -> int:
        return self.rows[partition].position if partition in self.rows else -1

    def _report(self, rows: Sequence[PartitionProgress]) -> None:
        self.history += rows
        self.rows |= {row.partition: row for row in rows}

    def _run(self) -> None:
        try:
            self._copier.copy(self.starts, self._stop.is_set, self._report)
        except BaseException as error:  # noqa: BLE001  the test's thread raises it
            self.error = error


def copy_all(flow: FlowSpec, ends: dict[int, int]) -> Copying:
    """Copy until each partition is at its end."""
    with Copying(flow) as copying:
        for partition, end in ends.items():
            copying.wait_for_position(end, partition)
    return copying
