"""The data of the overview, in a constant number of queries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from console.availability.status import queries as availability
from console.clusters import queries as clusters_queries
from console.clusters.models import Topic
from console.findings.queries import above_notices, open_findings
from console.frame.pages.freshness import Freshness, oldest
from console.frame.pages.timerange import TimeRange
from console.frame.processes.liveness import Restart, restarts_since
from console.frame.security.access import visible
from console.overview import findings
from console.overview.findings import Finding
from console.replication.flows import queries as replication
from console.replication.flows.queries import Flow

# More topics than a person reads; the cluster's page has all of them.
MOST_WRONG_TOPICS = 500
# Worst first; the page of findings has all of them.
MOST_FINDINGS, MOST_STUCK = 1500, 500
# How long the overview shows that a program of this machine was restarted.
RESTARTS_FOR, CRASHES_FOR = timedelta(hours=1), timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Overview:
    """The state of everything at `now`; `clusters` are (cluster with status, its stalest part)."""

    now: datetime
    findings: list[Finding]
    clusters: list[tuple[Any, Freshness | None]]
    flows: list[Flow]


def read_overview(now: datetime, user: Any) -> Overview:
    """Return what is wrong, worst first, the clusters and the flows."""
    clusters = clusters_queries.with_status(
        visible(user, clusters_queries.list_clusters().order_by("alias")), now
    )
    flows = replication.with_status(visible(user, replication.list_flows().order_by("name")), now)
    replication.with_recent_lag(flows, now)
    replication.crashed(flows, now)
    replication.answers.with_answers(flows)
    topics = _wrong_topics()
    found = [finding for flow in flows for finding in findings.of_flow(flow)]
    found += findings.of_rows(visible(user, above_notices(open_findings()))[:MOST_FINDINGS])
    found += findings.of_unclean(visible(user, availability.list_unclean(None, _day(now))))
    found += findings.of_absences(
        visible(user, availability.oldest_absences(now - findings.LONG_ABSENCE))
    )
    for cluster in clusters:
        found += findings.of_cluster(cluster, topics.get(cluster.pk, []))
    found += map(findings.of_trouble, visible(user, clusters_queries.list_stuck())[:MOST_STUCK])
    found += findings.of_restarts(_restarts(now))
    rows = [(cluster, oldest(cluster.freshness)) for cluster in clusters]
    return Overview(now, findings.worst_first(found), rows, flows)


def _restarts(now: datetime) -> list[Restart]:
    """Return what was restarted lately: for a day what crashed, for an hour what finished no task."""
    restarts = restarts_since(settings.SIGNS_DIR, now - CRASHES_FOR)
    return [one for one in restarts if one.crash or one.at >= now - RESTARTS_FOR]


def _day(now: datetime) -> TimeRange:
    return TimeRange(now - timedelta(hours=24), now)


def _wrong_topics() -> dict[int, list[Topic]]:
    wrong = clusters_queries.list_topics().filter(severity__gt=0)
    found: dict[int, list[Topic]] = {}
    for topic in wrong.order_by("-severity", "name")[:MOST_WRONG_TOPICS]:
        found.setdefault(topic.cluster_id, []).append(topic)
    return found
