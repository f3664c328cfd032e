"""Finding out where the partitions of a lost task really are, while the other tasks go on."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.contract import PartitionStart
from jobs.replication.copy.fencing import fence_slot
from jobs.replication.copy.positions import Positions, read_positions
from jobs.replication.flow.spec import FlowSpec
from jobs.spark.flow_driver.partition_assignment import start_at

logger = logging.getLogger(__name__)

POSITIONS_TIMEOUT_S = 10.0
POLL_INTERVAL_S = 0.25


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
    """Fence a lost task and return where its partitions go on.

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
    """Read positions until they have reached what was told; raises `PositionsBehind`."""
    lost = list(lost)
    give_up_at = time.monotonic() + patience_s
    while True:
        positions = read()
        behind = [s for s in lost if positions.get(s.where, s.position) < told.get(s.where, 0)]
        if not behind:
            return [_start(start, positions) for start in lost]
        if time.monotonic() >= give_up_at:
            raise PositionsBehind(
                f"{behind[0].where} was committed up to {told[behind[0].where]}, but the target says "
                f"{positions.get(behind[0].where)}."
            )
        time.sleep(POLL_INTERVAL_S)


def _start(start: PartitionStart, positions: Positions) -> PartitionStart:
    entry = positions.entry(start.where)
    return start if entry is None else start_at(start, entry.next_offset, entry.remote_end)
