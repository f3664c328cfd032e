"""A share of a flow that copies in a thread while a test does something to the clusters around it."""

import threading
import uuid
from collections.abc import Sequence

from jobs.cluster.client import ClusterClient
from jobs.replication.copy.contract import CopyState, PartitionProgress, PartitionStart
from jobs.replication.copy.flow_copier import FlowCopier
from jobs.replication.flow.spec import FlowSpec
from tests.live.surveying import survey_whole
from tests.waiting import PATIENCE, eventually

WITHIN_S = 60


def flow_between(source, target, topic: str, **settings) -> FlowSpec:
    """Return a flow that copies one topic (a pattern) under a name of its own."""
    name = f"batches {uuid.uuid4().hex[:8]}"
    settings = {"commit_interval_ms": 200} | settings
    return FlowSpec(name, source.connection, target.connection, (topic,), **settings)


class Copying:
    """One call of `FlowCopier.copy`; as a context manager it ends with the block."""

    def __init__(
        self, flow: FlowSpec, starts: Sequence[PartitionStart] | None = None, *, slot: int = 0
    ) -> None:
        self.flow = flow
        self.starts = starts if starts is not None else survey_whole(flow).plan.starts
        self.rows: dict[int, PartitionProgress] = {}
        self.history: list[PartitionProgress] = []
        self.error: BaseException | None = None
        self._stop = threading.Event()
        self._copier = FlowCopier(flow, slot)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Copying":
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            self.stop()
        except BaseException:
            if kind is None:
                raise

    def stop(self, within_s: float = WITHIN_S) -> None:
        """Tell the copier to stop and wait for its end."""
        self._stop.set()
        self.wait_for_end(within_s)
        if self.error is not None:
            raise self.error

    def wait_for_end(self, within_s: float = WITHIN_S) -> None:
        self._thread.join(within_s * PATIENCE)
        assert not self._thread.is_alive(), "the copier did not end"

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def wait_for_position(self, position: int, partition: int = 0, within_s=WITHIN_S) -> None:
        self.wait_for_positions({partition: position}, within_s)

    def wait_for_positions(self, positions: dict[int, int], within_s=WITHIN_S) -> None:
        def reached() -> bool:
            there = {p: row.position for p, row in self.rows.items()}
            return all(there.get(p, -1) >= position for p, position in positions.items())

        eventually(lambda: self.error is not None or reached(), within_s)
        assert self.error is None, self.error

    def wait_for_state(
        self, state: CopyState, partition: int = 0, within_s=WITHIN_S, *, about: str = ""
    ) -> PartitionProgress:
        """Wait for a state of a partition, and a reason that names `about`; return the row that tells it."""
        seen: list[PartitionProgress] = []

        def is_so() -> bool:
            row = self.rows.get(partition)
            if row is not None and row.state is state and about in row.reason:
                seen.append(row)
            return bool(seen)

        eventually(is_so, within_s)
        return seen[0]

    def _report(self, rows: Sequence[PartitionProgress]) -> None:
        self.history += rows
        # Another one, because a test may be going through the one before.
        self.rows = self.rows | {row.partition: row for row in rows}

    def _run(self) -> None:
        try:
            self._copier.copy(self.starts, self._stop.is_set, self._report)
        except BaseException as error:  # noqa: BLE001  the test's thread raises it
            self.error = error


def ends_of(cluster, topic: str) -> dict[int, int]:
    """Return where every partition ends now."""
    from jobs.cluster.admin.offsets import read_offset_ranges
    from jobs.cluster.descriptions import TopicPartition
    from tests.live.batches.placed import partitions_of

    wanted = [TopicPartition(topic, p) for p in range(partitions_of(cluster, topic))]
    ends: dict[int, int] = {}

    def are_read() -> bool:
        ranges = read_offset_ranges(client, wanted, with_timestamps=False)
        ends.update({where.partition: one.end_offset or 0 for where, one in ranges.items()})
        return all(one.error is None for one in ranges.values())

    with ClusterClient(cluster.connection) as client:
        eventually(are_read, 60)  # a leader that did not answer in time has not ended at 0
    return ends


def copy_all(flow: FlowSpec, source, topic: str) -> Copying:
    """Copy until everything that is on the source now is there."""
    with Copying(flow) as copying:
        copying.wait_for_positions(ends_of(source, topic))
    return copying
