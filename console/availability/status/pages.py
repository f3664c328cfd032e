"""Pages of availability: all clusters, one cluster, its partitions, its brokers."""

from __future__ import annotations

import shlex
from typing import Any

from django.db.models import Min
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.views.decorators.http import require_safe

from console.availability.page_context import around_cluster, find_cluster
from console.availability.promotion.page_context import runbook_of_partition, shown_findings
from console.availability.status import history, queries, tables
from console.availability.status.facts import (
    answer_of,
    overview_facts,
    partition_facts,
    with_answers,
)
from console.availability.status.models import AvailabilityRound, PartitionStatus, Rollup
from console.availability.status.timelines import draw_partition
from console.clusters.equivalents import Equivalents, call_of, tool_of
from console.clusters.models import Cluster
from console.findings.objectives.queries import list_objectives, with_states
from console.frame.errors import or_404
from console.frame.pages.render import render_page
from console.frame.pages.timerange import TimeRange
from console.frame.security.access import anywhere, page
from jobs.availability.status.severity import Severity
from jobs.availability.status.tally import ScopeKind

MOST_UNCLEAN = 50


@require_safe
@page("view", anywhere)
def list_page(request: HttpRequest) -> HttpResponseBase:
    """Show the availability of all clusters."""
    table = tables.CLUSTERS.read(request, queries.list_clusters(), "availability")
    with_answers(table.rows)
    context = {"table": table, "equivalents": of_list()}
    return render_page(request, "availability/status/list.html", context, is_live=True)


@require_safe
@page("view", queries.where)
def detail_page(request: HttpRequest, alias: str) -> HttpResponseBase:
    """Show the availability of a cluster: counts, out-of-sync replicas, unavailability history."""
    cluster = find_cluster(alias)
    around = around_cluster(request, cluster, "detail")
    read = {
        "topics": tables.TOPICS.read(
            request,
            queries.list_rollups(ScopeKind.TOPIC, cluster).filter(tables.NOT_WELL),
            f"{alias}-topics",
        ),
        "racks": tables.RACKS.read(
            request, queries.list_rollups(ScopeKind.RACK, cluster), f"{alias}-racks"
        ),
        "absences": tables.ABSENCES.read(
            request, queries.list_absences(cluster), f"{alias}-absences"
        ),
        "stretches": tables.STRETCHES.read(
            request,
            queries.list_stretches(cluster, around["time_range"], Severity.UNDER_MIN_ISR),
            f"{alias}-stretches",
        ),
    }
    history.with_behind(read["absences"].rows)
    context = {**around, **read, **_answer(cluster, around["time_range"])}
    return render_page(request, "availability/status/detail.html", context, is_live=True)


def _answer(cluster: Cluster, time_range: TimeRange) -> dict[str, Any]:
    counts = queries.whole_of(cluster)
    oldest = queries.list_absences(cluster).aggregate(oldest=Min("began_at"))["oldest"]
    unclean = queries.list_unclean(cluster, time_range)
    number = unclean.count()
    return {
        "answer": answer_of(counts, queries.freshness_of(cluster)),
        "facts": overview_facts(cluster, counts, oldest, number, time_range.label),
        "unclean": unclean[:MOST_UNCLEAN] if number else [],
        "objectives": with_states(list_objectives().filter(cluster=cluster), timezone.now()),
        "promotion_findings": shown_findings(cluster),
        "lag_freshness": queries.freshness_of(cluster, AvailabilityRound.Noun.LAG),
        "calls": {
            "cluster": of_cluster(cluster),
            "topics": of_topics(cluster),
            "racks": of_racks(cluster),
            "absences": of_absences(cluster),
            "events": of_events(cluster),
        },
    }


@require_safe
@page("view", queries.where)
def partitions_page(request: HttpRequest, alias: str) -> HttpResponseBase:
    """Show all partitions: state, start, cause, out-of-sync replicas."""
    cluster = find_cluster(alias)
    table = tables.partitions_of(queries.racks_of(cluster)).read(
        request, queries.list_statuses(cluster), f"{alias}-availability"
    )
    context = {
        **around_cluster(request, cluster, "partitions"),
        "table": table,
        "equivalents": of_partitions(cluster),
    }
    return render_page(request, "availability/status/partitions.html", context, is_live=True)


