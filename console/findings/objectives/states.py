"""Objectives as pages show them: with the state that the thresholds of their checks give."""

from __future__ import annotations

from collections.abc import Sequence

from console.findings.check_settings import read_settings
from console.findings.objectives.models import Objective
from jobs.objectives.checks import BUDGET, BURN, severity_of
from jobs.objectives.objective import Status
from jobs.severity import Severity


def with_states(
    found: Sequence[tuple[Objective, Status]],
) -> list[tuple[Objective, Status, Severity]]:
    """Return objectives with their status and state; one query where there are any."""
    if not found:
        return []
    values, states = read_settings().values, []
    for row, status in found:
        limits = (values(one, cluster=row.cluster_id, flow=row.flow_id) for one in (BURN, BUDGET))
        states.append((row, status, severity_of(status, *limits)))
    return states
