"""The table of runs."""

from __future__ import annotations

from dataclasses import replace

from console.frame.tables.columns import Choice, Column, equals
from console.frame.tables.table import Table
from console.runs.models import RunState
from jobs.spark.analyses.kinds import ANALYSES

_KINDS = [("replicate", "Replication"), *((one.kind, one.title) for one in ANALYSES.values())]


COLUMNS = (
    Column("state", "State", "state", template="runs/cells/state.html"),
    Column("title", "Run", "title", template="runs/cells/title.html"),
    Column("kind", "Kind", "kind"),
    Column("requested_by.username", "Requested by"),
    Column("created_at", "Queued", "created_at", template="runs/cells/time.html"),
    Column(
        "started_at",
        "Duration",
        definition="From the start of the run to its end, or to now.",
        template="runs/cells/span.html",
        numeric=True,
    ),
    Column("host", "Host", "host", is_hidden=True),
    Column("id", "Id", is_hidden=True),
)
RUNS = Table(
    COLUMNS,
    search=("title", "error", "host"),
    filters={
        "state": Choice("State", RunState.choices, equals("state")),
        "subject": equals("subject"),
    },
    default_sort="-created_at",
)
# With runs of all kinds.
ALL_RUNS = replace(RUNS, filters={**RUNS.filters, "kind": Choice("Kind", _KINDS, equals("kind"))})
