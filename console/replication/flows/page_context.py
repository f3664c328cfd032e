"""What the pages of a flow share: finding it, and what stands around every one of them."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest
from django.utils import timezone

from console.clusters.trouble.told import troubles_of
from console.frame.pages.timerange import TimeRange
from console.replication.flows import queries
from console.replication.flows.facts import flow_tabs
from console.replication.flows.models import ReplicationFlow


def find_flow(flow_id: int) -> ReplicationFlow:
    """Return a flow with its status; a page of one that is gone says so."""
    flow = queries.get_flow(flow_id, timezone.now())
    if flow is None:
        raise Http404(f"There is no flow {flow_id}. It may have been deleted.")
    return flow


def around_flow(request: HttpRequest, flow: ReplicationFlow, current: str) -> dict[str, Any]:
    """Return what every page of a flow shows."""
    now = timezone.now()
    return {
        "flow": flow,
        "troubles": troubles_of([flow.source_id, flow.target_id], now),
        "tabs": flow_tabs(flow, current, queries.open_findings(flow).filter(rank__gt=1).count()),
        "freshness": queries.freshness_of(flow),
        "time_range": TimeRange.from_query(request.GET.dict(), now),
    }
