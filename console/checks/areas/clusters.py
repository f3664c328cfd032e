"""Clusters and brokers: whether they answer and are alive."""

from __future__ import annotations

from collections.abc import Iterator

from console.checks.areas.area import Area, Given, Judged
from console.clusters import queries as clusters
from console.clusters.models import Cluster
from jobs.checks.clusters import (
    BROKER_DOWN,
    UNREACHABLE,
    BrokerState,
    ClusterState,
    brokers_down,
    unreachable,
)
from jobs.findings import Finding


def judge(given: Given) -> Iterator[Judged]:
    """Judge every enabled cluster."""
    for cluster in clusters.with_status(clusters.list_clusters(), given.now):
        if not cluster.is_enabled:
            continue
        status = cluster.status
        lost = status.state == "unreachable"
        state = ClusterState(
            cluster.pk,
            cluster.alias,
            status.reason if lost else "",
            status.hint,
            status.since,
            () if lost else _brokers(cluster),
        )
        found: list[Finding] = [*unreachable(state, given.settings)]
        codes = {UNREACHABLE.id}
        if not lost:
            found += brokers_down(state, given.settings)
            codes.add(BROKER_DOWN.id)
        yield Judged(cluster, codes, tuple(found))


def _brokers(cluster: Cluster) -> list[BrokerState]:
    return [
        BrokerState(one.broker_id, one.rack, one.is_live, None, one.replica_count)
        for one in clusters.list_brokers(cluster)
    ]


AREA = Area("clusters", judge)
