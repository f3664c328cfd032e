"""The page of all applications."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from console.clusters.trouble.told import troubles_of
from console.frame.pages.render import render_page
from console.frame.security.access import anywhere, page, visible
from console.frame.tables.table import csv_response
from console.streams import equivalents, queries
from console.streams.tables import APPLICATIONS

EMPTY = (
    "Each application of a registered cluster is listed here within a minute: instances, tasks, lag, and "
    "whether its own metadata is right. The cluster's account needs DESCRIBE on groups and topics."
)


@require_safe
@page("view", anywhere)
def list_page(request: HttpRequest) -> HttpResponseBase:
    """Show the applications of all clusters."""
    table = APPLICATIONS.read(request, queries.list_applications())
    if table.is_export:
        return csv_response(table, "streams-applications")
    rounds = list(visible(request.user, queries.list_rounds()))
    now = timezone.now()
    context = {
        "table": table,
        "problems": [
            (one, queries.freshness_of(one))
            for one in rounds
            if one.error or queries.freshness_of(one).is_late(now)
        ],
        "troubles": troubles_of({row.cluster_id for row in table.rows}, now),
        "empty_text": EMPTY,
        "equivalents": equivalents.of_list(),
    }
    return render_page(request, "streams/list.html", context, is_live=True)
