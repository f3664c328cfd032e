"""The metrics of promotions: six queries, whatever their number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

from django.db.models import Count, QuerySet

from console.availability.status.queries import promotions as queries
from console.metrics import definitions as known
from console.metrics.definition import Definition

Sample = tuple[Definition, tuple[str, ...], float | int | None]
Scope = Callable[[QuerySet[Any]], QuerySet[Any]]


def promotion_samples(scope: Scope, now: datetime) -> Iterator[Sample]:
    """Yield the samples of clusters whose observers were judged."""
    stopped = {row.cluster_id for row in queries.list_stops() if row.is_on}
    alias_of = {}
    for row in scope(queries.list_rounds().exclude(succeeded_at=None)):
        alias_of[row.cluster_id] = row.cluster.alias
        yield known.OBSERVERS_IN_ISR, (row.cluster.alias,), row.observers_in_isr
        is_on = None in stopped or row.cluster_id in stopped
        yield known.PROMOTION_STOPPED, (row.cluster.alias,), int(is_on)
    for definition, rows in (
        (known.PROMOTIONS_HELD, queries.list_held()),
        (known.PROMOTION_PROMOTERS, queries.living_loops(now)),
    ):
        counted = scope(rows).order_by().values_list("cluster").annotate(number=Count("pk"))
        numbers = dict(counted)
        for cluster, alias in alias_of.items():
            yield definition, (alias,), numbers.get(cluster, 0)
    actions = scope(queries.list_actions()).order_by().values_list("cluster__alias", "state")
    for alias, state, number in actions.annotate(number=Count("pk")):
        yield known.PROMOTIONS, (alias, state), number
    found = scope(queries.open_promotion_findings()).order_by()
    named = found.values_list("cluster__alias", "code", "severity").annotate(number=Count("pk"))
    for alias, code, severity, number in named:
        yield known.PROMOTION_FINDINGS, (alias, code, severity), number
