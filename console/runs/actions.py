"""Actions on runs. Every state change is a conditional UPDATE: 0 rows: another worker was first."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.dispatch import Signal

from console.accounts.asked_rights import rights_asked
from console.accounts.audit import audit, change
from console.accounts.models import User
from console.frame.errors import ActionRefused
from console.runs.analyses.spec import SourceGone, remove_tables, spec_of
from console.runs.launcher import SPARK, Launcher, this_host
from console.runs.models import LIVE_STATES, Run, RunState
from console.runs.queries import why_stopped
from jobs.spark import contract
from jobs.spark.analyses.kinds import ANALYSES
from jobs.spark.contract import JobSpec

logger = logging.getLogger(__name__)

KEEP_ENDED_RUNS = timedelta(days=14)
# Sent once when a run has ended, with `run_id`.
run_ended = Signal()
# Of a kind of analysis that this release does not have any more.
KEEP_UNKNOWN_ANALYSES = timedelta(days=90)
# The argument of a run that goes into its `control.json` before it begins.
CONTROL = "control"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A requested job: `subject` ("flow:12") has at most one live run, "" any number.

    With a `question_key` it is an analysis, and the key has at most one live run.
    """

    kind: str
    title: str
    subject: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    requested_by: User | None = None
    question_key: str = ""


def queue_run(request: RunRequest, now: datetime) -> Run | None:
    """Write a run that waits for its start; None when subject or question have a live run already."""
    try:
        with transaction.atomic():
            return Run.objects.create(
                kind=request.kind,
                title=request.title,
                subject=request.subject,
                arguments=dict(request.arguments),
                question_key=request.question_key,
                requested_by=request.requested_by,
                asked_with=rights_asked(request.requested_by),
                created_at=now,
            )
    except IntegrityError:
        return None


def launch_run(run_id: UUID, now: datetime, launcher: Launcher = SPARK) -> bool:
    """Start the processes of a queued run on this host.

    False when another worker did, and of an analysis while another one of its subject runs.
    """
    run = Run.objects.filter(pk=run_id, state=RunState.QUEUED).first()
    if run is None or not _claim(run, now):
        return False
    folder = Path(run.folder)
    try:
        _write_control(run, folder)
        launcher.start_run(_job_spec(run, now), folder)
    except SourceGone as gone:
        finish_run(run_id, RunState.FAILED, now, error=str(gone), attempts=run.attempts)
        return False
    except Exception as error:
        # Whatever it was (no JDK, disk full, a wrong installation), the run ends here and says so.
        logger.exception("run could not be started run_id=%s", run_id)
        text = f"The run could not be started: {error}"
        finish_run(run_id, RunState.CRASHED, now, error=text, attempts=run.attempts)
        return False
    logger.info("run started run_id=%s kind=%s subject=%s", run_id, run.kind, run.subject)
    if not Run.objects.filter(pk=run_id, state=RunState.RUNNING).exists():
        # The run ended while it was starting: its processes must not stay.
        launcher.kill_run(folder)
    return True


def _claim(run: Run, now: datetime) -> bool:
    """Make a queued run one that runs here; each attempt has a folder of its own."""
    name = f"{run.pk}-{run.attempts + 1}" if run.attempts else str(run.pk)
    changes = {
        "state": RunState.RUNNING,
        "host": this_host(),
        "folder": str(Path(settings.CROSSLOG_RUNS_DIR) / name),
        "started_at": now,
        "heartbeat_at": now,
        "attempts": run.attempts + 1,
    }
    waiting = Run.objects.filter(pk=run.pk, state=RunState.QUEUED, attempts=run.attempts)
    try:
        with transaction.atomic():
            claimed = waiting.update(**changes)
    except IntegrityError:
        return False
    run.refresh_from_db()
    return bool(claimed)


def queue_again(run: Run) -> bool:
    """Let an analysis whose processes are lost wait again; False when it has an end already."""
    lost = Run.objects.filter(pk=run.pk, state=RunState.RUNNING, attempts=run.attempts)
    return bool(
        lost.filter(cancel_requested_at=None).update(
            state=RunState.QUEUED,
            host="",
            folder="",
            started_at=None,
            heartbeat_at=None,
            reported_at=None,
            progress=None,
        )
    )


