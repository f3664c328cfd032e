"""Look after the runs of this host: lease, progress, end. Ask the run's folder -> write the row."""

from __future__ import annotations

import logging
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from console.runs.actions import finish_run, launch_run, queue_again
from console.runs.analyses.queue import start_queued
from console.runs.analyses.results import own_document
from console.runs.launcher import SPARK, Launcher, this_host
from console.runs.models import Run, RunState
from jobs.spark import contract
from jobs.spark.contract import JobResult

logger = logging.getLogger(__name__)

# Between claiming a run and its supervisor's first sign of life: a worker may die exactly there.
START_GRACE = timedelta(seconds=10)
# The supervisor itself gives the application 35 s after a request to stop.
STOP_GRACE = timedelta(seconds=60)
# An analysis has nothing to save: an engine that keeps it is ended, and its other analyses restart.
ANALYSIS_STOP_GRACE = timedelta(seconds=10)
# A run writes its progress and its result beside its log.
FULL_BELOW_BYTES = 1 << 20
LOG_LINES_IN_ERROR = 20
# An analysis only reads, and writes into a folder of its own: what was lost is started once more.
MOST_ATTEMPTS = 2
# A watch looks several times a second: a heartbeat is written about once a second.
HEARTBEAT_EVERY = timedelta(seconds=1)


def observe_runs(now: datetime, launcher: Launcher = SPARK) -> None:
    """Start what is queued, look at what runs here, give up what was lost with its host."""
    waiting = Run.objects.filter(state=RunState.QUEUED, question_key="")
    for run_id in waiting.values_list("pk", flat=True):
        launch_run(run_id, now, launcher)
    observe_all(running_here(), now, launcher)
    give_up_lost_runs(now)
    start_queued(now, launcher)


def observe_all(runs: QuerySet[Run], now: datetime, launcher: Launcher = SPARK) -> int:
    """Bring the rows of running runs up to date with their folders; return how many there are."""
    found = list(runs)
    for run in found:
        try:
            observe_run(run, now, launcher)
        except Exception:
            # One run with a damaged folder must not stop the lease of the others.
            logger.exception("run could not be observed run_id=%s", run.pk)
    return len(found)


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
    for run in lost.exclude(host=this_host()).defer("progress", "arguments", "summary"):
        if _is_tried_again(run, ""):
            continue
        seen = f"{run.heartbeat_at:%Y-%m-%d %H:%M:%S} UTC"
        error = (
            f"Host {run.host} has not reported since {seen}, so its lease ran out and the run ended "
            "there. Check the host and its crosslog worker."
        )
        finish_run(run.pk, RunState.CRASHED, now, error=error, attempts=run.attempts)


def _look_after(run: Run, folder: Path, now: datetime, launcher: Launcher) -> None:
    launcher.touch_lease(folder)
    if run.cancel_requested_at is not None:
        launcher.request_stop(folder)
        grace = ANALYSIS_STOP_GRACE if run.is_analysis else STOP_GRACE
        if now - run.cancel_requested_at > grace:
            launcher.kill_run(folder)
    is_due = run.heartbeat_at is None or now - run.heartbeat_at >= HEARTBEAT_EVERY
    _save_progress(run, folder, launcher, {"heartbeat_at": now} if is_due else {})


def _save_progress(run: Run, folder: Path, launcher: Launcher, changes: dict[str, Any]) -> None:
    progress = launcher.read_progress(folder)
    if progress is not None:
        reported_at = datetime.fromtimestamp(progress["at_ms"] / 1000, UTC)
        # The document can be large: it is written only when the job wrote a new one.
        if reported_at != run.reported_at:
            changes |= {"progress": progress, "reported_at": reported_at}
            changes |= {"stages": progress.get("stages") or {}}
    if changes:
        running = Run.objects.filter(pk=run.pk, state=RunState.RUNNING, attempts=run.attempts)
        running.update(**changes)


def _finish_with(run: Run, result: JobResult, now: datetime) -> None:
    finish_run(
        run.pk,
        RunState(result.outcome.value),
        now,
        error=result.error or "",
        summary=own_document(run, result.summary),
        attempts=run.attempts,
    )


def _finish_lost(run: Run, folder: Path, now: datetime, launcher: Launcher) -> None:
    """Write the end of a run whose supervisor is gone without a result: killed, or never started."""
    if run.cancel_requested_at is not None:
        error = "It did not stop when asked to and was killed."
        finish_run(run.pk, RunState.STOPPED, now, error=error, attempts=run.attempts)
        return
    lines = launcher.read_log_tail(folder).splitlines()[-LOG_LINES_IN_ERROR:]
    tail = "\n".join(lines) or "Its log is empty."
    if _is_tried_again(run, tail):
        launcher.remove_run(folder)
        return
    what = "Its keeper process is gone and left no result."
    if run.is_analysis:
        what = f"Spark crashed {run.attempts} times while it answered this, without a result."
    error = f"{what} {_room(folder)}Last lines of its log:\n{tail}"
    finish_run(run.pk, RunState.CRASHED, now, error=error, attempts=run.attempts)


def _is_tried_again(run: Run, tail: str) -> bool:
    """Let a lost analysis wait for another attempt, unless it had the last one."""
    if not run.is_analysis or run.attempts >= MOST_ATTEMPTS or not queue_again(run):
        return False
    logger.warning("analysis is tried again run_id=%s host=%s log=%s", run.pk, run.host, tail)
    return True


def _room(folder: Path) -> str:
    """Say so when there is no room for a result; else nothing."""
    try:
        free_bytes = shutil.disk_usage(folder).free
    except OSError:
        return ""
    is_full = free_bytes < FULL_BELOW_BYTES
    return f"The disk of {folder} is full: make room and start it again. " if is_full else ""
