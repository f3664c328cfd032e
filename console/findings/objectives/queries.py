"""Reads of objectives, with what is left of their budgets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet, Sum

from console.clusters.models import Cluster
from console.findings.models import Finding, Kind
from console.findings.objectives.models import Objective, ObjectiveStep
from jobs.objectives.objective import WINDOWS_S, Status, Window

_PARTS = ("good_s", "bad_s", "unknown_s")


def list_objectives() -> QuerySet[Objective]:
    """Return objectives with their scope and who changed them."""
    return Objective.objects.select_related("cluster", "flow__source", "flow__target", "changed_by")


def statuses_of_flow(flow: Any, now: datetime) -> list[tuple[Objective, Status]]:
    """Return the objectives of a flow with their status; two queries."""
    return statuses(list_objectives().filter(flow=flow), now)


def statuses_of_cluster(cluster: Cluster, now: datetime) -> list[tuple[Objective, Status]]:
    """Return the objectives of a cluster's topics with their status; two queries."""
    return statuses(list_objectives().filter(cluster=cluster), now)


def statuses(rows: Iterable[Objective], now: datetime) -> list[tuple[Objective, Status]]:
    """Return objectives with their status, in their order; one query for the sums."""
    found = list(rows)
    sums = windows_of([row.pk for row in found], WINDOWS_S, now)
    return [(row, Status(row.target, *sums[row.pk])) for row in found]


def with_status(rows: Iterable[Objective], now: datetime) -> list[Any]:
    """Return objectives, each with its `status`; one query."""
    found: list[Any] = []
    for row, status in statuses(rows, now):
        found.append(row)
        found[-1].status = status
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
        for part in _PARTS
    }
    steps = ObjectiveStep.objects.filter(
        objective__in=found, at_s__gte=now_s - max(spans_s), at_s__lt=now_s
    )
    for row in steps.order_by().values("objective").annotate(**sums):
        found[row["objective"]] = [
            Window(span, *(row[f"{part}_{span}"] for part in _PARTS)) for span in spans_s
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
