"""Pages of checkpoints: a flow's groups, and one group in a flow."""

from __future__ import annotations

import shlex
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_GET

from console.frame.pages.render import render_page
from console.frame.security.access import page
from console.frame.tables.table import csv_response
from console.replication.checkpoints import queries as readiness_queries
from console.replication.checkpoints import series as checkpoint_series
from console.replication.checkpoints.facts import flow_answer_facts, group_answer_facts
from console.replication.checkpoints.history import draw_answers, share_ready
from console.replication.checkpoints.partition_rows import partition_rows_of
from console.replication.checkpoints.tables import GROUPS, TOPICS
from console.replication.flows import queries
from console.replication.flows.models import ReplicationFlow
from console.replication.flows.page_context import around_flow, find_flow


@require_GET
@page("view", queries.where)
def checkpoints_page(request: HttpRequest, flow_id: int) -> HttpResponseBase:
    """Show whether groups and topics can fail over now, and their checkpoints."""
    flow, now = find_flow(flow_id), timezone.now()
    table = GROUPS.read(request, readiness_queries.list_groups(flow))
    if table.is_export:
        return csv_response(table, f"flow-{flow.pk}-checkpoints")
    topics = TOPICS.read(request, readiness_queries.list_topics(flow))
    if topics.is_export:
        return csv_response(topics, f"flow-{flow.pk}-topics")
    lines = checkpoint_series.recent(flow, [row.group for row in table.rows], now)
    for row in table.rows:
        row.recent_behind = lines[row.group]
    answer = readiness_queries.answer_of(flow)
    around = around_flow(request, flow, "checkpoints")
    context = {
        **around,
        "table": table,
        "topics": topics,
        "answer": answer,
        "facts": flow_answer_facts(flow, answer, share_ready(flow, "", now), now),
        "freshness": [*around["freshness"], readiness_queries.freshness_of(flow)],
        "states": draw_answers(flow, "", around["time_range"], now),
    }
    return render_page(request, "replication/checkpoints/list.html", context, is_live=True)


@require_GET
@page("view", queries.where)
def group_page(request: HttpRequest, flow_id: int, group_id: str) -> HttpResponseBase:
    """Show one group in a flow: checkpoint, certificate and MirrorMaker 2's own answer of each partition."""
    flow, now = find_flow(flow_id), timezone.now()
    row = readiness_queries.get_group(flow, group_id)
    if row is None:
        raise Http404(
            f"Group {group_id} reads nothing that flow {flow.name} copies, or is not seen yet."
        )
    around = around_flow(request, flow, "checkpoints")
    context = {
        **around,
        "row": row,
        "group_query": urlencode({"group": group_id}),
        "equivalents": _equivalents(flow, group_id),
        "parts": partition_rows_of(row, now),
        "facts": group_answer_facts(row, share_ready(flow, group_id, now), now),
        "freshness": [readiness_queries.freshness_of(flow)],
        "states": draw_answers(flow, group_id, around["time_range"], now),
    }
    return render_page(request, "replication/checkpoints/group.html", context, is_live=True)


def _equivalents(flow: ReplicationFlow, group: str) -> dict[str, str]:
    """Return the call and the command that answer the same; a secured cluster needs a settings file."""
    source = flow.source
    settings = (
        "" if source.security_protocol == "PLAINTEXT" else " --command-config client.properties"
    )
    return {
        "api": f"GET /api/v1/flows/{flow.pk}/checkpoints/?{urlencode({'group': group})}",
        "cli": f"kafka-consumer-groups.sh --bootstrap-server {source.bootstrap_servers}{settings} "
        f"--describe --group {shlex.quote(group)}",
    }
