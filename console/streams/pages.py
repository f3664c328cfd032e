"""The page of all applications."""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from console.clusters.trouble.told import troubles_of
from console.frame.pages.addresses import address_of
from console.frame.pages.render import render_page
from console.frame.security.access import anywhere, page, visible
from console.frame.tables.columns import Choice, Column, equals
from console.frame.tables.table import Table
from console.streams import equivalents, page_context, queries
from console.streams.models import PROTOCOLS, StreamsApplication
from jobs.limits import short
from jobs.numbers import format_count, format_span_ms

EMPTY = (
    "Each application of a registered cluster is listed here within a minute: instances, tasks, lag, and "
    "whether its own metadata is right. The cluster's account needs DESCRIBE on groups and topics."
)


@require_safe
@page("view", anywhere)
def list_page(request: HttpRequest) -> HttpResponseBase:
    """Show the applications of all clusters."""
    table = APPLICATIONS.read(request, queries.list_applications(), "streams-applications")
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


CELL = "streams/cells/"
_ANSWERS = (("wrong", "some"), ("right", "none"), ("unknown", "unknown"))


def _page(row: StreamsApplication) -> str:
    return address_of("streams:detail", row.cluster.alias, row.application_id)


def _of_answers(rows: QuerySet[StreamsApplication], word: str) -> QuerySet[StreamsApplication]:
    return rows.filter(answers_wrong={"wrong": True, "right": False}.get(word))


APPLICATIONS = Table(
    (
        Column("application_id", "Application", "application_id", link=_page, format=short),
        Column("cluster.alias", "Cluster", "cluster__alias"),
        Column(
            "state", "State", "state", definition=page_context.STATE, template=f"{CELL}state.html"
        ),
        Column(
            "finding_count",
            "Findings",
            "finding_count",
            numeric=True,
            definition=page_context.FINDINGS,
            template=f"{CELL}findings.html",
        ),
        Column(
            "misrouted_share",
            "Misrouted keys",
            "misrouted_share",
            numeric=True,
            definition=page_context.MISROUTED,
            template=f"{CELL}misrouted.html",
        ),
        Column("protocol", "Protocol", "protocol"),
        Column(
            "instances",
            "Instances",
            "instances",
            numeric=True,
            definition=page_context.INSTANCES,
            format=format_count,
        ),
        Column("threads", "Threads", "threads", numeric=True, format=format_count),
        Column(
            "tasks",
            "Tasks",
            "tasks",
            numeric=True,
            definition=page_context.TASKS,
            template=f"{CELL}tasks.html",
        ),
        Column("stores", "Stores", "stores", numeric=True, format=format_count, is_hidden=True),
        Column(
            "lag_records",
            "Lag (records)",
            "lag_records",
            numeric=True,
            definition=page_context.LAG_RECORDS,
            format=format_count,
            unknown="lag_unknown_count",
        ),
        Column(
            "lag_at_most_ms",
            "Lag (age)",
            "lag_at_most_ms",
            numeric=True,
            definition=page_context.LAG_AT_MOST,
            format=format_span_ms,
        ),
        Column(
            "event_time_lag_ms",
            "Event-time lag",
            "event_time_lag_ms",
            numeric=True,
            definition=page_context.EVENT_TIME_LAG,
            format=format_span_ms,
        ),
        Column(
            "freshness", "Last collected", "facts_at", template=f"{CELL}seen.html", csv="facts_at"
        ),
    ),
    search=("application_id", "cluster__alias", "state"),
    filters={
        "cluster": equals("cluster__alias"),
        "protocol": Choice("Protocol", PROTOCOLS, equals("protocol")),
        "answers": Choice("Misrouted keys", _ANSWERS, _of_answers),
    },
    default_sort="application_id",
)
