"""Celery tasks of Kafka Streams."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from console.frame.rounds import KINDS, Kind
from console.streams.collection import rows
from console.streams.collection.collect import APPLICATIONS, collect_applications

KINDS[APPLICATIONS.name] = Kind(APPLICATIONS.due, collect_applications)


@shared_task(name="console.streams.tasks.prune", ignore_result=True)
def prune() -> None:
    """Remove old snapshots, and applications that are gone for long."""
    rows.prune(timezone.now())
