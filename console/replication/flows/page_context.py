"""What the pages of a flow share: the flow, its tabs, its freshness."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from console.clusters.trouble.told import troubles_of
from console.findings.models import Kind
from console.findings.queries import above_notices, open_findings
from console.frame.errors import or_404
from console.frame.pages.timerange import TimeRange
from console.replication.flows import queries
from console.replication.flows.audits import KIND
from console.replication.flows.facts import flow_tabs
from console.replication.flows.models import ReplicationFlow
from jobs.spark.analyses.analysis import Analysis
from jobs.spark.analyses.kinds import ANALYSES


def find_flow(flow_id: int) -> ReplicationFlow:
    """Return a flow with its status; raises `Http404`."""
    return or_404(
        queries.get_flow(flow_id, timezone.now()),
        f"Flow {flow_id} does not exist. It may have been deleted.",
    )


def around_flow(request: HttpRequest, flow: ReplicationFlow, current: str) -> dict[str, Any]:
    """Return the context of every page of a flow."""
    now = timezone.now()
    return {
        "flow": flow,
        "troubles": troubles_of([flow.source_id, flow.target_id], now),
        "tabs": flow_tabs(
            flow, current, above_notices(open_findings(Kind.FLOW, flow=flow)).count()
        ),
        "freshness": queries.freshness_of(flow),
        "time_range": TimeRange.from_query(request.GET.dict(), now),
    }


_KINDS = ("translate", "refine", "backtest", "backfill", "copy-audit")


def analyses_of(
    flow: ReplicationFlow, analyses: Mapping[str, Analysis] = ANALYSES
) -> list[tuple[str, str]]:
    """Return title and address of the form of each kind that this release has, with the flow filled in."""
    query = urlencode({"flow": flow.name})
    return [
        (analyses[kind].title, f"{reverse('runs:new-analysis', args=[kind])}?{query}")
        for kind in _KINDS
        if kind in analyses
    ]


def audit_links(
    flow: ReplicationFlow, analyses: Mapping[str, Analysis] = ANALYSES
) -> dict[str, str]:
    """Return the addresses to audit the copy of a flow, now or on a schedule; none without the kind."""
    if KIND not in analyses:
        return {}
    text = json.dumps({"kind": KIND, "arguments": {"flow": flow.name}}, separators=(",", ":"))
    asked = {"kind": "analysis", "arguments": text, "title": f"Copy audit of {flow.name}"}
    form = reverse("runs:new-analysis", args=[KIND])
    return {
        "run": f"{form}?{urlencode({'flow': flow.name})}",
        "schedule": f"{reverse('schedules:new')}?{urlencode(asked)}",
    }
