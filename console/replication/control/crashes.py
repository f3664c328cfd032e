"""Crashes of a flow in the last 24 hours: of its runs, from their rows, and of tasks inside a run.

A run restarts a task that ends unexpectedly, and reports it. Only the round of the flow writes these rows, so
that there is one writer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Count, Max

from console.replication.flows.models import ReplicationFlow
from console.runs import queries as run_queries
from console.runs.models import RunState

WITHIN = timedelta(hours=24)
MOST_KEPT = 1000


@dataclass(frozen=True, slots=True)
class Crashes:
    """How many there were, and when the last one was (None: there was none)."""

    count: int = 0
    last_at: datetime | None = None

    @property
    def times(self) -> str:
        """`once`, `2 times`, ..."""
        return "once" if self.count == 1 else f"{self.count} times"


def with_crashes(flows: Iterable[ReplicationFlow], now: datetime) -> list[ReplicationFlow]:
    """Return the flows, each with its crashes; one query."""
    found = list(flows)
    ended = run_queries.list_runs().filter(
        subject__in=[flow.subject for flow in found],
        state=RunState.CRASHED,
        finished_at__gt=now - WITHIN,
    )
    counted = ended.order_by().values("subject").annotate(n=Count("pk"), last=Max("finished_at"))
    runs = {row["subject"]: (row["n"], row["last"]) for row in counted}
    for flow in found:
        of_runs, last = runs.get(flow.subject, (0, None))
        tasks = _since(flow.task_crashes, now)
        ends = [_at(ms) for ms in tasks] + ([last] if last else [])
        flow.crashes = Crashes(of_runs + len(tasks), max(ends, default=None))
    return found


def task_crashes(kept: Sequence[int], told: Sequence[int], now: datetime) -> list[int]:
    """Return the times (ms) of crashes of tasks that are still to be shown, the newest `MOST_KEPT`."""
    return _since(sorted({*kept, *told}), now)[-MOST_KEPT:]


def _since(times_ms: Iterable[int], now: datetime) -> list[int]:
    return [ms for ms in times_ms if _at(ms) > now - WITHIN]


def _at(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)
