"""The table of engines."""

from __future__ import annotations

from django.urls import reverse

from console.frame.tables.columns import Choice, Column, equals
from console.frame.tables.table import Table
from console.runs.engines.models import EngineKind, EngineState
from jobs.numbers import DASH, NO_BREAK, format_bytes


def format_cpu(percent: float | None) -> str:
    """Return processor time in percent of one core; a dash for None."""
    return DASH if percent is None else f"{percent:,.0f}{NO_BREAK}%"


ENGINES = Table(
    (
        Column("name", "Engine", "name", link=lambda row: reverse("runs:engine", args=[row.pk])),
        Column("state", "State", "state", template="runs/cells/state.html"),
        Column("get_kind_display", "Kind", "kind"),
        Column("host", "Host", "host"),
        Column("flow_count", "Flows", numeric=True),
        Column("slot_count", "Slots", definition="Python processes that copy.", numeric=True),
        Column(
            "progress.cpu_percent",
            "Processor",
            definition="Of one core: all processes of the engine.",
            numeric=True,
            format=format_cpu,
        ),
        Column("progress.rss_bytes", "Memory", numeric=True, format=format_bytes),
        Column(
            "progress.restarts",
            "Restarts",
            definition="Slots that ended unexpectedly and were started again.",
            numeric=True,
        ),
        Column("started_at", "Started", "started_at", template="runs/cells/time.html"),
        Column("release", "Release", "release", is_hidden=True),
    ),
    search=("name", "host"),
    filters={
        "state": Choice("State", EngineState.choices, equals("state")),
        "kind": Choice("Kind", EngineKind.choices, equals("kind")),
    },
    default_sort="-started_at",
)
