"""Look after the engines of this host: folder of the engine -> row. Rolls those that are to be rolled."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import Q

from console.runs.engines.models import Engine, EngineKind, EngineState
from console.runs.launcher import SPARK, Launcher, this_host
from jobs.spark import contract
from jobs.spark.contract import Outcome
from jobs.spark.engine.folder import list_engines

logger = logging.getLogger(__name__)

KEEP_ENDED_ENGINES = timedelta(days=14)
# A roll without a successor after that is over: the worker that did it is gone.
ROLL_GRACE = timedelta(seconds=60)
LOG_BYTES = 64 * 1024


def watch_engines(now: datetime, launcher: Launcher = SPARK) -> None:
    """Bring the rows of this host's engines up to date; end those of hosts that do not report any more."""
    runs_dir = Path(settings.CROSSLOG_RUNS_DIR)
    found = {one.name: one for kind in EngineKind.values for one in list_engines(runs_dir, kind)}
    mine = Q(host=this_host(), ended_at=None) | Q(name__in=found)
    rows = {row.name: row for row in Engine.objects.filter(mine).defer("progress", "log")}
    for name in found.keys() - rows:
        fields = _first_seen(found[name], now)
        if launcher.is_alive(found[name]) or fields["started_at"] > now - KEEP_ENDED_ENGINES:
            rows[name] = Engine.objects.get_or_create(name=name, defaults=fields)[0]
    for row in rows.values():
        if launcher.is_alive(Path(row.folder)):
            _look_at(row, now, launcher)
        elif row.is_live:
            _end(row, now, launcher)
    _give_up_lost(now)


def remove_old_engines(now: datetime) -> int:
    """Remove the rows of engines that ended long ago; return how many."""
    return Engine.objects.filter(ended_at__lt=now - KEEP_ENDED_ENGINES).delete()[0]


def _first_seen(folder: Path, now: datetime) -> dict[str, Any]:
    began_s = (folder / contract.SPEC).stat().st_mtime
    return {
        "kind": EngineKind(folder.name.partition("-")[0]),
        "release": str(contract.read_spec(folder).arguments.get("release", "")),
        "host": this_host(),
        "folder": str(folder),
        "started_at": datetime.fromtimestamp(began_s, UTC),
        "seen_at": now,
    }


def _look_at(row: Engine, now: datetime, launcher: Launcher) -> None:
    same = Engine.objects.filter(pk=row.pk)
    progress = launcher.read_progress(Path(row.folder))
    changes: dict[str, Any] = {"seen_at": now}
    if not row.is_live:
        # Its host was given up, and reports again.
        changes |= {"ended_at": None, "problem": ""}
    if progress is not None:
        since = row.roll_requested_at
        is_asked = row.state == EngineState.ROLLING and since and now - since < ROLL_GRACE
        is_rolling = bool(progress.get("successor") or is_asked)
        state = EngineState.ROLLING if is_rolling else EngineState.RUNNING
        changes |= {"progress": progress, "state": state}
        if row.state == EngineState.ROLLING and not is_rolling:
            changes["roll_requested_at"] = None
    elif row.kind == EngineKind.ANALYSES:
        # It writes no progress of its own.
        changes["state"] = EngineState.RUNNING
    same.update(**changes)
    waiting = same.filter(state=EngineState.RUNNING, roll_requested_at__isnull=False)
    # One worker rolls it: a start takes longer than a round.
    if row.roll_requested_at and waiting.update(state=EngineState.ROLLING):
        _roll(row, launcher)


def _roll(row: Engine, launcher: Launcher) -> None:
    folder = Path(row.folder)
    try:
        launcher.roll(folder.parent, folder)
    except Exception as error:
        # Whatever it was (no JDK, disk full), the engine continues and its page says why.
        logger.exception("engine could not be rolled name=%s", row.name)
        problem = f"The engine could not be rolled: {error}"
        rolling = Engine.objects.filter(pk=row.pk, state=EngineState.ROLLING)
        rolling.update(state=EngineState.RUNNING, roll_requested_at=None, problem=problem)


def _end(row: Engine, now: datetime, launcher: Launcher) -> None:
    folder = Path(row.folder)
    result = contract.read_result(folder)
    ended_cleanly = result is not None and result.outcome in {Outcome.SUCCEEDED, Outcome.STOPPED}
    problem = (result.error or "") if result else "Its keeper process is gone and left no result."
    Engine.objects.filter(pk=row.pk, ended_at=None).update(
        state=EngineState.STOPPED if ended_cleanly else EngineState.CRASHED,
        ended_at=now,
        problem=problem,
        log=launcher.read_log_tail(folder, LOG_BYTES),
    )
    logger.info("engine ended name=%s", row.name)


def _give_up_lost(now: datetime) -> None:
    """End the engines of hosts that have not been heard of for three leases."""
    limit = now - timedelta(seconds=3 * settings.LEASE_S)
    lost = Engine.objects.filter(ended_at=None, seen_at__lt=limit).exclude(host=this_host())
    problem = "Its host has not reported for three leases. Check the host and its crosslog worker."
    lost.update(state=EngineState.CRASHED, ended_at=now, problem=problem)
