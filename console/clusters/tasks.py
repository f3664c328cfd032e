"""Alarm clocks of the clusters room."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from console.clusters.collection import collect
from console.frame.processes.work_sharing import enqueue_tickets, work_through_due


@shared_task(name="console.clusters.tasks.collect_due", ignore_result=True)
def collect_due() -> None:
    """Send a ticket for every due cluster, so that a dead one costs only its own rounds."""
    enqueue_tickets(collect_oldest, collect.due_clusters(timezone.now()))


@shared_task(name="console.clusters.tasks.collect_oldest", ignore_result=True)
def collect_oldest() -> None:
    """Run the due rounds of the clusters that have waited longest."""
    work_through_due(lambda: collect.due_clusters(timezone.now()), collect.collect_cluster)
