"""Analyses on a schedule: each run starts the stored question again, for the schedule's owner."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.urls import reverse

from console.accounts.models import User
from console.runs.analyses.actions import start_scheduled
from console.runs.analyses.questions import labelled_arguments, scheduled_question
from console.runs.models import LIVE_STATES, Run
from console.schedules.models import Schedule
from console.schedules.starters import Started, Starter
from jobs.spark.analyses.kinds import ANALYSES

KIND = "analysis"


def start(schedule: Schedule, person: User, now: datetime) -> Started:
    """Start the analysis; log and rights are checked each time."""
    return Started(str(start_scheduled(schedule.arguments, person, now).pk))


def is_going_on(schedule: Schedule) -> bool:
    """Say whether the last run is live."""
    ref = schedule.last_ref
    return bool(ref) and Run.objects.filter(pk=UUID(ref), state__in=LIVE_STATES).exists()


def href(ref: str) -> str:
    """Return the page of a run."""
    return reverse("runs:detail", args=[ref])


def describe(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return a question as people read it."""
    kind = str(given.get("kind", ""))
    question = ANALYSES[kind].question if kind in ANALYSES else kind
    told = labelled_arguments(kind, given.get("arguments") or {})
    return [("Question", question), *((label, str(value)) for label, value in told)]


STARTER = Starter(KIND, "Analysis", scheduled_question, start, is_going_on, href, describe)
