"""Celery tasks of schedules."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from console.schedules import firing


@shared_task(name="console.schedules.tasks.fire_due", ignore_result=True)
def fire_due() -> None:
    firing.fire_due(timezone.now())
