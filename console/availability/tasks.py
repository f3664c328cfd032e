"""Celery tasks of availability."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from console.availability.collection import retention
from console.availability.collection.collect import STATUS, due_clusters, take_in
from console.availability.collection.lag import LAGS, ask_lags
from console.availability.what_if.matrices import SNAPSHOTS, keep_due_picture
from console.frame.rounds import KINDS, Kind

KINDS[STATUS.name] = Kind(due_clusters, take_in)
KINDS[LAGS.name] = Kind(LAGS.due, ask_lags)
KINDS[SNAPSHOTS.name] = Kind(SNAPSHOTS.due, keep_due_picture)


@shared_task(name="console.availability.tasks.roll_up_counts", ignore_result=True)
def roll_up_counts() -> None:
    """Roll up counts to minutes, and minutes to hours."""
    retention.roll_up(timezone.now())


@shared_task(name="console.availability.tasks.prune_history", ignore_result=True)
def prune_history() -> None:
    """Delete counts, intervals and churn older than their retention."""
    retention.prune(timezone.now())
