"""Celery tasks of job runs."""

from __future__ import annotations

from pathlib import Path

from celery import shared_task
from django.conf import settings
from django.utils import timezone

from console.frame.tasks import FILE_PRUNES, PRUNES
from console.runs import actions, collect, uploads
from console.runs.analyses import watch
from console.runs.engines.watch import remove_old_engines, watch_engines
from jobs.spark.engine import door

FILE_PRUNES["runs"] = actions.remove_old_runs
FILE_PRUNES["uploads"] = uploads.remove_unused
PRUNES["engines"] = remove_old_engines


@shared_task(name="console.runs.tasks.observe_runs", ignore_result=True)
def observe_runs() -> None:
    """Bring all runs and engines of this host up to date."""
    collect.observe_runs(timezone.now())
    door.keep(Path(settings.CROSSLOG_RUNS_DIR))
    watch_engines(timezone.now())


@shared_task(name="console.runs.tasks.watch_analyses", ignore_result=True)
def watch_analyses() -> None:
    """Start analyses that wait, and watch those of this host until they have ended."""
    watch.watch_analyses()
