"""Actions on schedules."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from console.accounts.asked_rights import rights_asked
from console.accounts.audit import audit, change
from console.accounts.models import User
from console.frame.errors import ActionRefused
from console.schedules import firing, timing
from console.schedules.models import Outcome, Schedule, ScheduleFiring
from console.schedules.starters import check_arguments

CHANGEABLE = ("name", "cron", "time_zone", "is_enabled")


@change("schedule.create")
def create_schedule(values: Mapping[str, Any], person: User, now: datetime) -> Schedule:
    """Create a schedule, owned by a person; raises `InvalidFields`."""
    schedule = Schedule(
        kind=values["kind"],
        arguments=check_arguments(values["kind"], values["arguments"]),
        created_by=person,
        asked_with=rights_asked(person),
        created_at=now,
    )
    _take(schedule, values, now)
    with transaction.atomic():
        schedule.save(force_insert=True)
        audit("schedule.create", _subject_of(schedule), after=_shown(schedule))
    return schedule


@change("schedule.change")
def change_schedule(schedule_id: int, values: Mapping[str, Any], now: datetime) -> Schedule:
    """Change name, times or whether it is enabled; times that passed while it was disabled are not missed.

    Raises `InvalidFields`, `ActionRefused` when it is gone.
    """
    with transaction.atomic():
        schedule = _held(schedule_id)
        before = _shown(schedule)
        _take(schedule, values, now)
        schedule.save(update_fields=[*CHANGEABLE, "next_at"])
        audit("schedule.change", _subject_of(schedule), before=before, after=_shown(schedule))
    return schedule


@change("schedule.delete")
def delete_schedule(schedule_id: int) -> None:
    """Delete a schedule; its jobs stay."""
    with transaction.atomic():
        schedule = _held(schedule_id)
        audit("schedule.delete", _subject_of(schedule), before=_shown(schedule))
        schedule.delete()


@change("schedule.run")
def run_now(schedule_id: int, person: User, now: datetime) -> ScheduleFiring:
    """Start the job of a schedule now, for this person; its next run stays.

    Raises `ActionRefused` (while the last run is live, and when it is gone) or what the starter raises.
    """
    with transaction.atomic():
        schedule = _held(schedule_id)
        started = firing.start(schedule, person, rights_asked(person), now)
        time = firing.Time(now)
        fired = firing.write_firing(schedule, time, Outcome.STARTED, started, person)
        audit("schedule.run", _subject_of(schedule), after={"ref": started.ref})
    return fired


def _subject_of(schedule: Schedule) -> str:
    """Return how the trail calls a schedule."""
    return f"schedule:{schedule.pk}"


def _held(schedule_id: int) -> Schedule:
    schedule = Schedule.objects.select_for_update().filter(pk=schedule_id).first()
    if schedule is None:
        raise ActionRefused("gone", "This schedule does not exist any more.")
    return schedule


def _take(schedule: Schedule, values: Mapping[str, Any], now: datetime) -> None:
    """Put values into a row, and when it is due next if that may have changed."""
    before = (schedule.cron, schedule.time_zone, schedule.is_enabled)
    for name in CHANGEABLE:
        setattr(schedule, name, values.get(name, getattr(schedule, name)))
    schedule.cron = " ".join(schedule.cron.split())
    timing.check_times(schedule.cron, schedule.time_zone)
    if before != (schedule.cron, schedule.time_zone, schedule.is_enabled):
        next_at = timing.next_after(schedule.cron, schedule.time_zone, now)
        schedule.next_at = next_at if schedule.is_enabled else None


def _shown(schedule: Schedule) -> dict[str, Any]:
    names = (*CHANGEABLE, "kind", "arguments")
    return {name: getattr(schedule, name) for name in names}