@require_safe
@page("view", queries.where)
def partition_page(
    request: HttpRequest, alias: str, topic: str, partition: int
) -> HttpResponseBase:
    """Show one partition: state, timeline, out-of-sync history."""
    cluster = find_cluster(alias)
    row = or_404(queries.get_status(cluster, topic, partition))
    around = around_cluster(request, cluster, "partitions")
    time_range, now = around["time_range"], timezone.now()
    past = history.read_history(row, time_range)
    racks = {b: rack for rack, brokers in queries.racks_of(cluster).items() for b in brokers}
    absences = tables.PAST_ABSENCES.read(
        request,
        queries.list_absences(cluster, is_open=False).filter(key=row.key),
        f"{alias}-{row}-out-of-sync",
    )
    history.with_behind(absences.rows)
    without_s = past.leaderless_s(time_range.start, min(now, time_range.end))
    context = {
        **around,
        "row": row,
        "lanes": draw_partition(row, past, racks, time_range, now),
        "absences": absences,
        "facts": partition_facts(row, without_s, time_range.label),
        "missing": [one for one in absences.rows if one.ended_at is None],
        "log_name": past.log_name,
        "runbook": runbook_of_partition(row),
        "equivalents": of_partition(row),
    }
    return render_page(request, "availability/status/partition.html", context, is_live=True)


@require_safe
@page("view", queries.where)
def brokers_page(request: HttpRequest, alias: str) -> HttpResponseBase:
    """Show brokers and racks: out-of-sync replicas, ISR and leadership churn."""
    cluster = find_cluster(alias)
    around = around_cluster(request, cluster, "brokers")
    table = tables.BROKERS.read(
        request,
        queries.list_brokers(cluster, around["time_range"]),
        f"{alias}-brokers-availability",
    )
    racks = tables.RACKS.read(
        request, queries.list_rollups(ScopeKind.RACK, cluster), f"{alias}-racks-availability"
    )
    queries.with_churn_series(table.rows, timezone.now())
    context = {
        **around,
        "table": table,
        "racks": racks,
        "lines": _lines(table.rows, racks.rows),
        "equivalents": of_brokers(cluster),
        "rack_calls": of_racks(cluster),
    }
    return render_page(request, "availability/status/brokers.html", context, is_live=True)


def _lines(brokers: list[Any], racks: list[Rollup]) -> dict[str, str]:
    """Return the series of the charts; rack names with "," or ":" are left out."""
    named = [row.name for row in racks if "," not in row.name and ":" not in row.name]
    return {
        "brokers": ",".join(f"{row.broker_id}:Broker {row.broker_id}" for row in brokers[:12]),
        "racks": ",".join(f"{name}:{name}" for name in named[:12]),
    }


def of_list() -> Equivalents:
    return Equivalents("GET /api/v1/availability/", "")


def of_cluster(cluster: Cluster) -> Equivalents:
    command = tool_of("kafka-topics.sh", cluster, "--describe --under-replicated-partitions")
    return Equivalents(f"GET /api/v1/availability/{cluster.alias}/", command)


def of_topics(cluster: Cluster) -> Equivalents:
    return Equivalents(call_of("availability/rollups", cluster=cluster.alias, kind="topic"), "")


def of_racks(cluster: Cluster) -> Equivalents:
    return Equivalents(call_of("availability/rollups", cluster=cluster.alias, kind="rack"), "")


def of_absences(cluster: Cluster) -> Equivalents:
    """Return the equivalents of the replicas that are out of sync."""
    return Equivalents(call_of("availability/out-of-sync", cluster=cluster.alias), "")


def of_events(cluster: Cluster) -> Equivalents:
    """Return the equivalents of what happened lately."""
    return Equivalents(call_of("availability/stretches", cluster=cluster.alias), "")


def of_partitions(cluster: Cluster) -> Equivalents:
    return Equivalents(
        call_of("availability/partitions", cluster=cluster.alias),
        tool_of("kafka-topics.sh", cluster, "--describe"),
    )


def of_partition(row: PartitionStatus) -> Equivalents:
    """Return the equivalents of a partition's page."""
    call = f"GET /api/v1/availability/partitions/{row.pk}/history/"
    return Equivalents(
        call,
        tool_of("kafka-topics.sh", row.cluster, f"--describe --topic {shlex.quote(row.topic)}"),
    )


def of_brokers(cluster: Cluster) -> Equivalents:
    return Equivalents(call_of("availability/brokers", cluster=cluster.alias), "")
