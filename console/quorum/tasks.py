"""Alarm clocks of the quorum room."""

from __future__ import annotations

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from console.quorum import collect, findings, imports, retention


@shared_task(name="console.quorum.tasks.collect_due", ignore_result=True)
def collect_due() -> None:
    """Send one task per cluster whose quorum is due, so that a dead one delays only itself."""
    for cluster_id in collect.due_clusters(timezone.now()):
        collect_quorum.apply_async((cluster_id,), expires=settings.QUORUM_INTERVAL_S)


@shared_task(name="console.quorum.tasks.collect_quorum", ignore_result=True)
def collect_quorum(cluster_id: int) -> None:
    """Describe the quorum of one cluster."""
    collect.collect_quorum(cluster_id)


@shared_task(
    name="console.quorum.tasks.fold_import",
    ignore_result=True,
    soft_time_limit=3500,
    time_limit=3600,
)
def fold_import(log_id: int) -> None:
    """Read the history of an imported log; a second time goes on where the first one ended."""
    imports.fold_import(log_id, timezone.now())


@shared_task(name="console.quorum.tasks.prune_findings", ignore_result=True)
def prune_findings() -> None:
    """Forget findings that ended long ago."""
    findings.prune_findings(timezone.now())


@shared_task(
    name="console.quorum.tasks.prune_history",
    ignore_result=True,
    soft_time_limit=3300,
    time_limit=3400,
)
def prune_history() -> None:
    """Forget changes that are older than anybody asks for."""
    retention.prune_history(timezone.now())
