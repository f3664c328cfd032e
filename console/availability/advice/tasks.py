"""Celery tasks of promotions."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from console.availability.advice import findings as promotion_findings
from console.availability.advice.round import ADVICE, advise_cluster
from console.frame.rounds import KINDS, Kind

KINDS[ADVICE.name] = Kind(ADVICE.due, advise_cluster)


@shared_task(name="console.availability.promotion_tasks.prune", ignore_result=True)
def prune() -> None:
    """Delete promotion events and findings older than their retention."""
    promotion_findings.prune(timezone.now())
