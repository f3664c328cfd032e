"""Celery tasks of job runs."""

from __future__ import annotations

from pathlib import Path

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from console.frame.tasks import FILE_PRUNES
from console.runs import actions, collect, uploads
from console.runs.analyses import watch
from jobs.spark.engine import door

FILE_PRUNES["runs"] = actions.remove_old_runs
FILE_PRUNES["uploads"] = uploads.remove_unused


@shared_task(name="console.runs.tasks.observe_runs", ignore_result=True)
def observe_runs() -> None:
    """Bring all runs of this host up to date."""
    collect.observe_runs(timezone.now())
    door.keep(Path(settings.CROSSLOG_RUNS_DIR))


@shared_task(name="console.runs.tasks.watch_analyses", ignore_result=True)
def watch_analyses() -> None:
    """Start analyses that wait, and watch those of this host until they have ended."""
    watch.watch_analyses()
