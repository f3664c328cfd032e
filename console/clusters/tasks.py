"""Alarm clocks of the clusters room."""

from __future__ import annotations

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from console.clusters import collect


@shared_task(name="console.clusters.tasks.collect_due", ignore_result=True)
def collect_due() -> None:
    """Send every due cluster to a worker of its own, so that a dead one costs only its own rounds."""
    for cluster_id in collect.due_clusters(timezone.now()):
        collect_cluster.apply_async((cluster_id,), expires=settings.COLLECT_INTERVAL_S)


@shared_task(
    name="console.clusters.tasks.collect_cluster",
    ignore_result=True,
    soft_time_limit=100,
    time_limit=120,
)
def collect_cluster(cluster_id: int) -> None:
    """Run the due rounds of one cluster."""
    collect.collect_cluster(cluster_id)
