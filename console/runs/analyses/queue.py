"""The queue of analyses: people take turns, a few at once on a host, one at once of a subject."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db.models import Max, QuerySet
from django.utils import timezone

from console.runs.actions import launch_run
from console.runs.launcher import SPARK, Launcher, this_host
from console.runs.models import Run, RunState

# Who had a place longer ago counts as one who never had one.
TURNS_WITHIN = timedelta(days=1)
_NEVER = datetime.min.replace(tzinfo=UTC)


def start_queued(now: datetime, launcher: Launcher = SPARK) -> int:
    """Start analyses that wait, as far as there is room on this host; return how many."""
    waiting = _in_turns(now)
    if not waiting:
        return 0
    running = list(_analyses(RunState.RUNNING).values_list("host", "subject"))
    free = settings.ANALYSES_AT_ONCE - sum(host == this_host() for host, _ in running)
    busy = {subject for _, subject in running if subject}
    started = 0
    for run in waiting:
        if started >= free:
            break
        if run.subject not in busy and launch_run(run.pk, now, launcher):
            started += 1
            busy |= {run.subject} if run.subject else set()
    return started


def queue_position(run: Run) -> int | None:
    """Return the place of an analysis among those that wait, 1 for the next; None when it does not wait."""
    if run.state != RunState.QUEUED or not run.is_analysis:
        return None
    order = [one.pk for one in _in_turns(timezone.now())]
    return 1 + order.index(run.pk) if run.pk in order else None


def _in_turns(now: datetime) -> list[Run]:
    """Return what waits in the order of its start.

    First comes who has the fewest places, then who had the last one longest ago, then the oldest question.
    """
    waiting = list(
        _analyses(RunState.QUEUED)
        .only("pk", "subject", "requested_by", "created_at")
        .order_by("created_at", "pk")
    )
    if not waiting:
        return []
    places: Counter[int | None] = Counter(
        _analyses(RunState.RUNNING).values_list("requested_by", flat=True)
    )
    lately = Run.objects.filter(created_at__gt=now - TURNS_WITHIN).exclude(question_key="")
    last = dict(lately.values_list("requested_by").annotate(Max("started_at")))
    ranks = {}
    for run in waiting:
        person = run.requested_by_id
        ranks[run.pk] = (places[person], last.get(person) or _NEVER)
        places[person] += 1
    return sorted(waiting, key=lambda run: ranks[run.pk])


def _analyses(state: RunState) -> QuerySet[Run]:
    return Run.objects.filter(state=state).exclude(question_key="")
