"""Celery tasks of job runs."""

from __future__ import annotations

from pathlib import Path

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from console.runs import actions, collect, uploads
from console.runs.analyses import watch
from jobs.spark.engine import door


@shared_task(name="console.runs.tasks.observe_runs", ignore_result=True)
def observe_runs() -> None:
    """Bring all runs of this host up to date."""
    collect.observe_runs(timezone.now())
    door.keep(Path(settings.CROSSLOG_RUNS_DIR))


@shared_task(name="console.runs.tasks.remove_old_runs", ignore_result=True)
def remove_old_runs() -> None:
    """Remove runs that ended long ago, with their folders, and uploaded lists that are not used any more."""
    actions.remove_old_runs(timezone.now())
    uploads.remove_unused(timezone.now())


@shared_task(name="console.runs.tasks.watch_analyses", ignore_result=True)
def watch_analyses() -> None:
    """Start analyses that wait, and watch those of this host until they have ended."""
    watch.watch_analyses()
