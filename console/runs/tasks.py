"""Alarm clocks of the runs room."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from console.runs import actions, collect


@shared_task(name="console.runs.tasks.observe_runs", ignore_result=True)
def observe_runs() -> None:
    """Bring all runs of this host up to date."""
    collect.observe_runs(timezone.now())


@shared_task(name="console.runs.tasks.remove_old_runs", ignore_result=True)
def remove_old_runs() -> None:
    """Remove runs that ended long ago, with their folders."""
    actions.remove_old_runs(timezone.now())
