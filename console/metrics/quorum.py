"""The metrics of quorums: five queries, whatever their number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from django.db.models import Count, QuerySet, Sum

from console.metrics import counters
from console.metrics import definitions as known
from console.metrics.definition import Definition
from console.quorum import queries
from console.quorum.queries import Log

Sample = tuple[Definition, tuple[str, ...], float | int | None]
Scope = Callable[[QuerySet[Any]], QuerySet[Any]]


def quorum_samples(scope: Scope, now: datetime) -> Iterator[Sample]:
    """Yield the samples of all quorums of registered clusters."""
    elections = scope(queries.list_elections()).order_by().values_list("log__name")
    elected = dict(elections.annotate(number=Count("pk")))
    without = _seconds_without(scope)
    for log in scope(queries.list_logs().filter(cluster__isnull=False)):
        yield from _of_log(log, now)
        yield known.QUORUM_JUDGED, (log.name,), int(queries.is_judged(log, now))
        if log.heard_at is not None:
            elected.setdefault(log.name, 0)
            yield counters.QUORUM_ELECTIONS_TOTAL, (log.name,), elected[log.name]
            yield counters.QUORUM_WITHOUT_TOTAL, (log.name,), without.get(log.name, 0.0)
    for name, number in elected.items():
        yield known.QUORUM_ELECTIONS, (name,), number
    counted = scope(queries.open_findings()).order_by()
    named = counted.values_list("log__name", "code", "severity").annotate(number=Count("pk"))
    for name, code, severity, number in named:
        yield known.QUORUM_FINDINGS, (name, code, severity), number


def _seconds_without(scope: Scope) -> dict[str, float]:
    """Return the time without an active controller by log: before elections, and silences without one."""
    elections = scope(queries.list_elections().filter(gap_ms__gt=0)).order_by()
    found = {
        name: ms / 1000
        for name, ms in elections.values_list("log__name").annotate(ms=Sum("gap_ms"))
    }
    silences = scope(queries.list_silences()).order_by()
    for name, start, end in silences.values_list("log__name", "from_at", "to_at"):
        found[name] = found.get(name, 0.0) + (end - start).total_seconds()
    return found


def _of_log(log: Log, now: datetime) -> Iterator[Sample]:
    names = (log.name,)
    if log.heard_at is not None:
        yield known.METADATA_OFFSET, names, log.next_offset
        yield known.METADATA_BEHIND, names, _seconds(log.behind_ms)
    status = queries.status_of(log)
    if status is None or status.described_at is None:
        return
    yield known.QUORUM_LEADER, names, status.leader_id
    yield known.QUORUM_EPOCH, names, status.leader_epoch
    yield known.QUORUM_VOTERS, (*names, "voter"), status.voter_count
    yield known.QUORUM_VOTERS, (*names, "observer"), status.observer_count
    yield known.QUORUM_MARK, names, status.high_watermark
    yield known.QUORUM_LAG, names, status.worst_lag
    yield known.QUORUM_LAG_TIME, names, _seconds(status.worst_lag_ms)
    yield known.QUORUM_AGE, names, max((now - status.described_at).total_seconds(), 0.0)


def _seconds(ms: int | None) -> float | None:
    return None if ms is None else ms / 1000
