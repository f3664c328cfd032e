"""Celery tasks of the frame: rounds of all rooms, and pruning."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime

from celery import shared_task
from django.core.management import call_command
from django.utils import timezone

from console.frame import rounds

logger = logging.getLogger(__name__)

# What waited longer in the queue is dropped: newer tasks follow it, and any of them takes the same rows.
EXPIRES_S = 30.0
PRUNE_EXPIRES_S = 3600.0
Upkeep = Callable[[datetime], object]


def _forget_old_keys(_: datetime) -> object:
    # It loads the framework of the API, which a worker needs for nothing else.
    from console.frame.rest.idempotency import forget_old_keys

    return forget_old_keys()


# Filled by the `tasks` modules of the rooms.
ROLL_UPS: dict[str, Upkeep] = {}
# Of files: only workers of `spark` run on the hosts that have them.
FILE_PRUNES: dict[str, Upkeep] = {}
PRUNES: dict[str, Upkeep] = {
    "sessions": lambda _: call_command("clearsessions"),
    "idempotency keys": _forget_old_keys,
}


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
    """Queue a task for each history with a retention: a slow one holds up neither the others nor runs."""
    for work, queue in ((PRUNES, "collect"), (FILE_PRUNES, "spark")):
        for name in work:
            prune_one.apply_async((name,), expires=PRUNE_EXPIRES_S, queue=queue)


@shared_task(name="console.frame.tasks.prune_one", ignore_result=True)
def prune_one(name: str) -> None:
    """Remove what is older than the retention of one history."""
    {**PRUNES, **FILE_PRUNES}[name](timezone.now())


@shared_task(name="console.frame.tasks.roll_up", ignore_result=True)
def roll_up() -> None:
    """Roll all time series up to coarser steps."""
    for name, do in ROLL_UPS.items():
        try:
            do(timezone.now())
        except Exception:  # as a task of its own would
            logger.exception("roll-up broke name=%s", name)
