"""A finding about a flow: code, severity, sentence, advice, subject and evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from jobs.cluster.descriptions import TopicPartition
from jobs.severity import Severity

Evidence = Mapping[str, str | int | float | None]


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


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    `subject` is what it is about (a partition `orders-3`, a topic, a group and a partition, a task); empty
    for the flow as a whole. `evidence` are numbers and words, their units in their names. `since` is when it
    began, None when only the moment is known at which it was seen.
    """

    code: Code
    severity: Severity
    sentence: str
    todo: str
    subject: str = ""
    topic: str = ""
    partition: int | None = None
    evidence: Evidence = field(default_factory=dict)
    since: datetime | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What makes it the same finding the next time."""
        return self.code.value, self.subject

    def to_mapping(self) -> dict[str, Any]:
        values = asdict(self)
        return {
            **values,
            "code": self.code.value,
            "severity": self.severity.value,
            "evidence": dict(self.evidence),
            "since": self.since.isoformat() if self.since else None,
        }


def about(where: TopicPartition) -> dict[str, Any]:
    """Return the fields of a finding about a partition."""
    return {"subject": str(where), "topic": where.topic, "partition": where.partition}
