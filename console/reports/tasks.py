"""Alarm clocks of the reports room."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from console.frame.tasks import FILE_PRUNES
from console.reports import actions
from console.reports.making import building

FILE_PRUNES["reports"] = actions.remove_old_runs


@shared_task(name="console.reports.tasks.make_due", ignore_result=True)
def make_due() -> None:
    """Make reports that wait."""
    building.make_due(timezone.now())
