"""Look after the runs of this host: lease, progress, end. Ask the run's folder -> write the row."""

from __future__ import annotations

import logging
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from console.runs.actions import finish_run, launch_run
from console.runs.launcher import SPARK, Launcher, this_host
from console.runs.models import Run, RunState
from jobs.spark import contract
from jobs.spark.contract import JobResult

logger = logging.getLogger(__name__)

# Between claiming a run and its supervisor's first sign of life: a worker may die exactly there.
START_GRACE = timedelta(seconds=10)
# The supervisor itself gives the application 35 s after a request to stop.
STOP_GRACE = timedelta(seconds=60)
# A run writes its progress and its result beside its log.
FULL_BELOW_BYTES = 1 << 20
LOG_LINES_IN_ERROR = 20


def observe_runs(now: datetime, launcher: Launcher = SPARK) -> None:
    """Start what is queued, look at what runs here, give up what was lost with its host."""
    for run_id in Run.objects.filter(state=RunState.QUEUED).values_list("pk", flat=True):
        launch_run(run_id, now, launcher)
    for run in running_here():
        try:
            observe_run(run, now, launcher)
        except Exception:
            # One run with a damaged folder must not stop the lease of the others.
            logger.exception("run could not be observed run_id=%s", run.pk)
    give_up_lost_runs(now)


def running_here() -> QuerySet[Run]:
    """Return the runs whose processes are on this host."""
    return Run.objects.filter(state=RunState.RUNNING, host=this_host()).defer("progress")


def observe_run(run: Run, now: datetime, launcher: Launcher = SPARK) -> None:
    """Bring the row of one running run up to date with its folder."""
    folder = Path(run.folder)
    # Alive is read before the result: a supervisor that ends in between leaves a result to be found.
    if launcher.is_alive(folder):
        _look_after(run, folder, now, launcher)
        return
    result = contract.read_result(folder)
    if result is not None:
        _save_progress(run, folder, launcher, {})
        _finish_with(run, result, now)
    elif run.started_at is None or now - run.started_at > START_GRACE:
        _finish_lost(run, folder, now, launcher)


def give_up_lost_runs(now: datetime) -> None:
    """End the runs of hosts that have not been heard of for three leases."""
    limit = now - timedelta(seconds=3 * settings.LEASE_S)
    lost = Run.objects.filter(state=RunState.RUNNING, heartbeat_at__lt=limit)
    for run in lost.exclude(host=this_host()).only("pk", "host", "heartbeat_at"):
        seen = f"{run.heartbeat_at:%Y-%m-%d %H:%M:%S} UTC"
        error = (
            f"Host {run.host} has not reported since {seen}, so its lease ran out and the run ended "
            "there. Check the host and its crosslog worker."
        )
        finish_run(run.pk, RunState.ERRORED, now, error=error)


def _look_after(run: Run, folder: Path, now: datetime, launcher: Launcher) -> None:
    launcher.touch_lease(folder)
    if run.cancel_requested_at is not None:
        launcher.request_stop(folder)
        if now - run.cancel_requested_at > STOP_GRACE:
            launcher.kill_run(folder)
    _save_progress(run, folder, launcher, {"heartbeat_at": now})


def _save_progress(run: Run, folder: Path, launcher: Launcher, changes: dict[str, Any]) -> None:
    progress = launcher.read_progress(folder)
    if progress is not None:
        reported_at = datetime.fromtimestamp(progress["at_ms"] / 1000, UTC)
        # The document can be large: it is written only when the job wrote a new one.
        if reported_at != run.reported_at:
            changes |= {"progress": progress, "reported_at": reported_at}
            changes |= {"stages": progress.get("stages") or {}}
    if changes:
        Run.objects.filter(pk=run.pk, state=RunState.RUNNING).update(**changes)


def _finish_with(run: Run, result: JobResult, now: datetime) -> None:
    finish_run(
        run.pk,
        RunState(result.outcome.value),
        now,
        error=result.error or "",
        summary=result.summary,
    )


def _finish_lost(run: Run, folder: Path, now: datetime, launcher: Launcher) -> None:
    """Write the end of a run whose supervisor is gone without a result: killed, or never started."""
    if run.cancel_requested_at is not None:
        error = "It did not stop when asked to and was killed."
        finish_run(run.pk, RunState.CANCELLED, now, error=error)
        return
    lines = launcher.read_log_tail(folder).splitlines()[-LOG_LINES_IN_ERROR:]
    tail = "\n".join(lines) or "Its log is empty."
    error = f"Its keeper process is gone and left no result. {_room(folder)}Last lines of its log:\n{tail}"
    finish_run(run.pk, RunState.ERRORED, now, error=error)


def _room(folder: Path) -> str:
    """Say so when there is no room for a result; else nothing."""
    try:
        free_bytes = shutil.disk_usage(folder).free
    except OSError:
        return ""
    is_full = free_bytes < FULL_BELOW_BYTES
    return f"The disk of {folder} is full: make room and start it again. " if is_full else ""
