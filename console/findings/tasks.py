"""Celery tasks of findings."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from console.findings import store


@shared_task(name="console.findings.tasks.prune", ignore_result=True)
def prune() -> None:
    """Remove findings that ended before `FINDINGS_RETENTION_D`."""
    store.prune(timezone.now())
