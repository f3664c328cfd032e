"""Schedules that are due: each run is started once, by the first worker; missed runs are started as one."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from console.accounts.asked_rights import Asked, acting
from console.accounts.models import User
from console.frame.errors import ActionRefused
from console.frame.security.read_only import refuse_when_read_only
from console.schedules import timing
from console.schedules.models import Outcome, Schedule, ScheduleFiring
from console.schedules.starters import Started, get_starter
from jobs.cluster.errors import InvalidFields

logger = logging.getLogger(__name__)

KEPT_FIRINGS = 100
STILL_RUNNING = "still_going_on"


@dataclass(frozen=True, slots=True)
class Time:
    """A time to fire: `due_at` is None when a person asks for it now."""

    now: datetime
    due_at: datetime | None = None
    missed: int = 0


def fire_due(now: datetime) -> int:
    """Fire every schedule that is due; return how many this worker fired."""
    fired = 0
    for schedule in Schedule.objects.filter(next_at__lte=now).order_by("next_at", "pk"):
        try:
            fired += fire_time(schedule, now)
        except Exception:
            # One schedule that cannot be fired (tried again next time) must not hold up the others.
            logger.exception("schedule could not be fired schedule_id=%s", schedule.pk)
    return fired


def fire_time(seen: Schedule, now: datetime) -> bool:
    """Fire the time at which a schedule was seen to be due; False when another worker has it.

    The claim, what is started and the firing are written together: a worker that dies leaves the time due.
    """
    if seen.next_at is None:
        return False
    following, missed = _times(seen, seen.next_at, now)
    with transaction.atomic():
        same = {"next_at": seen.next_at, "cron": seen.cron, "time_zone": seen.time_zone}
        if not Schedule.objects.filter(pk=seen.pk, **same).update(next_at=following):
            return False
        schedule = Schedule.objects.select_related("created_by").get(pk=seen.pk)
        time = Time(now, seen.next_at, missed)
        outcome, told = _attempt(schedule, time)
        write_firing(schedule, time, outcome, told)
    return True


def start(schedule: Schedule, person: User | None, asked: Asked, now: datetime) -> Started:
    """Start the job of a schedule, with the rights of its request; the caller holds its row.

    Raises `ActionRefused` (also while the last run is live) or `InvalidFields`.
    """
    refuse_when_read_only()
    starter = get_starter(schedule.kind)
    if starter is None:
        text = f"This version of crosslog cannot start jobs of the kind {schedule.kind}: delete the schedule."
        raise ActionRefused("unknown_kind", text)
    try:
        starting = acting(person, asked, "operate")
    except ActionRefused as ended:
        text = f"{ended.message} Delete the schedule and create it again."
        raise ActionRefused("not_allowed", text) from None
    if starter.is_going_on(schedule):
        since = schedule.last_started_at
        begun = f"The run of {schedule.local(since)}" if since else "The last run"
        raise ActionRefused(STILL_RUNNING, f"{begun} is still running.")
    with transaction.atomic():
        return starter.start(schedule, starting, now)


def write_firing(
    schedule: Schedule, time: Time, outcome: Outcome, told: Started, by: User | None = None
) -> ScheduleFiring:
    """Write the result of a run, and delete the oldest ones."""
    last = {"last_at": time.now, "last_outcome": outcome, "last_sentence": told.sentence}
    if outcome == Outcome.STARTED:
        last |= {"last_ref": told.ref, "last_started_at": time.now}
    Schedule.objects.filter(pk=schedule.pk).update(**last)
    firing = ScheduleFiring.objects.create(
        schedule=schedule,
        due_at=time.due_at,
        at=time.now,
        by=by,
        missed=time.missed,
        outcome=outcome,
        sentence=told.sentence,
        ref=told.ref,
    )
    kept = schedule.firings.order_by("-pk").values_list("pk", flat=True)[:KEPT_FIRINGS]
    schedule.firings.filter(pk__lt=min(kept)).delete()
    return firing


def _attempt(schedule: Schedule, time: Time) -> tuple[Outcome, Started]:
    """Start the job that is due; return its outcome, with a sentence for people."""
    ref = ""
    try:
        started = start(schedule, schedule.created_by, schedule.asked_with, time.now)
        outcome, text, ref = Outcome.STARTED, started.sentence, started.ref
    except ActionRefused as refusal:
        outcome, text = Outcome.FAILED, refusal.message
        if refusal.code == STILL_RUNNING and time.due_at is not None:
            outcome = Outcome.LEFT_OUT
            text = f"{text} The run of {schedule.local(time.due_at)} was skipped."
    except InvalidFields as invalid:
        outcome, text = Outcome.FAILED, " ".join(invalid.errors.values())
    except Exception:
        logger.exception("what is due could not be started schedule_id=%s", schedule.pk)
        outcome, text = Outcome.FAILED, "Unexpected error; see the worker log."
    return outcome, Started(ref, " ".join(filter(None, [text, _missed_text(time.missed)])))


def _times(seen: Schedule, due_at: datetime, now: datetime) -> tuple[datetime | None, int]:
    """Return the next time in the future, and how many others between it and the due one are past."""
    try:
        following = timing.next_after(seen.cron, seen.time_zone, now)
        return following, timing.count_due(seen.cron, seen.time_zone, due_at, now)
    except InvalidFields:
        # A zone that this machine does not know (any more).
        return None, 0


def _missed_text(missed: int) -> str:
    if not missed:
        return ""
    count = f"{missed} or more" if missed >= timing.MOST_MISSED else str(missed)
    runs = "run was" if missed == 1 else "runs were"
    return f"{count} more {runs} missed; this one replaces them."
