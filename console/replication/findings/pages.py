"""The page of a flow's findings, open and resolved."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_GET

from console.findings.models import SEVERITIES, Finding
from console.frame.pages.render import render_page
from console.frame.security.access import page
from console.frame.tables.columns import Choice, Column
from console.frame.tables.csv_export import csv_response
from console.frame.tables.table import Table
from console.replication.findings.models import CODES
from console.replication.flows import queries
from console.replication.flows.page_context import around_flow, find_flow

MOST_OPEN = 100


def _of_severity(rows: QuerySet[Any], severity: str) -> QuerySet[Any]:
    return rows.filter(severity=severity)


def _of_code(rows: QuerySet[Any], code: str) -> QuerySet[Any]:
    return rows.filter(code=code)


def _evidence_in_words(row: Finding) -> str:
    return "; ".join(f"{name}={value}" for name, value in row.evidence.items())


HISTORY = Table(
    (
        Column("severity", "Finding", "rank", template="replication/findings/cells/severity.html"),
        Column("sentence", "Description", template="replication/findings/cells/finding.html"),
        Column("code", "Rule", "code", is_hidden=True),
        Column("subject", "Subject", "subject", is_hidden=True),
        Column("opened_at", "Opened", "opened_at", template="replication/cells/moment.html"),
        Column("closed_at", "Resolved", "closed_at", template="replication/cells/moment.html"),
        Column("evidence", "Evidence", csv=_evidence_in_words, is_hidden=True),
    ),
    search=("sentence", "subject", "code"),
    filters={
        "severity": Choice("Severity", SEVERITIES, _of_severity),
        "code": Choice("Rule", CODES, _of_code),
    },
    default_sort="-closed_at",
)


@require_GET
@page("view", queries.where)
def findings_page(request: HttpRequest, flow_id: int) -> HttpResponseBase:
    """Show open findings with their evidence, and resolved ones."""
    flow = find_flow(flow_id)
    history = queries.list_findings(flow).exclude(closed_at=None)
    table = HISTORY.read(request, history)
    if table.is_export:
        return csv_response(table, f"flow-{flow.pk}-findings")
    failures = list(queries.open_findings(flow)[: MOST_OPEN + 1])
    context = {
        **around_flow(request, flow, "findings"),
        "table": table,
        "failures": failures[:MOST_OPEN],
        "has_more": len(failures) > MOST_OPEN,
        "watch": queries.watch_of(flow),
    }
    return render_page(request, "replication/findings/list.html", context, is_live=True)
