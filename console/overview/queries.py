"""Everything that the first page shows, in a constant number of queries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from console.clusters import queries as clusters_queries
from console.clusters.models import Topic
from console.frame.access import visible
from console.frame.freshness import Freshness, oldest
from console.overview import findings
from console.overview.findings import Finding
from console.replication import queries as replication
from console.replication.queries import Flow

# More topics than a person reads; the cluster's page has all of them.
MOST_WRONG_TOPICS = 500


@dataclass(frozen=True, slots=True)
class Picture:
    """The state of everything at `now`; `clusters` are (cluster with status, its stalest part)."""

    now: datetime
    findings: list[Finding]
    clusters: list[tuple[Any, Freshness | None]]
    flows: list[Flow]


def read_picture(now: datetime, user: Any) -> Picture:
    """Return what is wrong, worst first, the clusters and the flows."""
    clusters = clusters_queries.with_status(
        visible(user, clusters_queries.list_clusters().order_by("alias"))
    )
    flows = replication.with_status(visible(user, replication.list_flows().order_by("name")), now)
    replication.with_recent_lag(flows, now)
    topics = _wrong_topics()
    found = [finding for flow in flows for finding in findings.of_flow(flow)]
    for cluster in clusters:
        found += findings.of_cluster(cluster, topics.get(cluster.pk, []))
    rows = [(cluster, oldest(cluster.freshness)) for cluster in clusters]
    return Picture(now, findings.worst_first(found), rows, flows)


def _wrong_topics() -> dict[int, list[Topic]]:
    wrong = clusters_queries.list_topics().filter(severity__gt=0)
    found: dict[int, list[Topic]] = {}
    for topic in wrong.order_by("-severity", "name")[:MOST_WRONG_TOPICS]:
        found.setdefault(topic.cluster_id, []).append(topic)
    return found
