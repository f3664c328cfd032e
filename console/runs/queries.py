"""Reads of runs."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db.models import QuerySet

from console.accounts.asked_rights import why_ended
from console.frame.security.access import clusters_of
from console.runs.analyses.questions import needed_right
from console.runs.launcher import SPARK, Launcher, this_host
from console.runs.models import LIVE_STATES, SUBJECT_MODELS, Run, RunState


def list_runs() -> QuerySet[Run]:
    """Return all runs, newest first, without their documents."""
    runs = Run.objects.select_related("requested_by").order_by("-created_at", "-pk")
    return runs.defer("progress", "arguments", "summary")


def get_run(run_id: UUID) -> Run | None:
    """Return one run with everything; None when there is none."""
    return Run.objects.select_related("requested_by").filter(pk=run_id).first()


def where(run_id: UUID | None = None, pk: str = "", **_rest: Any) -> Collection[int]:
    """Return the clusters that a run is about, for the guard of pages and routes."""
    subject = (
        Run.objects.filter(pk=run_id or pk or "").values_list("subject", flat=True).first() or ""
    )
    kind, _, number = subject.partition(":")
    if kind not in SUBJECT_MODELS or not number.isdecimal():
        return ()
    return clusters_of(apps.get_model(SUBJECT_MODELS[kind])._default_manager.filter(pk=number))


def why_stopped(run: Run) -> str:
    """Return why a waiting analysis will not be started; empty while it will."""
    action = needed_right(run.kind, run.arguments)
    return why_ended(run.requested_by, run.asked_with, action, where(run.pk))


def list_runs_of(subject: str) -> QuerySet[Run]:
    """Return the runs about one subject, newest first."""
    return list_runs().filter(subject=subject)


def live_run_of(subject: str) -> Run | None:
    """Return the run of this subject that waits or runs, None when there is none."""
    return Run.objects.filter(subject=subject, state__in=LIVE_STATES).first()


def running_subjects(kind: str) -> set[str]:
    """Return the subjects of the running runs of a kind."""
    running = Run.objects.filter(kind=kind, state=RunState.RUNNING)
    return set(running.values_list("subject", flat=True))


def read_log(run: Run, lines: int = 400, launcher: Launcher = SPARK) -> str | None:
    """Return the last lines of a run's log; None when the log is on another host."""
    if not run.folder:
        return ""
    if run.host != this_host():
        return None
    tail = launcher.read_log_tail(Path(run.folder), 128 * 1024)
    return "\n".join(tail.splitlines()[-lines:])
