"""Alarm clocks of the clusters room."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from console.clusters.collection import collect
from console.frame.processes.turns import hand_out, take_turns


@shared_task(name="console.clusters.tasks.collect_due", ignore_result=True)
def collect_due() -> None:
    """Send a ticket for every due cluster, so that a dead one costs only its own rounds."""
    hand_out(collect_oldest, collect.due_clusters(timezone.now()))


@shared_task(name="console.clusters.tasks.collect_oldest", ignore_result=True)
def collect_oldest() -> None:
    """Run the due rounds of the clusters that have waited longest."""
    take_turns(lambda: collect.due_clusters(timezone.now()), collect.collect_cluster)
