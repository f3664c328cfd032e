"""Settings of checks and maintenance windows, as tests want them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from console.findings.check_settings import CheckSetting
from console.findings.models import MaintenanceWindow, Objective, ObjectiveStep
from console.replication.flows.models import ReplicationFlow

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


def make_setting(check_id: str = "broker_down", **fields: Any) -> CheckSetting:
    values = {"thresholds": {"open_after_s": 60}, "changed_at": NOW} | fields
    return CheckSetting.objects.create(check_id=check_id, **values)


def make_window(**fields: Any) -> MaintenanceWindow:
    values = {"title": "Kafka update", "starts_at": NOW, "duration_s": 3600, "created_at": NOW}
    return MaintenanceWindow.objects.create(**{**values, "rrule": "FREQ=WEEKLY", **fields})


def make_objective(scope: Any, **fields: Any) -> Objective:
    """Make an objective of a flow (RPO of a minute) or of the topics of a cluster."""
    if isinstance(scope, ReplicationFlow):
        values = {"kind": "rpo", "flow": scope, "limit_ms": 60_000}
    else:
        values = {"kind": "availability", "cluster": scope, "counts_as": "offline"}
    return Objective.objects.create(**values | {"target_percent": 99.9, "changed_at": NOW} | fields)


def make_step(objective: Objective, at_s: int, good_s: float, bad_s: float = 0) -> ObjectiveStep:
    """Make a step of 300 s; what is neither good nor bad was not measured."""
    return ObjectiveStep.objects.create(objective=objective, at_s=at_s, good_s=good_s, bad_s=bad_s)


def make_objectives(cluster: Any, flow: Any, now: datetime) -> None:
    """Make one objective of each kind, with an hour in which some time was bad and some unknown."""
    hour_s = int(now.timestamp()) // 300 * 300 - 3600
    for one in (make_objective(cluster, topic_pattern="pay*"), make_objective(flow)):
        make_step(one, hour_s, 240, 12)
