"""The round for brokers: who is alive, and who is missing although partitions count on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from console.clusters.collection.requests import ClusterRequests
from console.clusters.collection.rows import remove, write_seen
from console.clusters.models import Broker, Cluster, Partition
from console.frame.rounds import Outcome
from jobs.cluster.admin.log_dirs import BrokerLogs
from jobs.cluster.capabilities.reader import findings_of
from jobs.cluster.descriptions import BrokerDescription, ClusterDescription
from jobs.cluster.errors import ClusterFault
from jobs.limits import SENTENCE, short

# How often the disks of brokers are read.
LOG_DIRS_EVERY = timedelta(seconds=60)


def save_brokers(cluster: Cluster, described: ClusterDescription, now: datetime) -> Outcome:
    """Write the brokers of an answer; one that is gone stays while a partition has a replica there."""
    live = {broker.broker_id: broker for broker in described.brokers}
    with transaction.atomic():
        stored = stored_brokers(cluster)
        load = _Load(cluster)
        wanted = live.keys() | load.replicas.keys()
        seen = {i: _values(live.get(i), stored.get(i)) | load.of(i) for i in sorted(wanted)}
        write_seen(Broker, stored, seen, lambda i: Broker(cluster=cluster, broker_id=i), now)
        remove(Broker, [row for i, row in stored.items() if i not in seen])
        Broker.objects.filter(cluster=cluster, is_live=True).update(seen_at=now)
    return Outcome({"row_count": len(seen)}, _missing(seen))


def save_versions(cluster: Cluster, kafka: ClusterRequests, now: datetime) -> list[str]:
    """Write what brokers offer; without an answer the last one stays, with its time.

    Returns what a check has said of the versions before, where they are others now.
    """
    try:
        found = kafka.read_versions().to_mapping()
    except ClusterFault:
        return []
    Cluster.objects.filter(pk=cluster.pk).update(versions=found, versions_at=now)
    is_other = cluster.versions and found != cluster.versions
    return findings_of(cluster.offers) if is_other else []


def save_log_dirs(cluster: Cluster, kafka: ClusterRequests, now: datetime) -> None:
    """Write the log directories of brokers that are alive, where the last answer is a minute old."""
    recent = (now - LOG_DIRS_EVERY, now + LOG_DIRS_EVERY)
    alive = Broker.objects.filter(cluster=cluster, is_live=True)
    due = {row.broker_id: row for row in alive.exclude(log_dirs_at__range=recent)}
    if not due:
        return
    try:
        answers = kafka.read_log_dirs(sorted(due))
    except ClusterFault:
        answers = {}
    for broker, row in due.items():
        answer = answers.get(broker)
        row.log_dirs = _log_dirs(answer) if isinstance(answer, BrokerLogs) else None
        row.log_dirs_at = now
    Broker.objects.bulk_update(due.values(), ["log_dirs", "log_dirs_at"])


def _log_dirs(logs: BrokerLogs) -> list[dict[str, Any]]:
    sizes = {path: logs.volumes.get(path, (None, None)) for path in (*logs.volumes, *logs.faults)}
    faults = {path: short(fault.message, SENTENCE) for path, fault in logs.faults.items()}
    return [
        {"path": path, "total_bytes": total, "usable_bytes": usable, "error": faults.get(path, "")}
        for path, (total, usable) in sorted(sizes.items())
    ]


def save_broker_load(cluster: Cluster, now: datetime) -> None:
    """Count leaders and replicas per broker again, after the placement of partitions was written."""
    stored = stored_brokers(cluster)
    load = _Load(cluster)
    unknown = load.replicas.keys() - stored.keys()
    seen = {i: load.of(i) for i in stored} | {i: load.of(i) for i in sorted(unknown)}
    new = {"is_live": False}
    write_seen(Broker, stored, seen, lambda i: Broker(cluster=cluster, broker_id=i, **new), now)


def stored_brokers(cluster: Cluster) -> dict[int, Broker]:
    """Return the rows of the last round."""
    return {row.broker_id: row for row in Broker.objects.filter(cluster=cluster)}


class _Load:
    """How many partitions each broker leads and has, from the last round for topics."""

    def __init__(self, cluster: Cluster) -> None:
        self.leaders: Counter[int] = Counter()
        self.replicas: Counter[int] = Counter()
        placements = Partition.objects.filter(cluster=cluster).values_list("leader", "replicas")
        for leader, replicas in placements:
            self.replicas.update(replicas)
            if leader is not None:
                self.leaders[leader] += 1

    def of(self, broker_id: int) -> dict[str, Any]:
        return {
            "leader_count": self.leaders[broker_id],
            "replica_count": self.replicas[broker_id],
        }


def _values(broker: BrokerDescription | None, stored: Broker | None) -> dict[str, Any]:
    """Return where a broker is; of one that is not alive, where it was."""
    known = broker or stored or Broker()
    return {
        "host": known.host,
        "port": known.port,
        "rack": known.rack or "",
        "is_live": broker is not None,
    }


def _missing(seen: Mapping[int, Mapping[str, Any]]) -> str:
    return sentence_about_dead([i for i, values in seen.items() if not values["is_live"]])


def sentence_about_dead(ids: Collection[int]) -> str:
    """Return what is to be said about brokers that do not answer, "" when there are none."""
    if not ids:
        return ""
    names = ", ".join(map(str, sorted(ids)))
    return f"Not alive, although partitions have replicas there: broker {names}."
