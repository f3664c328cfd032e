"""The queue of analyses: the oldest first, a few at once on a host, one at once of a subject."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db.models import Q, QuerySet

from console.runs.actions import launch_run
from console.runs.launcher import Launcher, this_host
from console.runs.models import Run, RunState


def start_queued(now: datetime, launcher: Launcher | None = None) -> int:
    """Start analyses that wait, as far as there is room on this host; return how many."""
    waiting = list(_queued().values_list("pk", "subject"))
    if not waiting:
        return 0
    running = list(_analyses(RunState.RUNNING).values_list("host", "subject"))
    free = settings.ANALYSES_AT_ONCE - sum(host == this_host() for host, _ in running)
    busy = {subject for _, subject in running if subject}
    started = 0
    for run_id, subject in waiting:
        if started >= free:
            break
        if subject not in busy and launch_run(run_id, now, launcher):
            started += 1
            busy |= {subject} if subject else set()
    return started


def queue_position(run: Run) -> int | None:
    """Return the place of an analysis among those that wait, 1 for the next; None when it does not wait."""
    if run.state != RunState.QUEUED or not run.is_analysis:
        return None
    is_before = Q(created_at__lt=run.created_at) | Q(created_at=run.created_at, pk__lt=run.pk)
    return 1 + _queued().filter(is_before).count()


def _queued() -> QuerySet[Run]:
    return _analyses(RunState.QUEUED).order_by("created_at", "pk")


def _analyses(state: RunState) -> QuerySet[Run]:
    return Run.objects.filter(state=state).exclude(question_key="")
