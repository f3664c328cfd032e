"""Alarm clocks of promotions."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from console.availability import promotion_findings, promotion_round


@shared_task(name="console.availability.promotion_tasks.advise_due", ignore_result=True)
def advise_due() -> None:
    """Send one task per cluster whose observers are to be judged."""
    for cluster_id in promotion_round.due_clusters(timezone.now()):
        expires = promotion_round.CLAIM.total_seconds()
        advise.apply_async(args=(cluster_id,), expires=expires)


@shared_task(name="console.availability.promotion_tasks.advise", ignore_result=True)
def advise(cluster_id: int) -> None:
    """Judge the observers of one cluster, and write advice and findings."""
    promotion_round.advise_cluster(cluster_id)


@shared_task(name="console.availability.promotion_tasks.prune", ignore_result=True)
def prune() -> None:
    """Remove what is known of promotions and is older than its retention."""
    promotion_findings.prune(timezone.now())
