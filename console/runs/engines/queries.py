"""Reads of engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.db.models import QuerySet

from console.runs.engines.models import Engine
from console.runs.launcher import this_host
from console.runs.models import Run
from jobs.spark.engine import door


def list_engines() -> QuerySet[Engine]:
    """Return all engines, newest first, without their logs."""
    return Engine.objects.order_by("-started_at", "name").defer("log")


def read_log(engine: Engine, lines: int = 400) -> str | None:
    """Return the last lines of an engine's log; None while it is on another host."""
    if engine.is_live and engine.host != this_host():
        return None
    tail = door.read_log_tail(Path(engine.folder), 128 * 1024) if engine.is_live else engine.log
    return "\n".join(tail.splitlines()[-lines:])


def flows_of(engine: Engine) -> list[dict[str, Any]]:
    """Return the flows of an engine as it reported them, each with the `subject` of its run ("flow:12").

    The subject is None where the run is gone.
    """
    rows = (engine.progress or {}).get("flows") or []
    runs = Run.objects.filter(pk__in=[row["run_id"] for row in rows])
    subjects = {str(pk): subject for pk, subject in runs.values_list("pk", "subject")}
    return [{**row, "subject": subjects.get(row["run_id"])} for row in rows]
