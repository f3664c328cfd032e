"""Reads of schedules."""

from __future__ import annotations

from datetime import datetime
from itertools import islice

from django.db.models import QuerySet

from console.accounts.asked_rights import NO_PERSON, why_ended
from console.schedules.models import Schedule, ScheduleFiring
from console.schedules.starters import get_starter
from console.schedules.timing import next_times
from jobs.cluster.errors import InvalidFields

NEXT_TIMES = 3
SHOWN_FIRINGS = 20


def list_schedules() -> QuerySet[Schedule]:
    """Return all schedules by name."""
    return Schedule.objects.select_related("created_by").order_by("name", "pk")


def get_schedule(schedule_id: int) -> Schedule | None:
    """Return one schedule; None when there is none."""
    return list_schedules().filter(pk=schedule_id).first()


def why_stopped(schedule: Schedule) -> str:
    """Return why a schedule starts nothing any more; empty while it does."""
    if schedule.created_by is None:
        return NO_PERSON
    return why_ended(schedule.created_by, schedule.asked_with, "operate")


def list_firings(schedule: Schedule) -> list[ScheduleFiring]:
    """Return the last firings, newest first."""
    return list(schedule.firings.select_related("by").order_by("-pk")[:SHOWN_FIRINGS])


def href_of(schedule: Schedule, ref: str) -> str:
    """Return the page of what was started; empty when it has none."""
    starter = get_starter(schedule.kind)
    return starter.href(ref) if starter and ref else ""


def list_next_times(schedule: Schedule, now: datetime) -> list[datetime]:
    """Return the next times, `NEXT_TIMES` at most; none while the schedule is disabled."""
    if schedule.next_at is None:
        return []
    try:
        return peek_times(schedule.cron, schedule.time_zone, now)
    except InvalidFields:
        return []


def peek_times(cron: str, time_zone: str, now: datetime) -> list[datetime]:
    """Return the next times that an expression means; raises `InvalidFields`."""
    return list(islice(next_times(cron, time_zone, now), NEXT_TIMES))
