"""What can be done with runs. Every state change is a conditional UPDATE: 0 rows = somebody was faster."""

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

from console.accounts.audit import audit, change
from console.accounts.models import User
from console.frame.errors import ActionRefused
from console.runs.launcher import SPARK, Launcher, this_host
from console.runs.models import LIVE_STATES, Run, RunState
from jobs.spark import contract
from jobs.spark.contract import JobSpec

logger = logging.getLogger(__name__)

KEEP_ENDED_RUNS = timedelta(days=14)
# The argument of a run that goes into its `control.json` before it begins.
CONTROL = "control"


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A job that somebody wants: `subject` ("flow:12") has at most one live run, "" any number."""

    kind: str
    title: str
    subject: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    requested_by: User | None = None


def queue_run(request: RunRequest, now: datetime) -> Run | None:
    """Write a run that waits for its start; None when the subject has a live run already."""
    try:
        with transaction.atomic():
            return Run.objects.create(
                kind=request.kind,
                title=request.title,
                subject=request.subject,
                arguments=dict(request.arguments),
                requested_by=request.requested_by,
                created_at=now,
            )
    except IntegrityError:
        return None


def launch_run(run_id: UUID, now: datetime, launcher: Launcher = SPARK) -> bool:
    """Start the processes of a queued run on this host; False when somebody else already did."""
    folder = Path(settings.CROSSLOG_RUNS_DIR) / str(run_id)
    claimed = Run.objects.filter(pk=run_id, state=RunState.QUEUED).update(
        state=RunState.RUNNING,
        host=this_host(),
        folder=str(folder),
        started_at=now,
        heartbeat_at=now,
    )
    if not claimed:
        return False
    run = Run.objects.get(pk=run_id)
    try:
        _write_control(run, folder)
        launcher.start_run(_job_spec(run), folder)
    except Exception as error:
        # Whatever it was (no JDK, disk full, a wrong installation), the run ends here and says so.
        logger.exception("run could not be started run_id=%s", run_id)
        finish_run(run_id, RunState.ERRORED, now, error=f"The run could not be started: {error}")
        return False
    logger.info("run started run_id=%s kind=%s subject=%s", run_id, run.kind, run.subject)
    if not Run.objects.filter(pk=run_id, state=RunState.RUNNING).exists():
        # It was given up while it started slowly: nobody would look after these processes.
        launcher.kill_run(folder)
    return True


@change("run.cancel")
def cancel_run(run_id: UUID, now: datetime) -> None:
    """Ask a run to end cleanly, for a person; raises `ActionRefused` when it has ended already."""
    ask_to_end(run_id, now)
    title = Run.objects.filter(pk=run_id).values_list("title", flat=True).first()
    audit("run.cancel", f"run:{run_id}", after={"title": title})


def ask_to_end(run_id: UUID, now: datetime) -> None:
    """Ask a run to end cleanly; asking twice is the same as once.

    Raises `ActionRefused` when it has ended already.
    """
    waiting = Run.objects.filter(pk=run_id, state=RunState.QUEUED)
    if waiting.update(state=RunState.CANCELLED, finished_at=now, cancel_requested_at=now):
        return
    running = Run.objects.filter(pk=run_id, state=RunState.RUNNING)
    if running.filter(cancel_requested_at=None).update(cancel_requested_at=now):
        return
    if not running.exists():
        raise ActionRefused("run_ended", "This run has ended already: there is nothing to cancel.")


def finish_run(
    run_id: UUID,
    state: RunState,
    now: datetime,
    *,
    error: str = "",
    summary: Mapping[str, Any] | None = None,
) -> bool:
    """Write how a running run ended; False when it has an end already."""
    changed = Run.objects.filter(pk=run_id, state=RunState.RUNNING).update(
        state=state,
        finished_at=now,
        error=error,
        summary=dict(summary) if summary is not None else None,
    )
    if changed:
        logger.info("run ended run_id=%s state=%s", run_id, state)
    return bool(changed)


def remove_old_runs(now: datetime, launcher: Launcher = SPARK) -> int:
    """Remove runs that ended long ago, on the host that has their folders; return how many."""
    old = Run.objects.exclude(state__in=LIVE_STATES).filter(
        finished_at__lt=now - KEEP_ENDED_RUNS, host__in=["", this_host()]
    )
    removed = 0
    for run in old.only("pk", "folder")[:500]:
        if run.folder:
            launcher.remove_run(Path(run.folder))
        removed += Run.objects.filter(pk=run.pk).delete()[0]
    return removed


def _write_control(run: Run, folder: Path) -> None:
    """Put down what is asked of the run from its beginning on."""
    if run.arguments.get(CONTROL):
        folder.mkdir(parents=True, exist_ok=True)
        contract.write_control(folder, run.arguments[CONTROL])


def _job_spec(run: Run) -> JobSpec:
    arguments = {name: value for name, value in run.arguments.items() if name != CONTROL}
    return JobSpec(run_id=str(run.pk), kind=run.kind, arguments=arguments, lease_s=settings.LEASE_S)
