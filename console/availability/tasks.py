"""Alarm clocks of the availability room."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from console.availability.collection import collect, lag, retention
from console.availability.what_if import matrices
from console.clusters.models import Cluster
from console.frame.processes.work_sharing import enqueue_tickets, work_through_due

# A picture is made after a round of topics: more often it would be the same.
PICTURE_EVERY_S = 10


@shared_task(name="console.availability.tasks.collect_due", ignore_result=True)
def collect_due() -> None:
    """Send a ticket for every cluster whose status is to be looked at."""
    enqueue_tickets(take_in_oldest, collect.due_clusters(timezone.now()))


@shared_task(name="console.availability.tasks.take_in_oldest", ignore_result=True)
def take_in_oldest() -> None:
    """Bring the status of the clusters up to date that have waited longest."""
    work_through_due(lambda: collect.due_clusters(timezone.now()), collect.take_in)


@shared_task(name="console.availability.tasks.ask_lags_due", ignore_result=True)
def ask_lags_due() -> None:
    """Send a ticket for every cluster with replicas out of sync whose lag is due."""
    enqueue_tickets(ask_lags_of_oldest, lag.due_clusters(timezone.now()))


@shared_task(name="console.availability.tasks.ask_lags_of_oldest", ignore_result=True)
def ask_lags_of_oldest() -> None:
    """Ask how far the replicas of the clusters are behind that have waited longest."""
    work_through_due(lambda: lag.due_clusters(timezone.now()), lag.ask_lags)


@shared_task(name="console.availability.tasks.roll_up_counts", ignore_result=True)
def roll_up_counts() -> None:
    """Make minutes of steps, and hours of minutes."""
    retention.roll_up(timezone.now())


@shared_task(name="console.availability.tasks.prune_history", ignore_result=True)
def prune_history() -> None:
    """Forget counts, stretches and churn that are older than their retention."""
    retention.prune(timezone.now())


@shared_task(name="console.availability.tasks.keep_pictures", ignore_result=True)
def keep_pictures() -> None:
    """Send one task per cluster that was collected since its picture for what-if was made."""
    for cluster_id in matrices.due_clusters():
        keep_picture.apply_async((cluster_id,), expires=PICTURE_EVERY_S)


@shared_task(name="console.availability.tasks.keep_picture", ignore_result=True)
def keep_picture(cluster_id: int) -> None:
    """Keep what what-if starts from, and the matrix of single failures, of one cluster."""
    cluster = Cluster.objects.filter(pk=cluster_id).first()
    if cluster is not None:
        matrices.keep_picture(cluster, timezone.now())
