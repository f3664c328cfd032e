"""The table of runs."""

from __future__ import annotations

from django.db.models import QuerySet

from console.frame.tables.table import Choice, Column, Table
from console.runs.models import Run, RunState


def _in_state(runs: QuerySet[Run], state: str) -> QuerySet[Run]:
    return runs.filter(state=state)


def _about(runs: QuerySet[Run], subject: str) -> QuerySet[Run]:
    return runs.filter(subject=subject)


COLUMNS = (
    Column("state", "State", "state", template="runs/cells/state.html"),
    Column("title", "Run", "title", template="runs/cells/title.html"),
    Column("kind", "Kind", "kind"),
    Column("requested_by.username", "Asked for by"),
    Column("created_at", "Queued", "created_at", template="runs/cells/time.html"),
    Column(
        "started_at",
        "Took",
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
    filters={"state": Choice("State", RunState.choices, _in_state), "subject": _about},
    default_sort="-created_at",
)
