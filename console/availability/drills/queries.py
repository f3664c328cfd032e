"""Reads of drills. Fixed numbers of queries."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from console.availability.drills.models import Drill, DrillKind, DrillResult
from console.availability.promotion.models import Actor
from console.clusters.models import Cluster
from console.frame.security.access import clusters_of, visible

MOST_RESULTS = 400


def where_drill(pk: str | UUID, **_: Any) -> Collection[int]:
    """Return the cluster of a drill, for the guard of routes."""
    return clusters_of(Drill.objects.filter(pk=pk))


def list_drills(cluster: Cluster | None = None) -> QuerySet[Drill]:
    """Return drills, the newest first, of one cluster when it is named."""
    rows = Drill.objects.select_related("cluster", "requested_by").order_by("-created_at", "pk")
    return rows if cluster is None else rows.filter(cluster=cluster)


def get_drill(user: Any, drill_id: UUID, alias: str = "") -> Drill | None:
    """Return a drill that a person may see, of a cluster when it is named; None when there is none."""
    rows = list_drills().filter(pk=drill_id)
    return visible(user, rows.filter(cluster__alias=alias) if alias else rows).first()


def latest_by_actor(cluster: Cluster) -> list[DrillResult]:
    """Return the newest result of each actor that was ever drilled; one query."""
    rows = DrillResult.objects.filter(
        drill__cluster=cluster, drill__kind=DrillKind.PROMOTION, actor__in=Actor.values
    ).select_related("drill__cluster")
    found: dict[str, DrillResult] = {}
    for row in rows.order_by("-at", "-pk")[:MOST_RESULTS]:
        found.setdefault(row.actor, row)
    return [found[word] for word in Actor.values if word in found]
