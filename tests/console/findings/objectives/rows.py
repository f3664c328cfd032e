"""Objectives with measured steps, for tests."""

from __future__ import annotations

from datetime import datetime

from console.findings.models import Objective, ObjectiveStep
from console.replication.flows.models import ReplicationFlow
from tests.console.making import NOW

DAY_S = 86_400


def make_objective(scope, target_percent=99.9, **fields):
    """Make an objective of a flow (RPO of a minute) or of the topics of a cluster."""
    values = {"changed_at": NOW, "target_percent": target_percent}
    if isinstance(scope, ReplicationFlow):
        values |= {"kind": "rpo", "flow": scope, "limit_ms": 60_000}
    else:
        values |= {"kind": "availability", "cluster": scope, "counts_as": "offline"}
    return Objective.objects.create(**values | fields)


def measure(objective: Objective, at: datetime, good_s: float, bad_s: float = 0):
    """Write one step, whatever its length."""
    at_s = int(at.timestamp())
    return ObjectiveStep.objects.create(objective=objective, at_s=at_s, good_s=good_s, bad_s=bad_s)
