"""Reads of findings: of one scope or of all, open ones, and how many need attention."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet
from django.db.models.functions import Coalesce

from console.findings.models import Finding
from jobs.severity import Severity

M = TypeVar("M", bound=Model)


def list_findings(kind: str = "", **scope: Any) -> QuerySet[Finding]:
    """Return findings, also ended ones: of a kind, and of `cluster`, `flow` or `log` unless it is None."""
    given = {name: value for name, value in scope.items() if value is not None}
    rows = Finding.objects.filter(**given, **({"kind": kind} if kind else {}))
    return rows.select_related("cluster", "flow__source", "flow__target", "log__cluster")


def open_findings(kind: str = "", **scope: Any) -> QuerySet[Finding]:
    """Return open findings, worst first, oldest before younger ones.

    Without a scope those of what is there now: imported logs are left out.
    """
    rows = list_findings(kind, **scope).filter(closed_at=None)
    if not any(value is not None for value in scope.values()):
        rows = rows.filter(Q(log=None) | Q(log__cluster__isnull=False))
    return rows.order_by("-rank", "opened_at", "pk")


def above_notices(rows: QuerySet[Finding]) -> QuerySet[Finding]:
    """Return critical findings and warnings: those that badges count and the overview shows."""
    return rows.filter(rank__gt=Severity.INFO.rank)


def on_cluster(rows: QuerySet[M], alias: str) -> QuerySet[M]:
    """Return findings or incidents about a cluster, its metadata log, and flows from it or to it."""
    paths = ("cluster", "log__cluster", "flow__source", "flow__target")
    found = Q()
    for path in paths:
        found |= Q(**{f"{path}__alias": alias})
    return rows.filter(found)


def worst_of_each_rule(findings: Iterable[Finding]) -> list[tuple[Finding, int]]:
    """Return the first finding of each rule, with the number of others that the rule found."""
    alike: dict[str, list[Finding]] = {}
    for finding in findings:
        alike.setdefault(finding.code, []).append(finding)
    return [(same[0], len(same) - 1) for same in alike.values()]


def with_names(rows: QuerySet[M]) -> QuerySet[M]:
    """Add `scope_name` to findings or incidents, to sort by and to search."""
    named: QuerySet[M] = rows.annotate(
        scope_name=Coalesce("cluster__alias", "flow__name", "log__name")
    )
    return named
