"""The page of a flow's findings, open and resolved."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.http import require_GET

from console.findings import queries as findings
from console.findings.models import SEVERITIES, Kind
from console.findings.pages import COLUMNS
from console.frame.pages.render import render_page
from console.frame.security.access import page
from console.frame.tables.columns import Choice, equals
from console.frame.tables.table import Table
from console.replication.findings.models import CODES
from console.replication.flows import queries
from console.replication.flows.page_context import around_flow, find_flow

MOST_OPEN = 100
_SHOWN = ("severity", "sentence", "code", "subject", "opened_at", "closed_at", "evidence")

HISTORY = Table(
    tuple(COLUMNS[key] for key in _SHOWN),
    search=("sentence", "subject", "code"),
    filters={
        "severity": Choice("Severity", SEVERITIES, equals("severity")),
        "code": Choice("Rule", CODES, equals("code")),
    },
    default_sort="-closed_at",
)


@require_GET
@page("view", queries.where)
def findings_page(request: HttpRequest, flow_id: int) -> HttpResponseBase:
    """Show open findings with their evidence, and resolved ones."""
    flow = find_flow(flow_id)
    history = findings.list_findings(Kind.FLOW, flow=flow).exclude(closed_at=None)
    table = HISTORY.read(request, history, f"flow-{flow.pk}-findings")
    failures = list(findings.open_findings(Kind.FLOW, flow=flow)[: MOST_OPEN + 1])
    context = {
        **around_flow(request, flow, "findings"),
        "table": table,
        "failures": failures[:MOST_OPEN],
        "has_more": len(failures) > MOST_OPEN,
        "watch": queries.watch_of(flow),
    }
    return render_page(request, "replication/findings/list.html", context, is_live=True)
