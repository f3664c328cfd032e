"""Clusters and brokers: whether they answer and are alive, and their disks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from console.availability.status import queries as availability
from console.checks.areas.area import Area, Given, Judged
from console.clusters import queries as clusters
from console.clusters.collection.brokers import LOG_DIRS_EVERY
from console.clusters.models import Broker, Cluster, Noun
from console.clusters.status import ClusterState as Seen
from console.clusters.status import freshness_of_row
from console.quorum import queries as quorum
from jobs.checks import brokers as of_brokers
from jobs.checks.brokers import BrokerState, ClusterBrokers, LogDir
from jobs.checks.clusters import ClusterState, Trouble, collection

# The follower writes every second: behind this, what the rounds saw is newer.
LOG_FRESH = timedelta(seconds=30)
RESTARTS_WITHIN = timedelta(hours=1)
DISKS_FRESH = 3 * LOG_DIRS_EVERY
TROUBLES = {
    Seen.UNREACHABLE: Trouble.UNREACHABLE,
    Seen.ANOTHER_CLUSTER: Trouble.OTHER_CLUSTER,
    Seen.FAILING: Trouble.FAILING,
    Seen.STALE: Trouble.STALE,
}
_DOWN = of_brokers.DOWN.id
_OF_DISKS = {of_brokers.DISK_FULL.id, of_brokers.LOG_DIR_OFFLINE.id}
_RESTARTS = of_brokers.RESTARTS.id
_ALL = {*Trouble, *_OF_DISKS, _DOWN, _RESTARTS}


def judge(given: Given) -> Iterator[Judged]:
    """Judge every cluster; of one whose collection is disabled nothing is wrong."""
    now, settings = given.now, given.settings
    followed = {log.cluster_id for log in quorum.cluster_logs() if _is_fresh(log.heard_at, now)}
    logged = availability.logged_brokers(now)
    restarts = quorum.restarts_since(now - RESTARTS_WITHIN)
    for cluster in clusters.with_collection():
        if not cluster.is_enabled:
            yield Judged(cluster, _ALL)
            continue
        codes: set[str] = set()
        state = _cluster(cluster, codes, now)
        is_logged = cluster.pk in followed & logged.keys()
        seen = logged[cluster.pk] if is_logged else None
        said = _brokers(cluster, seen, restarts.get(cluster.pk, {}), codes, now)
        found = (
            *collection(state, settings, now),
            *of_brokers.down(said, settings, now),
            *of_brokers.restarts(said, settings),
            *of_brokers.disks(said, settings),
        )
        yield Judged(cluster, codes, found)


def _is_fresh(heard_at: datetime | None, now: datetime) -> bool:
    return heard_at is not None and now - heard_at < LOG_FRESH


def _cluster(cluster: Cluster, codes: set[str], now: datetime) -> ClusterState:
    status, nouns = clusters.collection_status(cluster, now)
    trouble = TROUBLES.get(status.state)
    codes |= {Trouble.STALE.value} if trouble is Trouble.STALE else set(Trouble)
    told = (trouble, status.reason, status.hint, status.since)
    return ClusterState(cluster.pk, cluster.alias, *told, tuple(nouns))


def _brokers(
    cluster: Cluster,
    logged: list[Any] | None,
    restarts: Mapping[int, int],
    codes: set[str],
    now: datetime,
) -> ClusterBrokers:
    """Return what is recent of the brokers of a cluster, and add the codes that can be judged by it.

    It is that of the metadata log where that is followed, else of its rounds.
    """
    row = next((one for one in cluster.rounds.all() if one.noun == Noun.BROKERS), None)
    is_polled = not freshness_of_row(Noun.BROKERS, row).is_stale(now)
    rows = {one.broker_id: one for one in cluster.brokers.all()}
    seen = {one.broker_id: one for one in logged or ()}
    found = []
    for broker in sorted(rows.keys() | seen.keys()):
        row_of, told = rows.get(broker) or Broker(broker_id=broker, is_live=False), seen.get(broker)
        polled = row_of.is_live if is_polled else None
        is_there = polled if told is None else told.is_there
        found.append(
            BrokerState(
                broker,
                (told or row_of).rack,
                is_there,
                told.since if told else None if is_there else row_of.seen_at,
                (told and told.partition_count) or row_of.replica_count,
                bool(told and told.in_controlled_shutdown),
                told.registered_at if told else None,
                restarts.get(broker, 0),
                _log_dirs(row_of, now, is_there=is_there),
            )
        )
    if logged is not None:
        codes.add(_RESTARTS)
    if (logged is not None or is_polled) and all(one.is_there is not None for one in found):
        codes.add(_DOWN)
    if all(one.log_dirs is not None or one.is_there is False for one in found):
        codes |= _OF_DISKS
    return ClusterBrokers(cluster.pk, cluster.alias, found)


def _log_dirs(row: Broker, now: datetime, *, is_there: bool | None) -> list[LogDir] | None:
    """Return what is recent; of a broker that is down what was last known."""
    at = row.log_dirs_at
    is_recent = at is not None and abs(now - at) <= DISKS_FRESH
    if row.log_dirs is None or not (is_recent or is_there is False):
        return None
    return [LogDir(**one) for one in row.log_dirs]


AREA = Area("clusters", judge)
