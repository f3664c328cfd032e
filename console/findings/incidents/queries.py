"""Reads of incidents: lists, one with its timeline, those that affect a subject, marks of charts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Q, QuerySet
from django.db.models.functions import Coalesce
from django.urls import reverse

from console.clusters.models import Cluster, GroupOffset
from console.findings.incidents.models import Incident, State, Subject
from console.findings.models import Finding
from console.frame.pages.state_timeline import Event
from console.frame.pages.timerange import TimeRange
from console.frame.security.access import visible
from jobs.checks.clusters import UNREACHABLE
from jobs.severity import Severity

# So many incidents are named on the page of a subject, and drawn in a chart.
MOST_NAMED, MOST_DRAWN = 5, 50
# So many incidents of a cluster, and findings of them, are read to see which topics they name.
MOST_READ = 500
AGAIN_WITHIN = timedelta(hours=24)
_SCOPES = ("cluster", "log__cluster", "flow__source", "flow__target")
_CLUSTER_WIDE = (Subject.CLUSTER, Subject.BROKER)
OF_CLUSTER = (*_CLUSTER_WIDE, Subject.PARTITIONS, Subject.QUORUM, Subject.OBSERVERS)
_OF_GROUP = (Subject.GROUP, Subject.STREAMS)
# Where the evidence of a grouped finding has names of topics or partitions.
_NAMES = ("examples", "topics_named")


def list_incidents() -> QuerySet[Incident]:
    """Return all incidents with their scope, owner and who acknowledged them."""
    return Incident.objects.select_related(
        "cluster", "flow__source", "flow__target", "log__cluster", "owner", "acknowledged_by"
    )


def open_incidents() -> QuerySet[Incident]:
    """Return incidents that are not resolved, worst first, then the oldest."""
    return list_incidents().filter(ended_at=None).order_by("-rank", "began_at", "pk")


def resolved_since(since: datetime) -> QuerySet[Incident]:
    """Return incidents that were resolved since then, the newest first."""
    return list_incidents().filter(ended_at__gte=since).order_by("-ended_at", "-pk")


def get_incident(user: Any, pk: int) -> Incident | None:
    """Return one that a person may see; None when there is none."""
    return visible(user, list_incidents().filter(pk=pk)).first()


def where(incident_id: int | None = None, pk: str = "", **_: Any) -> Collection[int]:
    """Return the clusters of an incident, for the guard of pages and routes; none: all are needed."""
    rows = Incident.objects.filter(pk=incident_id or pk or 0).values_list(*_SCOPES)
    return {one for one in rows.first() or () if one is not None}


def with_names(rows: QuerySet[Incident]) -> QuerySet[Incident]:
    """Add `scope_name`, to sort by and to search."""
    return rows.annotate(scope_name=Coalesce("cluster__alias", "flow__name", "log__name"))


def count_alike(incident: Incident) -> int:
    """Return the how manieth of its cause it is within a day, itself counted."""
    begin = incident.opened_at - AGAIN_WITHIN
    alike = Incident.objects.filter(key=incident.key, opened_at__gte=begin)
    return alike.filter(opened_at__lte=incident.opened_at).count()


def count_findings(incident: Incident) -> list[dict[str, Any]]:
    """Return how many findings of each check it has, and how many are open; the worst check first."""
    rows = Finding.objects.filter(incident=incident).values("code")
    found = rows.annotate(
        worst=Max("rank"), count=Count("pk"), open=Count("pk", filter=Q(closed_at=None))
    )
    return list(found.order_by("-worst", "code"))


def affecting(
    user: Any,
    *,
    cluster: Cluster | None = None,
    flow: Any = None,
    log: Any = None,
    topic: str = "",
    group: str = "",
) -> list[Incident]:
    """Return the open incidents that affect a subject and that a person may see, worst first.

    `topic` and `group` are of `cluster`; a Streams application is its group. One of its cluster that names
    neither has `is_of_cluster`. One query; up to three for a topic or group whose cluster has an incident.
    """
    rows = visible(user, Incident.objects.filter(ended_at=None)).order_by("-rank", "began_at", "pk")
    if flow is not None:
        return _affecting_flow(rows, flow)
    if log is not None:
        of_cluster = Q(cluster=log.cluster_id, flow=None, subject_kind__in=_CLUSTER_WIDE)
        return list(rows.filter(Q(log=log) | of_cluster if log.cluster_id else Q(log=log)))
    if not topic and not group:
        of_log = Q(log__cluster=cluster)
        return list(rows.filter(of_log | Q(cluster=cluster, subject_kind__in=OF_CLUSTER)))
    wide = Q(subject_kind__in=(*_CLUSTER_WIDE, Subject.PARTITIONS))
    own = Q(subject_kind__in=_OF_GROUP, subject=group) if group else Q(pk=None)
    found = list(rows.filter(wide | own, cluster=cluster, flow=None)[:MOST_READ])
    return _narrowed(found, cluster, topic, group)


def _affecting_flow(rows: QuerySet[Incident], flow: Any) -> list[Incident]:
    findings = Finding.objects.filter(flow=flow, closed_at=None, incident__isnull=False)
    # No correlated EXISTS: SQLite would look through all findings for each incident.
    of_flow = Q(pk__in=findings.order_by().values("incident"))
    sides = Q(check_id=UNREACHABLE.id, cluster__in=(flow.source_id, flow.target_id))
    return list(rows.filter(Q(flow=flow) | sides | of_flow))


def _narrowed(
    found: list[Incident], cluster: Cluster | None, topic: str, group: str
) -> list[Incident]:
    """Leave out incidents of partitions of other topics; mark those of the cluster."""
    wide = [one for one in found if one.subject_kind not in _OF_GROUP]
    if not wide:
        return found
    topics = {topic} if topic else _topics_of(cluster, group)
    named = _naming(wide, topics)
    for one in wide:
        one.is_of_cluster = one.pk not in named  # type: ignore[attr-defined]  # for the template
    return [one for one in found if one.subject_kind != Subject.PARTITIONS or one.pk in named]


def _topics_of(cluster: Cluster | None, group: str) -> set[str]:
    rows = GroupOffset.objects.filter(group__cluster=cluster, group__group_id=group)
    return set(rows.values_list("topic", flat=True).distinct())


def _naming(incidents: Iterable[Incident], topics: Collection[str]) -> set[int]:
    """Return the incidents with an open finding that names one of the topics; one query."""
    rows = Finding.objects.filter(incident__in=[one.pk for one in incidents], closed_at=None)
    rows = rows.filter(Q(topic__in=list(topics)[:MOST_READ]) | Q(topic=""))
    read = rows.values_list("incident_id", "topic", "evidence")[:MOST_READ]
    return {pk for pk, name, evidence in read if name in topics or _names(evidence) & {*topics}}


def _names(evidence: Mapping[str, Any]) -> set[str]:
    """Return the topics that evidence names; a partition is `orders-3`."""
    found: set[str] = set()
    for value in filter(None, map(evidence.get, _NAMES)):
        for one in value.split(", ") if isinstance(value, str) else value:
            name, _, number = str(one).rpartition("-")
            found |= {str(one), name} if number.isdecimal() else {str(one)}
    return found


def during(user: Any, clusters: Any, start: datetime, end: datetime) -> QuerySet[Incident]:
    """Return incidents of clusters, and of flows between them, that were open within a time."""
    rows = Incident.objects.filter(began_at__lt=end).filter(
        Q(ended_at=None) | Q(ended_at__gte=start)
    )
    of_flow = Q(flow__source__in=clusters, flow__target__in=clusters)
    found = rows.filter(Q(cluster__in=clusters, flow=None) | Q(log__cluster__in=clusters) | of_flow)
    return visible(user, found).order_by("-rank", "began_at", "pk")


def list_marks(time_range: TimeRange, **of: Any) -> list[Event]:
    """Return begins and ends of incidents within a time range, for a chart about `of`; one query."""
    inside = (time_range.start, time_range.end)
    rows = Incident.objects.filter(Q(began_at__range=inside) | Q(ended_at__range=inside), **of)
    found = []
    for row in rows.order_by("-rank", "-pk")[:MOST_DRAWN]:
        href = reverse("findings:incident", args=[row.pk])
        found.append(Event(row.began_at, "Incident", row.title, Severity(row.severity), href))
        if row.ended_at is not None:
            text = f"Resolved: {row.title}"
            found.append(Event(row.ended_at, "Incident resolved", text, Severity.HEALTHY, href))
    return [one for one in found if time_range.start <= one.at <= time_range.end]


def of_state(rows: QuerySet[Incident], state: str) -> QuerySet[Incident]:
    """Return the rows of a state, by the index of those that are not resolved."""
    is_open = state != State.RESOLVED
    return rows.filter(state=state, ended_at__isnull=is_open)
