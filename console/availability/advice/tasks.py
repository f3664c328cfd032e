"""Celery tasks of promotions."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from console.availability.advice import round as promotion_round
from console.availability.advice import store
from console.frame.processes.work_sharing import enqueue_tickets, work_through_due


@shared_task(name="console.availability.promotion_tasks.advise_due", ignore_result=True)
def advise_due() -> None:
    """Queue one task per cluster whose observers are due for evaluation."""
    enqueue_tickets(advise_oldest, promotion_round.due_clusters(timezone.now()))


@shared_task(name="console.availability.promotion_tasks.advise_oldest", ignore_result=True)
def advise_oldest() -> None:
    """Evaluate the observers of the clusters that are longest overdue, and write advice and findings."""
    work_through_due(
        lambda: promotion_round.due_clusters(timezone.now()),
        lambda cluster_id: promotion_round.advise_cluster(cluster_id) is not None,
    )


@shared_task(name="console.availability.promotion_tasks.prune", ignore_result=True)
def prune() -> None:
    """Delete promotion events older than their retention."""
    store.prune(timezone.now())
