"""The first row of the pages of a cluster, a topic and a group, and the tabs of a cluster."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from console.clusters.counted import COUNTED, COUNTED_AS, beside
from console.clusters.models import Group, Topic
from console.clusters.tables import LAG, LAG_MS, MIN_ISR, RECORDS
from jobs.availability.status.severity import OF_BROKERS, Counted
from jobs.numbers import format_count, format_least, format_span_ms, not_known
from jobs.severity import Severity
from jobs.spark.analyses.analysis import Analysis, ArgumentType
from jobs.spark.analyses.kinds import QUESTIONS

CLUSTER_TABS = (
    ("clusters:detail", "Overview"),
    ("clusters:brokers", "Brokers"),
    ("clusters:topics", "Topics"),
    ("clusters:partitions", "Partitions"),
    ("clusters:groups", "Groups"),
    ("clusters:mirror", "Mirrored topics"),
    ("tracing:extractors", "Extractors"),
    ("clusters:settings", "Settings"),
)


def cluster_tabs(cluster: Any, current: str) -> list[dict[str, Any]]:
    """Return the tabs of a cluster of `list_clusters`."""
    # A partition without a leader mostly lacks replicas too.
    unhealthy = max(cluster.under_replicated_count or 0, cluster.offline_count or 0)
    more: dict[str, dict[str, Any]] = {
        "brokers": {
            "count": cluster.dead_count or _brokers(cluster),
            "is_bad": bool(cluster.dead_count),
        },
        "topics": {"count": cluster.topic_count},
        "partitions": {"count": unhealthy or cluster.partition_count, "is_bad": bool(unhealthy)},
        "groups": {"count": cluster.group_count},
    }
    return [
        {
            "label": label,
            "href": reverse(name, args=[cluster.alias]),
            "is_current": name.partition(":")[2] == current,
            **more.get(name.partition(":")[2], {}),
        }
        for name, label in CLUSTER_TABS
    ]


def cluster_analyses(
    alias: str,
    topic: str = "",
    analyses: Mapping[str, Analysis] = QUESTIONS,
    *,
    about: Collection[str] = (),
    group: str = "",
) -> list[tuple[str, str]]:
    """Return title and address of the form of each kind about a cluster, and a topic or group, filled in.

    With `about`, only kinds that have one of these arguments.
    """
    given = {"cluster": alias, "topics": topic, "topic": topic, "group": group}
    found = []
    for kind, analysis in analyses.items():
        by_name = {one.name: one for one in analysis.arguments}
        cluster = by_name.get("cluster")
        is_about = not about or not by_name.keys().isdisjoint(about)
        if cluster and cluster.type is ArgumentType.CLUSTER and cluster.is_required and is_about:
            values = {name: text for name, text in given.items() if text and name in by_name}
            href = f"{reverse('runs:new-analysis', args=[kind])}?{urlencode(values)}"
            found.append((analysis.title, href))
    return found


def cluster_facts(cluster: Any, counts: dict[Counted, int]) -> list[dict[str, Any]]:
    """Return brokers, topics, and the partitions in each of Kafka's counts, which overlap."""
    brokers, is_read = _brokers(cluster), cluster.topic_count is not None
    return [
        {
            "label": "Live brokers",
            "value": _share(cluster.live_count, brokers),
            "definition": "Live brokers of all brokers that are registered or have replicas.",
            "severity": "critical" if cluster.dead_count else "",
            "href": reverse("clusters:brokers", args=[cluster.alias]),
        },
        *(_count_fact(cluster, one, counts if is_read else {}) for one in COUNTED_AS),
        {
            "label": "Topics",
            "value": format_count(cluster.topic_count),
            "note": f"{format_count(cluster.partition_count)} partitions",
            "href": reverse("clusters:topics", args=[cluster.alias]),
        },
    ]


def _count_fact(cluster: Any, counted: Counted, counts: dict[Counted, int]) -> dict[str, Any]:
    number = counts.get(counted)
    note = beside(number, counts.get(OF_BROKERS.get(counted, counted)))
    # Brokers refuse writes where they themselves count a partition, and where it has no leader.
    by_brokers = counts.get(Counted.BROKER_UNDER_MIN_ISR, 0) + counts.get(Counted.OFFLINE, 0)
    is_bad = by_brokers if counted is Counted.UNDER_MIN_ISR else number
    address = reverse("clusters:partitions", args=[cluster.alias])
    return {
        "label": COUNTED_AS[counted],
        "value": format_count(number),
        "note": note or "partitions",
        "definition": COUNTED[counted],
        "severity": _COUNT_SEVERITIES[counted] if is_bad else "",
        "href": f"{address}?counted_as={counted}" if number else "",
    }


# At min ISR without colour: a complete topic whose replicas are all asked for is in it, too.
_COUNT_SEVERITIES = {
    Counted.OFFLINE: Severity.CRITICAL,
    Counted.UNDER_MIN_ISR: Severity.CRITICAL,
    Counted.AT_MIN_ISR: Severity.UNKNOWN,
    Counted.UNDER_REPLICATED: Severity.WARNING,
}


def topic_facts(topic: Topic) -> list[dict[str, Any]]:
    return [
        {"label": "Partitions", "value": format_count(topic.partition_count)},
        {"label": "Replicas", "value": format_count(topic.replication_factor)},
        {
            "label": "Min ISR",
            "value": format_count(topic.min_insync_replicas),
            "definition": MIN_ISR,
        },
        {
            "label": "Under-replicated",
            "value": format_count(topic.under_replicated_count),
            "note": f"{topic.unsure_count} unknown" if topic.unsure_count else "partitions",
            "definition": COUNTED[Counted.UNDER_REPLICATED],
            "severity": "warning" if topic.under_replicated_count else "",
        },
        {
            "label": "Offline",
            "value": format_count(topic.offline_count),
            "note": "partitions",
            "severity": "critical" if topic.offline_count else "",
        },
        {
            "label": "Records (estimate)",
            "value": format_count(topic.record_count),
            "definition": RECORDS,
        },
    ]


def group_facts(group: Group) -> list[dict[str, Any]]:
    held = group.lag_to_high_watermark
    behind = f"{format_count(held)} to the high watermark" if (held or 0) > (group.lag or 0) else ""
    unknown = "; ".join(
        filter(None, (not_known(group.unknown_count, group.partition_count), behind))
    )
    unknown_ms = not_known(group.unknown_ms_count, group.partition_count)
    return [
        {
            "label": "Lag (records)",
            "value": format_least(group.lag, group.unknown_count),
            "note": unknown,
            "definition": LAG,
        },
        {
            "label": "Lag (time)",
            "value": format_least(group.lag_ms, group.unknown_ms_count, format_span_ms),
            "note": unknown_ms or "the partition with the largest lag",
            "definition": LAG_MS,
        },
        {"label": "Members", "value": format_count(group.member_count), "note": group.assignor},
        {
            "label": "Partitions",
            "value": format_count(group.partition_count),
            "note": f"of {format_count(group.topic_count)} {_topics(group.topic_count)}",
        },
        {"label": "Coordinator", "value": group.coordinator, "note": "broker"},
    ]


def _brokers(cluster: Any) -> int | None:
    return None if cluster.live_count is None else cluster.live_count + cluster.dead_count


def _share(part: int | None, whole: int | None) -> str:
    return format_count(None) if whole is None else f"{format_count(part)} of {format_count(whole)}"


def _topics(number: int) -> str:
    return "topic" if number == 1 else "topics"
