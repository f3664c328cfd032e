"""The metrics that alerts are about: incidents, findings, rounds of checks, deliveries; four queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db.models import Count, F, QuerySet
from django.db.models.functions import Coalesce

from console.checks import queries as checks
from console.delivery.models import Delivery, DeliveryState
from console.findings.incidents.models import State
from console.findings.incidents.queries import open_incidents
from console.findings.queries import open_findings
from console.metrics import definition as known
from console.metrics.samples import Sample, Scope
from jobs.checks.check import CHECKS
from jobs.severity import FINDING_SEVERITIES

# The label of a check that the catalogue does not have: a row of another release.
OTHER = "other"
_MUTED = (State.ACKNOWLEDGED, State.SILENCED)
_CLUSTER = Coalesce("cluster__alias", "log__name")


def alert_samples(scope: Scope, now: datetime) -> Iterator[Sample]:
    """Yield what alert rules of Prometheus compare."""
    incidents: Counter[tuple[str, ...]] = Counter()
    incidents.update({("", one.value, State.OPEN.value, "", ""): 0 for one in FINDING_SEVERITIES})
    incidents.update(_counted(scope(open_incidents()), "check_id", "state"))
    for labels, number in incidents.items():
        yield known.OPEN_INCIDENTS, labels, number
    for labels, number in _counted(scope(open_findings()), "code", "incident__state").items():
        yield known.OPEN_FINDINGS, labels, number
    for (at,) in scope(checks.list_rounds()).values_list("succeeded_at"):
        yield known.CHECKS_AGE, (), max((now - at).total_seconds(), 0.0)
    rows = scope(Delivery.objects.all()).order_by().values_list("channel", "state")
    deliveries = {(channel, state): n for channel, state, n in rows.annotate(n=Count("pk"))}
    for channel in sorted({channel for channel, _ in deliveries}):
        for state in DeliveryState.values:
            yield known.DELIVERIES, (channel, state), deliveries.get((channel, state), 0)


def _counted(rows: QuerySet[Any], check: str, state: str) -> Counter[tuple[str, ...]]:
    """Return how many rows have each set of labels; a finding is open unless its incident is muted."""
    found: Counter[tuple[str, ...]] = Counter()
    named = rows.order_by().values_list(F(check), "severity", F(state), _CLUSTER, "flow__name")
    for code, severity, given, cluster, flow, number in named.annotate(number=Count("pk")):
        name = code if code in CHECKS.by_id else OTHER
        step = given if given in _MUTED else State.OPEN.value
        found[name, severity, step, cluster or "", flow or ""] += number
    return found
