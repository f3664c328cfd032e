"""Celery tasks of quorums."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task
from django.db import transaction
from django.utils import timezone

from console.frame.rounds import KINDS, Kind
from console.quorum.log import imports, store
from console.quorum.voters.collect import QUORUMS, collect_quorum

KINDS[QUORUMS.name] = Kind(QUORUMS.due, collect_quorum, rounds=QUORUMS)


@shared_task(
    name="console.quorum.tasks.fold_import",
    ignore_result=True,
    soft_time_limit=3500,
    time_limit=3600,
)
def fold_import(log_id: int, _user_id: int = 0) -> None:
    """Read the history of an imported log, and ask Spark for the changes of its partitions."""
    imports.fold_import(log_id, timezone.now())


@shared_task(
    name="console.quorum.tasks.take_import",
    ignore_result=True,
    soft_time_limit=3500,
    time_limit=3600,
)
def take_import(run_id: str) -> None:
    """Take into rows what Spark made of an imported log."""
    imports.take_run(UUID(run_id), timezone.now())


def take_when_ended(run_id: UUID, **_: object) -> None:
    """Send the task for a run that has ended, when it read an imported log."""
    if imports.is_reading(run_id):
        transaction.on_commit(lambda: take_import.delay(str(run_id)))


@shared_task(
    name="console.quorum.tasks.prune_history",
    ignore_result=True,
    soft_time_limit=3300,
    time_limit=3400,
)
def prune_history() -> None:
    """Forget changes that are older than anybody asks for."""
    store.prune_history(timezone.now())
