"""Objectives: their steps are measured, then their budgets are judged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Model, OuterRef, Subquery

from console.checks.areas.area import Area, Given, Judged
from console.checks.objectives.sources import Source, sources_of
from console.findings.objectives.models import STEPS_KEPT_S, ObjectiveStep
from console.findings.objectives.queries import (
    list_objectives,
    with_open_findings,
    with_states,
)
from console.findings.objectives.store import save_steps
from console.frame.series import LATE_S
from jobs.findings import Finding
from jobs.objectives.checks import BUDGET, BURN
from jobs.objectives.measuring import STEP_S, portions

EVERY_S = 60
# Of one objective in one round: a day.
MOST_STEPS = 288
_CODES = frozenset({BURN.id, BUDGET.id})


def judge(given: Given) -> Iterator[Judged]:
    """Measure all objectives once a minute, sooner while there is time to catch up, and judge them."""
    now_s = int(given.now.timestamp())
    if 0 <= now_s - given.memory.get("measured_s", 0) < EVERY_S:
        return
    rows = _with_ends(now_s)
    sources = sources_of(rows, given.now)
    # A flow may be removed between the two reads, and its objectives with it.
    rows = [row for row in rows if (row.flow_id, row.cluster_id) in sources]
    is_done = [_measure(row, sources[row.flow_id, row.cluster_id], now_s) for row in rows]
    save_steps({row: row.measured for row in rows if row.measured})
    given.memory = {"measured_s": now_s} if all(is_done) else {}
    found: dict[Model, list[Finding]] = {one: [] for one in with_open_findings(_CODES)}
    for row in with_states(rows, given.now, given.settings):
        found.setdefault(row.flow or row.cluster, []).extend(row.found)
    for scope, findings in found.items():
        yield Judged(scope, _CODES, tuple(findings))


def _with_ends(now_s: int) -> list[Any]:
    """Return objectives, each with its `oldest` step and its `newest` one that is not after now."""
    steps = ObjectiveStep.objects.filter(objective=OuterRef("pk"))
    past = steps.filter(at_s__lte=now_s)
    rows = list_objectives().annotate(
        oldest=Subquery(steps.order_by("at_s").values("at_s")[:1]),
        newest=Subquery(past.order_by("-at_s").values("at_s")[:1]),
    )
    return list(rows)


def _measure(row: Any, source: Source, now_s: int) -> bool:
    """Put what is due of an objective into its `measured`; return whether nothing of the past is left."""
    row.measured, known = [], source.known()
    if known is None:
        return True
    kept = max(known[0], now_s - STEPS_KEPT_S), min(known[1], now_s)
    due = list(portions(row.oldest, row.newest, kept, LATE_S, MOST_STEPS))
    for start, end in due:
        row.measured += source.steps(row, start, end)
    return all(end - start < MOST_STEPS * STEP_S for start, end in due)


AREA = Area("objectives", judge)
