"""Alarm clocks of the streams room."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from console.frame.processes.work_sharing import enqueue_tickets, work_through_due
from console.streams.collection import collect, rows


@shared_task(name="console.streams.tasks.collect_due", ignore_result=True)
def collect_due() -> None:
    """Send a ticket for every cluster whose applications are due, so that a dead one delays only itself."""
    enqueue_tickets(collect_oldest, collect.due_clusters(timezone.now()))


@shared_task(name="console.streams.tasks.collect_oldest", ignore_result=True)
def collect_oldest() -> None:
    """Collect the applications of the clusters that have waited longest."""
    work_through_due(lambda: collect.due_clusters(timezone.now()), collect.collect_applications)


@shared_task(name="console.streams.tasks.prune", ignore_result=True)
def prune() -> None:
    """Remove old snapshots, and applications that are gone for long."""
    rows.prune(timezone.now())
