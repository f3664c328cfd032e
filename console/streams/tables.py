"""The table of applications."""

from __future__ import annotations

from django.db.models import QuerySet

from console.frame.pages.addresses import address_of
from console.frame.tables.table import Choice, Column, Table
from console.streams import labels
from console.streams.models import PROTOCOLS, StreamsApplication
from jobs.limits import short
from jobs.numbers import format_count, format_span_ms

CELL = "streams/cells/"
_ANSWERS = (("wrong", "Wrong"), ("right", "Right"), ("unknown", "Unknown"))


def _page(row: StreamsApplication) -> str:
    return address_of("streams:detail", row.cluster.alias, row.application_id)


def _of_protocol(rows: QuerySet[StreamsApplication], word: str) -> QuerySet[StreamsApplication]:
    return rows.filter(protocol=word)


def _of_answers(rows: QuerySet[StreamsApplication], word: str) -> QuerySet[StreamsApplication]:
    return rows.filter(answers_wrong={"wrong": True, "right": False}.get(word))


def _of_cluster(rows: QuerySet[StreamsApplication], alias: str) -> QuerySet[StreamsApplication]:
    return rows.filter(cluster__alias=alias)


APPLICATIONS = Table(
    (
        Column("application_id", "Application", "application_id", link=_page, format=short),
        Column("cluster.alias", "Cluster", "cluster__alias"),
        Column("state", "State", "state", definition=labels.STATE, template=f"{CELL}state.html"),
        Column(
            "misrouted_share",
            "Misrouted keys",
            "misrouted_share",
            numeric=True,
            definition=labels.MISROUTED,
            template=f"{CELL}misrouted.html",
        ),
        Column("protocol", "Protocol", "protocol"),
        Column(
            "instances",
            "Instances",
            "instances",
            numeric=True,
            definition=labels.INSTANCES,
            format=format_count,
        ),
        Column("threads", "Threads", "threads", numeric=True, format=format_count),
        Column(
            "tasks",
            "Tasks",
            "tasks",
            numeric=True,
            definition=labels.TASKS,
            template=f"{CELL}tasks.html",
        ),
        Column("stores", "Stores", "stores", numeric=True, format=format_count, is_hidden=True),
        Column(
            "lag_records",
            "Lag (records)",
            "lag_records",
            numeric=True,
            definition=labels.LAG_RECORDS,
            format=format_count,
            unknown="lag_unknown_count",
        ),
        Column(
            "lag_at_most_ms",
            "Lag (age)",
            "lag_at_most_ms",
            numeric=True,
            definition=labels.LAG_AT_MOST,
            format=format_span_ms,
        ),
        Column(
            "event_time_lag_ms",
            "Event-time lag",
            "event_time_lag_ms",
            numeric=True,
            definition=labels.EVENT_TIME_LAG,
            format=format_span_ms,
        ),
        Column(
            "freshness", "Last collected", "facts_at", template=f"{CELL}seen.html", csv="facts_at"
        ),
    ),
    search=("application_id", "cluster__alias", "state"),
    filters={
        "cluster": _of_cluster,
        "protocol": Choice("Protocol", PROTOCOLS, _of_protocol),
        "answers": Choice("Answers", _ANSWERS, _of_answers),
    },
    default_sort="application_id",
)
