"""Celery tasks of availability."""

from __future__ import annotations

from functools import partial

from celery import shared_task
from django.utils import timezone

from console.availability.collection import collect, lag, retention
from console.availability.status.series import COUNTS
from console.availability.what_if import matrices
from console.clusters.models import Cluster
from console.frame.processes.work_sharing import enqueue_tickets, work_through_due
from console.frame.series import roll_up
from console.frame.tasks import PRUNES, ROLL_UPS

# A picture is made after a round of topics: more often it would be the same.
PICTURE_EVERY_S = 10

ROLL_UPS["counts of partitions"] = partial(roll_up, COUNTS)
PRUNES["history of partitions"] = retention.prune


@shared_task(name="console.availability.tasks.collect_due", ignore_result=True)
def collect_due() -> None:
    """Queue one task per cluster whose status is due."""
    enqueue_tickets(take_in_oldest, collect.due_clusters(timezone.now()))


@shared_task(name="console.availability.tasks.take_in_oldest", ignore_result=True)
def take_in_oldest() -> None:
    """Update the status of the clusters that are longest overdue."""
    work_through_due(lambda: collect.due_clusters(timezone.now()), collect.take_in)


@shared_task(name="console.availability.tasks.ask_lags_due", ignore_result=True)
def ask_lags_due() -> None:
    """Queue one task per cluster with out-of-sync replicas whose lag is due."""
    enqueue_tickets(ask_lags_of_oldest, lag.due_clusters(timezone.now()))


@shared_task(name="console.availability.tasks.ask_lags_of_oldest", ignore_result=True)
def ask_lags_of_oldest() -> None:
    """Query the replica lag of the clusters that are longest overdue."""
    work_through_due(lambda: lag.due_clusters(timezone.now()), lag.ask_lags)


@shared_task(name="console.availability.tasks.keep_pictures", ignore_result=True)
def keep_pictures() -> None:
    """Queue one task per cluster that was collected since its simulation snapshot."""
    for cluster_id in matrices.due_clusters():
        keep_picture.apply_async((cluster_id,), expires=PICTURE_EVERY_S)


@shared_task(name="console.availability.tasks.keep_picture", ignore_result=True)
def keep_picture(cluster_id: int) -> None:
    """Store the simulation snapshot and the single-failure matrix of one cluster."""
    cluster = Cluster.objects.filter(pk=cluster_id).first()
    if cluster is not None:
        matrices.keep_picture(cluster, timezone.now())
