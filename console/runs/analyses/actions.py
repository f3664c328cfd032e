"""Actions on questions."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from console.accounts.asked_rights import rights_asked
from console.accounts.audit import audit, change
from console.accounts.models import User
from console.broker import is_redis_there
from console.frame.errors import ActionRefused
from console.runs.actions import RunRequest, queue_run
from console.runs.analyses.questions import Question, read_question, scheduled_question
from console.runs.models import LIVE_STATES, Run, RunState
from console.runs.queries import why_stopped
from console.runs.tasks import watch_analyses
from jobs.spark.analyses.analysis import Analysis
from jobs.spark.analyses.kinds import QUESTIONS

logger = logging.getLogger(__name__)

# What waited longer in the queue was started by a round.
WAKE_WITHIN_S = 30


@dataclass(frozen=True, slots=True)
class Asked:
    """The run that answers a question; `is_new` is false where the same question was live already."""

    run: Run
    is_new: bool


@change("run.start")
def ask(question: Question, by: User | None, now: datetime, *, at_most: int | None = None) -> Asked:
    """Queue the run that answers a question; while the same question is live, return its run.

    One that would not be started for its own person becomes that of this person. With `at_most`, the person
    may have so many live analyses. Raises `ActionRefused` for one more, and when the same question ended at
    this very moment.
    """
    request = RunRequest(
        question.kind, question.title, question.subject, question.arguments, by, question.key
    )
    same = Run.objects.filter(question_key=question.key, state__in=LIVE_STATES)
    with transaction.atomic():
        if at_most is not None and not same.exists():
            _check_room(by, at_most)
        run = queue_run(request, now)
        if run is not None:
            after = {"kind": question.kind, **question.arguments}
            audit("run.start", f"run:{run.pk}", after=after, by=by)
            transaction.on_commit(_wake, robust=True)
            return Asked(run, is_new=True)
    live = same.first()
    if live is None:
        raise ActionRefused("just_ended", "The same analysis ended just now. Start it again.")
    if why_stopped(live):
        _take_over(live, by, at_most)
    return Asked(live, is_new=False)


@change("run.start")
def start_scheduled(
    arguments: Mapping[str, Any],
    requested_by: User,
    now: datetime,
    analyses: Mapping[str, Analysis] = QUESTIONS,
) -> Run:
    """Ask what a schedule keeps as `{"kind": ..., "arguments": {...}}`, in the name of a person.

    Raises `InvalidFields`, `ActionRefused` and, without the right on the log, PermissionDenied.
    """
    kept = scheduled_question(arguments, analyses)
    question = read_question(kept["kind"], kept["arguments"], requested_by, analyses)
    return ask(question, requested_by, now).run


def _take_over(run: Run, by: User | None, at_most: int | None) -> None:
    """Make a run that would not be started for its own person one of the person who asks now."""
    waiting = Run.objects.filter(pk=run.pk, state=RunState.QUEUED, requested_by=run.requested_by)
    with transaction.atomic():
        if at_most is not None:
            _check_room(by, at_most)
        waiting.update(requested_by=by, asked_with=rights_asked(by))
    run.refresh_from_db()


def _check_room(by: User | None, at_most: int) -> None:
    """Raise `ActionRefused` for a person who has as many live analyses as one may have."""
    if by is not None:
        # Another request of the same person waits until this one has its run.
        User.objects.select_for_update().get(pk=by.pk)
    live = Run.objects.filter(requested_by=by, state__in=LIVE_STATES).exclude(question_key="")
    if live.count() >= at_most:
        text = f"You have {at_most} queued or running analyses already."
        raise ActionRefused("too_many", f"{text} Cancel one of them, or wait until one has ended.")


def _wake() -> None:
    """Let a worker start it now; while Redis is away, the next round does once it is back."""
    if is_redis_there(settings.REDIS_URL):
        watch_analyses.apply_async(expires=WAKE_WITHIN_S, retry=False)
    else:
        logger.warning("no worker was woken for an analysis: Redis is away")
