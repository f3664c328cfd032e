"""Rows of engines, and what engines of flows report."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from console.runs.engines.models import Engine
from console.runs.launcher import this_host
from tests.console.making import NOW

NO_RUN = str(UUID(int=1))


def report(run_id: str = NO_RUN, **fields: Any) -> dict[str, Any]:
    """Return the progress of an engine with a slot that runs and one that is lost."""
    slot = {
        "slot": 0,
        "state": "running",
        "pid": 4711,
        "host": "worker-1",
        "rss_bytes": 200 << 20,
        "cpu_percent": 95.4,
        "flows": ["orders to west", "clicks to west"],
        "own_flow": None,
        "restarts": 0,
        "lost_at_ms": None,
        "why_lost": None,
    }
    lost_at_ms = int(NOW.timestamp() * 1000)
    lost = {"slot": 1, "state": "lost", "pid": None, "rss_bytes": None, "cpu_percent": None}
    lost |= {"flows": [], "restarts": 3, "lost_at_ms": lost_at_ms, "why_lost": "Slot 1 was killed."}
    flow = {"run_id": run_id, "flow": "orders to west", "slots": [0], "state": "running"}
    flow |= {"cpu_percent": 61.2, "memory_bytes": 12 << 20}
    other = {"run_id": NO_RUN, "flow": "clicks to west", "state": "starting"}
    other |= {"slots": [], "cpu_percent": None, "memory_bytes": None}
    return {
        "at_ms": lost_at_ms,
        "message": "Copying.",
        "release": "0.6.0",
        "restarts": 3,
        "rss_bytes": 900 << 20,
        "cpu_percent": 425.0,
        "in_flight_bytes": 5 << 20,
        "successor": None,
        "slots": [slot, slot | lost],
        "flows": [flow, other],
    } | fields


def make_engine(name: str = "flows-0a1b2c3d4e5f", **fields: Any) -> Engine:
    """Make a running engine of flows of this host."""
    values = {
        "kind": "flows",
        "state": "RUNNING",
        "release": "0.6.0",
        "host": this_host(),
        "folder": f"runs/{name}",
        "started_at": NOW,
        "seen_at": NOW,
        "progress": report(),
    }
    return Engine.objects.create(name=name, **values | fields)
