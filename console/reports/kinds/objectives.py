"""Objectives of the subjects of a report, over its period."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from console.findings.objectives.queries import list_objectives, windows_of
from console.reports.kinds.asked import Asked
from jobs.reports.kinds.objectives import ObjectiveResult


def read_objectives(
    asked: Asked, scope: str, subjects: Sequence[Any]
) -> tuple[ObjectiveResult, ...]:
    """Return the objectives of flows or clusters; `scope` is `flow` or `cluster`. Two queries."""
    end = min(asked.period.end, asked.now)
    span_s = int(end.timestamp()) - int(asked.period.start.timestamp())
    rows = list(list_objectives().filter(**{f"{scope}__in": list(subjects)}))
    windows = windows_of([row.pk for row in rows], (span_s,), end)
    return tuple(
        ObjectiveResult(
            str(row.flow.name if scope == "flow" else row.cluster.alias),
            row.name,
            row.target,
            windows[row.pk][0],
            row.href,
        )
        for row in rows
    )
