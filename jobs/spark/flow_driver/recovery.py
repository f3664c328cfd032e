"""Recovery of the partitions of a lost task while the others copy, and the faults that end a run."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.transport.timing import Patience
from jobs.replication.copy.batches.markers import fence_slot
from jobs.replication.copy.contract import PartitionStart
from jobs.replication.copy.positions import Positions, read_positions
from jobs.replication.flow.spec import FlowSpec
from jobs.spark.contract import FIRST_RECORD
from jobs.spark.flow_driver.partition_assignment import start_at
from jobs.spark.flow_driver.state import FlowState

logger = logging.getLogger(__name__)

POSITIONS_TIMEOUT_S = 10.0
POLL_INTERVAL_S = 0.25
RECOVERY = "recovery-"


class RunPatience:
    """Decides which faults end a run, and which only partitions; a `Patience` for each that asks.

    `task_faults` are what tasks said last, `refused` is the fault that ends the run.
    """

    def __init__(self, state: FlowState, clock: Callable[[], float] = time.monotonic) -> None:
        self._state = state
        self._clock = clock
        self._patience: dict[str, Patience] = {}
        self.task_faults: dict[int, ClusterFault] = {}
        self.refused: ClusterFault | None = None

    def judge(self, name: str, fault: ClusterFault | None) -> None:
        """Take what came of a survey or of a `RECOVERY`: both clusters answered before, so they may again."""
        if fault is None:
            self._with(name, has_worked=True).succeeded()
        elif self._with(name, has_worked=True).is_over(fault):
            self.refused = fault

    def task_copied(self, task: int) -> None:
        """Note that a task works."""
        self._with(f"task-{task}", has_worked=True).succeeded()

    def why_given_up(self, task: int) -> str:
        """Return why what a lost task had would only fail again, "" where it may continue.

        Where the run never copied anything, it ends.
        """
        has_worked = FIRST_RECORD in self._state.stages
        fault = self.task_faults.pop(task, None)
        if fault is None or not self._with(f"task-{task}", has_worked=has_worked).is_over(fault):
            return ""
        if not has_worked:
            self.refused = fault
        return f"{fault} {fault.hint}"

    def _with(self, name: str, *, has_worked: bool) -> Patience:
        # Where a task lacks a right, `ProgressTable` says which partitions wait for it.
        waits = self._state.ends is None or not name.startswith(RECOVERY)
        fresh = Patience(waits_for_people=waits, has_worked=has_worked, clock=self._clock)
        return self._patience.setdefault(name, fresh)


class PositionsBehind(Exception):
    """The target keeps telling positions below what was committed: only fencing everybody helps.

    A commit that is decided but not yet marked everywhere hides its position from readers. That
    takes milliseconds; where it does not end, the transaction of another task may be the one.
    """


def recover(
    flow: FlowSpec,
    target: ClusterClient,
    slot: int,
    lost: Iterable[PartitionStart],
    told: Mapping[TopicPartition, int],
) -> list[PartitionStart]:
    """Fence a lost task and return where its partitions resume.

    `lost` are the starts that it was given, `told` the positions that it said it had committed. Raises
    `ClusterFault` and `PositionsBehind`.
    """
    fence_slot(flow, slot)
    return find_starts(list(lost), told, lambda: read_positions(target, flow.source.alias))


def find_starts(
    lost: Iterable[PartitionStart],
    told: Mapping[TopicPartition, int],
    read: Callable[[], Positions],
    *,
    patience_s: float = POSITIONS_TIMEOUT_S,
) -> list[PartitionStart]:
    """Read positions until they have reached what was reported; raises `PositionsBehind`."""
    lost = list(lost)
    give_up_at = time.monotonic() + patience_s
    while True:
        positions = read()
        behind = [s for s in lost if positions.get(s.where, s.position) < told.get(s.where, 0)]
        if not behind:
            return [_start(start, positions) for start in lost]
        if time.monotonic() >= give_up_at:
            raise PositionsBehind(
                f"{behind[0].where} was committed up to {told[behind[0].where]}, but the position on the "
                f"target is {positions.get(behind[0].where)}."
            )
        time.sleep(POLL_INTERVAL_S)


def _start(start: PartitionStart, positions: Positions) -> PartitionStart:
    entry = positions.entry(start.where)
    return start if entry is None else start_at(start, entry.next_offset, entry.remote_end)
