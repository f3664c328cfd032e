"""The codes of findings about a flow."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Any

from jobs.cluster.descriptions import TopicPartition
from jobs.findings import Life


class Code(StrEnum):
    """What was found; the value is stable, for programs."""

    NOT_MOVING = "not_moving"
    STUCK_PARTITION = "stuck_partition"
    RETENTION_LOSS = "retention_loss"
    SOURCE_RECREATED = "source_recreated"
    SOURCE_CUT = "source_cut"
    TARGET_RECREATED = "target_recreated"
    TARGET_CUT = "target_cut"
    TASK_FAILED = "task_failed"
    TASK_NOT_ASSIGNED = "task_not_assigned"
    CONNECTOR_PAUSED = "connector_paused"
    HEARTBEATS_STALE = "heartbeats_stale"
    HEARTBEATS_ABSENT = "heartbeats_absent"
    LOOP = "loop"
    SAME_CLUSTER = "same_cluster"
    GROUP_AHEAD = "group_ahead"
    GROUP_BEYOND_END = "group_beyond_end"
    GROUP_BEYOND_TARGET_END = "group_beyond_target_end"
    SYNCS_MISSING = "syncs_missing"
    SYNCS_UNREADABLE = "syncs_unreadable"
    CHECKPOINTS_STALE = "checkpoints_stale"
    CHECKPOINTS_MISSING = "checkpoints_missing"
    WRAPPED_RECORDS = "wrapped_records"
    POSITIONS_NOT_COMPACTED = "positions_not_compacted"
    # Drift: the two sides differ, or names are not what somebody thinks.
    PARTITIONS_DIFFER = "partitions_differ"
    REPLICATION_FACTOR_DIFFERS = "replication_factor_differs"
    CONFIG_DELETED_NEXT = "config_deleted_next"
    CONFIG_DIFFERS = "config_differs"
    ACLS_NOT_SYNCED = "acls_not_synced"
    ACLS_ONLY_ON_TARGET = "acls_only_on_target"
    TOPIC_LEFT_OUT = "topic_left_out"
    TOPIC_REFUSED = "topic_refused"
    TOPIC_MISSING = "topic_missing"
    BROKEN_PATTERN = "broken_pattern"
    FLOW_SET_APART = "flow_set_apart"


DRIFT = frozenset(
    {
        Code.PARTITIONS_DIFFER,
        Code.REPLICATION_FACTOR_DIFFERS,
        Code.CONFIG_DELETED_NEXT,
        Code.CONFIG_DIFFERS,
        Code.ACLS_NOT_SYNCED,
        Code.ACLS_ONLY_ON_TARGET,
        Code.TOPIC_LEFT_OUT,
        Code.TOPIC_REFUSED,
        Code.TOPIC_MISSING,
        Code.BROKEN_PATTERN,
    }
)
# What the next look may already contradict: two looks must agree.
LIFE = Life(
    "flow",
    two_rounds=frozenset(
        {
            Code.TARGET_CUT,
            Code.SOURCE_CUT,
            Code.RETENTION_LOSS,
            Code.GROUP_AHEAD,
            Code.GROUP_BEYOND_END,
            Code.GROUP_BEYOND_TARGET_END,
            Code.SYNCS_MISSING,
            Code.SYNCS_UNREADABLE,
            Code.HEARTBEATS_ABSENT,
            Code.CHECKPOINTS_MISSING,
            Code.TASK_FAILED,
            Code.HEARTBEATS_STALE,
            Code.TOPIC_MISSING,
            Code.PARTITIONS_DIFFER,
        }
    ),
    end_after=timedelta(minutes=3),
    # A topic with thousands of partitions must not create thousands of rows.
    most_open=500,
)


def about(where: TopicPartition) -> dict[str, Any]:
    """Return the fields of a finding about a partition."""
    return {"subject": str(where), "topic": where.topic, "partition": where.partition}
