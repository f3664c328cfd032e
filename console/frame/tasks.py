"""Celery tasks of the frame: rounds of all rooms, and pruning."""

from __future__ import annotations

import logging

from celery import shared_task
from django.core.management import call_command
from django.utils import timezone

from console.frame import rounds
from console.frame.rest.idempotency import forget_old_keys

logger = logging.getLogger(__name__)

# What waited longer in the queue is dropped: newer tasks follow it, and any of them takes the same rows.
EXPIRES_S = 30.0


@shared_task(name="console.frame.tasks.queue_rounds", ignore_result=True)
def queue_rounds(*kinds: str) -> None:
    """Queue a task for each due row of these kinds; a kind that breaks costs the others nothing."""
    for name in kinds:
        try:
            kind = rounds.KINDS[name]
            for _ in range(min(len(kind.due(timezone.now())), rounds.WORKERS_PER_KIND)):
                run_rounds.apply_async((name,), expires=EXPIRES_S, queue=kind.queue)
        except Exception:  # as a task of its own would
            logger.exception("rounds could not be queued kind=%s", name)


@shared_task(name="console.frame.tasks.run_rounds", ignore_result=True)
def run_rounds(kind: str) -> None:
    """Run the rounds of a kind that are longest overdue."""
    rounds.work_through_due(rounds.KINDS[kind])


@shared_task(name="console.frame.tasks.prune", ignore_result=True)
def prune() -> None:
    """Forget sessions that have ended and answers that are too old to be given again."""
    call_command("clearsessions")
    forget_old_keys()
