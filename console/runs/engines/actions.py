"""Actions on engines."""

from __future__ import annotations

from datetime import datetime

from console.accounts.audit import audit, change
from console.frame.errors import ActionRefused
from console.runs.engines.models import Engine, EngineKind, EngineState

NOT_NOW = "Only a running engine of flows can be rolled, and only once at a time."


@change("engine.roll")
def roll_engine(name: str, now: datetime) -> None:
    """Request a rolling restart: the watch on the engine's host does it; raises `ActionRefused`."""
    running = Engine.objects.filter(
        pk=name, kind=EngineKind.FLOWS, ended_at=None, roll_requested_at=None
    )
    if not running.exclude(state=EngineState.ROLLING).update(roll_requested_at=now, problem=""):
        raise ActionRefused("not_rollable", NOT_NOW)
    audit("engine.roll", f"engine:{name}")
