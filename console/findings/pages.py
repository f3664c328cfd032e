"""The page of all findings."""

from __future__ import annotations

from dataclasses import replace

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from console.clusters.models import Cluster
from console.findings import queries
from console.findings.models import SEVERITIES, Finding, Kind
from console.findings.serializers import ALL, ENDED
from console.frame.pages.render import render_page
from console.frame.security.access import anywhere, page, visible
from console.frame.tables.columns import Choice, Column, equals
from console.frame.tables.table import Table

_CELL = "findings/cells/"
_STATES = ((ENDED, "resolved"), (ALL, "open and resolved"))


def evidence_in_words(row: Finding) -> str:
    """Return the evidence as one line, for an export."""
    return "; ".join(f"{name}={value}" for name, value in row.evidence.items())


def _in_state(rows: QuerySet[Finding], state: str) -> QuerySet[Finding]:
    return rows.exclude(closed_at=None) if state == ENDED else rows


# By their keys, for the tables of other rooms.
COLUMNS = {
    one.key: one
    for one in (
        Column("severity", "Finding", "rank", template=f"{_CELL}severity.html"),
        Column("place", "Where", "scope_name", link="href"),
        Column("sentence", "Description", template=f"{_CELL}sentence.html"),
        Column("subject", "Subject", "subject", is_hidden=True),
        Column("kind", "Kind", "kind", is_hidden=True),
        Column("code", "Rule", "code", is_hidden=True),
        Column("opened_at", "Opened", "opened_at", template=f"{_CELL}moment.html"),
        Column("last_seen_at", "Last seen", "last_seen_at", template=f"{_CELL}moment.html"),
        Column("closed_at", "Resolved", "closed_at", template=f"{_CELL}moment.html"),
        Column("evidence", "Evidence", csv=evidence_in_words, is_hidden=True),
    )
}
FINDINGS = Table(
    tuple(COLUMNS.values()),
    search=("sentence", "subject", "code", "scope_name"),
    filters={
        "severity": Choice("Severity", SEVERITIES, equals("severity")),
        "kind": Choice("Kind", Kind.choices, equals("kind")),
        "state": Choice("State", _STATES, _in_state, otherwise="open"),
    },
    default_sort="-severity",
    ties=("-opened_at", "pk"),
)


@require_safe
@page("view", anywhere)
def list_page(request: HttpRequest) -> HttpResponseBase:
    """Show the findings of all clusters, quorums and flows, open ones by default."""
    rows = queries.with_names(queries.list_findings())
    if request.GET.get("state") not in {ENDED, ALL}:
        rows = rows.filter(closed_at=None)
    table = _with_menus(request, rows).read(request, rows, "findings")
    return render_page(request, "findings/list.html", {"table": table}, is_live=True)


def cluster_menu(request: HttpRequest) -> Choice:
    """Return the menu of the clusters that a person may see."""
    rows = visible(request.user, Cluster.objects.order_by("alias"))
    return Choice("Cluster", [(one.alias, one.alias) for one in rows], queries.on_cluster)


def _with_menus(request: HttpRequest, rows: QuerySet[Finding]) -> Table:
    """Return the table with menus of the clusters and of the rules that have findings here."""
    codes = visible(request.user, rows).order_by("code").values_list("code", flat=True).distinct()
    menus = {
        "cluster": cluster_menu(request),
        "code": Choice("Rule", [(one, one) for one in codes], equals("code")),
    }
    return replace(FINDINGS, filters={**FINDINGS.filters, **menus})
