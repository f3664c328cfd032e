"""Reads of redrives."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from console.clusters.models import Cluster
from console.frame.security.access import clusters_of
from console.runs.models import Run
from console.tracing.replays.models import Redrive
from console.tracing.replays.plan import KIND


def where(pk: str, **_: Any) -> Collection[int]:
    """Return the cluster of a redrive, for the guard of routes."""
    return clusters_of(Redrive.objects.filter(pk=pk))


def list_redrives(cluster: Cluster | None = None) -> QuerySet[Redrive]:
    """Return redrives, the newest first, of one cluster when it is named."""
    joined = ("cluster", "run", "created_by", "applied_by")
    rows = Redrive.objects.select_related(*joined).order_by("-created_at", "pk")
    return rows if cluster is None else rows.filter(cluster=cluster)


def get_redrive(cluster: Cluster, redrive_id: UUID) -> Redrive | None:
    """Return a redrive of a cluster; None when there is none."""
    return list_redrives(cluster).filter(pk=redrive_id).first()


def get_plan_run(cluster: Cluster, run_id: UUID) -> Run | None:
    """Return the run of a replay plan of a cluster; None when there is none."""
    return Run.objects.filter(pk=run_id, kind=KIND, subject=f"cluster:{cluster.pk}").first()
