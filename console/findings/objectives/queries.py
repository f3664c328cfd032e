"""Reads of objectives, with what is left of their budgets and what their checks say."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet, Sum

from console.findings.check_settings import read_settings
from console.findings.models import Finding, Kind
from console.findings.objectives.models import Objective, ObjectiveStep
from jobs.checks.settings import Settings
from jobs.objectives.checks import BUDGET, BURN, Judgeable, judge
from jobs.objectives.objective import WINDOWS_S, Status, Window


def list_objectives() -> QuerySet[Objective]:
    """Return objectives with their scope and who changed them."""
    return Objective.objects.select_related("cluster", "flow__source", "flow__target", "changed_by")


def with_status(rows: Iterable[Objective], now: datetime) -> list[Any]:
    """Return objectives, each with its `status`; one query for the sums."""
    found: list[Any] = list(rows)
    sums = windows_of([row.pk for row in found], WINDOWS_S, now)
    for row in found:
        row.status = Status(row.target, *sums[row.pk])
    return found


def with_states(
    rows: Iterable[Objective], now: datetime, given: Settings | None = None
) -> list[Any]:
    """Return objectives with their `status`, and the `state` and findings (`found`) of their checks.

    A query for the sums, and one for the settings unless they are given.
    """
    if not (found := with_status(rows, now)):
        return found
    values = (given or read_settings()).values
    for row in found:
        label = f"{row.name} ({row.scope}, {row.target_percent:g} %)"
        one = Judgeable(row.pk, label, row.status)
        where = {"cluster": row.cluster_id, "flow": row.flow_id}
        row.state, row.found = judge(one, *(values(each, **where) for each in (BURN, BUDGET)))
    return found


def windows_of(
    keys: Collection[int], spans_s: Collection[int], now: datetime
) -> Mapping[int, list[Window]]:
    """Return what the steps of objectives add up to, by objective: a window of each length; one query."""
    now_s = int(now.timestamp())
    found = {key: [Window(span) for span in spans_s] for key in keys}
    if not found:
        return found
    sums = {
        f"{part}_{span}": Sum(part, filter=Q(at_s__gte=now_s - span), default=0.0)
        for span in spans_s
        for part in ("good_s", "bad_s")
    }
    steps = ObjectiveStep.objects.filter(
        objective__in=found, at_s__gte=now_s - max(spans_s), at_s__lt=now_s
    )
    for row in steps.order_by().values("objective").annotate(**sums):
        found[row["objective"]] = [
            Window(span, row[f"good_s_{span}"], row[f"bad_s_{span}"]) for span in spans_s
        ]
    return found


def with_open_findings(codes: Collection[str]) -> list[Any]:
    """Return the flows and clusters with open findings of these checks."""
    rows = Finding.objects.filter(kind=Kind.CHECKS, code__in=codes, closed_at=None)
    return list({one.flow or one.cluster for one in rows.select_related("flow", "cluster")})


def where_objective(pk: int | str = 0, objective_id: int = 0, **_: Any) -> Collection[int]:
    """Return the clusters of an objective, for the guard of pages and routes."""
    row = list_objectives().filter(pk=objective_id or pk).first()
    return row.clusters if row else ()
