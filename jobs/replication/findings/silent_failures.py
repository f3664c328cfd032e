"""Silent failures of a flow: all rules over one snapshot of it. Pure.

Each look needs the memory of the look before, since standing still is only seen over time. What could not be
asked is not judged: `judged` names the codes about which the answer is complete.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jobs.findings import Finding
from jobs.replication.findings.codes import Code
from jobs.replication.findings.group_failures import (
    find_groups_ahead,
    find_groups_beyond_end,
    find_stale_checkpoints,
    remember_commits,
)
from jobs.replication.findings.loop_failures import find_loops
from jobs.replication.findings.memory import FlowMemory
from jobs.replication.findings.partition_failures import (
    find_losses,
    find_other_topics,
    find_standstill,
    remember_partitions,
    remember_topics,
)
from jobs.replication.findings.snapshot import FlowSnapshot
from jobs.replication.findings.worker_failures import (
    find_bad_states,
    find_long_positions,
    find_missing_syncs,
    find_set_apart,
    find_stale_heartbeats,
    find_wrapped_records,
)

# Which part of the snapshot each code is judged from.
_NEEDS = {
    "partitions": {
        Code.NOT_MOVING, Code.STUCK_PARTITION, Code.RETENTION_LOSS, Code.SOURCE_CUT, Code.TARGET_CUT,
    },
    "topics": {Code.SOURCE_RECREATED, Code.TARGET_RECREATED},
    "statuses": {Code.TASK_FAILED, Code.TASK_NOT_ASSIGNED, Code.CONNECTOR_PAUSED},
    "heartbeats": {Code.HEARTBEATS_STALE, Code.HEARTBEATS_ABSENT},
    "syncs": {Code.SYNCS_MISSING, Code.SYNCS_UNREADABLE},
    "checkpoints": {Code.CHECKPOINTS_MISSING, Code.CHECKPOINTS_STALE},
    "groups": {Code.GROUP_AHEAD, Code.GROUP_BEYOND_END, Code.GROUP_BEYOND_TARGET_END},
    "wrapped": {Code.WRAPPED_RECORDS},
    "position_records": {Code.POSITIONS_NOT_COMPACTED},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was found, which codes were judged at all, and what to remember for the next look."""

    findings: tuple[Finding, ...]
    judged: frozenset[Code]
    memory: FlowMemory


def evaluate_snapshot(snapshot: FlowSnapshot, before: FlowMemory) -> Judgement:
    """Return what is wrong with a flow, worst first within each rule."""
    memory = remember_commits(
        snapshot, remember_topics(snapshot, remember_partitions(snapshot, before))
    )
    return Judgement(tuple(_findings(snapshot, memory)), _judged(snapshot), memory)


def _findings(snapshot: FlowSnapshot, memory: FlowMemory) -> Iterator[Finding]:
    yield from find_loops(snapshot)
    yield from find_standstill(snapshot, memory)
    yield from find_losses(snapshot, memory)
    yield from find_other_topics(snapshot, memory)
    yield from find_bad_states(snapshot)
    yield from find_set_apart(snapshot)
    yield from find_stale_heartbeats(snapshot)
    yield from find_missing_syncs(snapshot)
    yield from find_wrapped_records(snapshot)
    yield from find_long_positions(snapshot)
    yield from find_stale_checkpoints(snapshot, memory)
    yield from find_groups_ahead(snapshot)
    yield from find_groups_beyond_end(snapshot)


def _judged(snapshot: FlowSnapshot) -> frozenset[Code]:
    known = [codes for part, codes in _NEEDS.items() if getattr(snapshot, part) is not None]
    loops = snapshot.copied_back is not None and snapshot.returned is not None
    always = {Code.SAME_CLUSTER, Code.FLOW_SET_APART}
    return frozenset({*always, *([Code.LOOP] if loops else [])}.union(*known))