@change("run.cancel")
def cancel_run(run_id: UUID, now: datetime) -> None:
    """Stop a run cleanly, for a person; raises `ActionRefused` when it has ended already."""
    ask_to_end(run_id, now)
    title = Run.objects.filter(pk=run_id).values_list("title", flat=True).first()
    audit("run.cancel", f"run:{run_id}", after={"title": title})


def ask_to_end(run_id: UUID, now: datetime) -> None:
    """Stop a run cleanly; a second request changes nothing.

    Raises `ActionRefused` when it has ended already.
    """
    waiting = Run.objects.filter(pk=run_id, state=RunState.QUEUED)
    if waiting.update(state=RunState.STOPPED, finished_at=now, cancel_requested_at=now):
        run_ended.send(Run, run_id=run_id)
        return
    running = Run.objects.filter(pk=run_id, state=RunState.RUNNING)
    if running.filter(cancel_requested_at=None).update(cancel_requested_at=now):
        _stop_here(run_id)
        return
    if not running.exists():
        raise ActionRefused("run_ended", "This run has ended already.")


def finish_run(
    run_id: UUID,
    state: RunState,
    now: datetime,
    *,
    error: str = "",
    summary: Mapping[str, Any] | None = None,
    attempts: int | None = None,
) -> bool:
    """Write how a running run ended; False when it has an end already.

    With `attempts` only that attempt ends: a host that lost the run does not end it on another host.
    """
    running = Run.objects.filter(pk=run_id, state=RunState.RUNNING)
    changed = (running if attempts is None else running.filter(attempts=attempts)).update(
        state=state,
        finished_at=now,
        error=error,
        summary=dict(summary) if summary is not None else None,
    )
    if changed:
        logger.info("run ended run_id=%s state=%s", run_id, state)
        run_ended.send(Run, run_id=run_id)
    return bool(changed)


def remove_old_runs(now: datetime, launcher: Launcher = SPARK) -> int:
    """Remove runs that ended long ago, on the host that has their folders; return how many."""
    old = Run.objects.exclude(state__in=LIVE_STATES).filter(
        _is_old(now), host__in=["", this_host()]
    )
    removed = 0
    for run in old.only("pk", "kind", "folder", "question_key")[:500]:
        if run.folder:
            launcher.remove_run(Path(run.folder))
        if run.is_analysis:
            remove_tables(run)
        removed += Run.objects.filter(pk=run.pk).delete()[0]
    return removed


def kept_for(run: Run) -> timedelta:
    """Return how long a run is kept after its end."""
    if not run.is_analysis:
        return KEEP_ENDED_RUNS
    analysis = ANALYSES.get(run.kind)
    return timedelta(days=analysis.keep_days) if analysis else KEEP_UNKNOWN_ANALYSES


def _is_old(now: datetime) -> Q:
    old = Q(question_key="", finished_at__lt=now - KEEP_ENDED_RUNS)
    answers = ~Q(question_key="")
    for analysis in ANALYSES.values():
        limit = now - timedelta(days=analysis.keep_days)
        old |= answers & Q(kind=analysis.kind, finished_at__lt=limit)
    unknown = answers & ~Q(kind__in=list(ANALYSES))
    return old | (unknown & Q(finished_at__lt=now - KEEP_UNKNOWN_ANALYSES))


def _stop_here(run_id: UUID) -> None:
    """Tell an analysis at once when it runs on this host; the watch stops other runs."""
    here = Run.objects.filter(pk=run_id, host=this_host()).exclude(question_key="")
    for folder in here.values_list("folder", flat=True):
        try:
            SPARK.request_stop(Path(folder))
        except OSError:
            logger.info("run could not be stopped yet run_id=%s", run_id)


def _write_control(run: Run, folder: Path) -> None:
    """Write the control file that the run reads at its start."""
    if run.arguments.get(CONTROL):
        folder.mkdir(parents=True, exist_ok=True)
        contract.write_control(folder, run.arguments[CONTROL])


def _job_spec(run: Run, now: datetime) -> JobSpec:
    if run.is_analysis:
        why = why_stopped(run)
        if why:
            raise SourceGone(why)
        return spec_of(run, now)
    arguments = {name: value for name, value in run.arguments.items() if name != CONTROL}
    return JobSpec(run_id=str(run.pk), kind=run.kind, arguments=arguments, lease_s=settings.LEASE_S)
