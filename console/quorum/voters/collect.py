"""Describe quorums in rounds: ask, judge, write the status and its findings; a failure keeps old values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from console.clusters.models import Cluster
from console.clusters.queries import enabled_clusters
from console.findings import store
from console.frame.rounds import Clock, Outcome, Rounds
from console.quorum import queries
from console.quorum.models import IMPORT_PREFIX, MetadataLog, QuorumStatus, Source
from console.quorum.voters.evaluation import evaluate_description, known_before
from jobs.cluster.admin.quorum import QuorumDescription, QuorumReplica, describe_quorum
from jobs.cluster.connection import Connection
from jobs.cluster.network_addresses import host_text
from jobs.quorum.health.codes import LIFE

QUORUMS: Rounds[Cluster, QuorumStatus] = Rounds(
    name="quorums",
    rows=QuorumStatus,
    of="log__cluster",
    subjects=enabled_clusters,
    every_s=lambda: settings.QUORUM_INTERVAL_S,
    activity="describing the quorum",
)


def log_of(cluster: Cluster, now: datetime) -> MetadataLog:
    """Return the row of a cluster's metadata log, made when there is none."""
    fresh = {"name": cluster.alias, "created_at": now}
    log, _ = MetadataLog.objects.get_or_create(cluster=cluster, defaults=fresh)
    return log


def set_aside(log: MetadataLog, now: datetime) -> None:
    """Keep the history of a cluster that another one has taken the place of, as an imported log."""
    log.name, log.title = (
        f"{IMPORT_PREFIX}{log.name}-{log.pk}",
        f"{log.name} until {now:%Y-%m-%d %H:%M}",
    )
    log.cluster, log.source = None, Source.IMPORT
    log.save(update_fields=["name", "title", "cluster", "source"])


def collect_quorum(
    cluster_id: int,
    clock: Clock = timezone.now,
    describe: Callable[[Connection], QuorumDescription] = describe_quorum,
) -> bool:
    """Describe the quorum of one cluster when it is due; return whether it was. Never raises a fault."""

    def collect(cluster: Cluster, row: QuorumStatus) -> Outcome:
        # The quorum must have reached what the log has before DescribeQuorum.
        before = known_before(row.log)
        told, now = describe(cluster.connection()), clock()
        newest = queries.list_voter_sets(row.log).order_by("-offset").first()
        judged = evaluate_description(row.log, row, told, before, now)
        values = status_values(told, newest.voters if newest else [], judged.replica_words)
        if newest is not None:
            values["kraft_version"] = 0 if newest.is_static else 1
        with transaction.atomic():
            store.save(row.log, LIFE, judged.found, now, judged.codes)
            QuorumStatus.objects.filter(pk=row.pk).update(**values, memory=judged.memory)
        return Outcome({"succeeded_at": values["succeeded_at"]})

    def row_of(cluster: Cluster) -> QuorumStatus:
        return QuorumStatus.objects.get_or_create(log=log_of(cluster, clock()))[0]

    return QUORUMS.run(cluster_id, collect, clock, row_of)


# From a description of the quorum to the values of its row: lags, roles, and words about replicas.


def status_values(
    told: QuorumDescription,
    voter_set: Collection[Mapping[str, Any]],
    words: Mapping[tuple[str, int], list[str]],
) -> dict[str, Any]:
    """Return the fields of `QuorumStatus` that a description decides.

    `voter_set` is the newest one of the log (its versions of kraft.version, and endpoints where the answer
    has none), `words` are what was judged of voters and observers, by role and id.
    """
    picture = _Picture(told, voter_set, words)
    replicas = [picture.row(one, "voter") for one in told.voters]
    replicas += [picture.row(one, "observer") for one in told.observers]
    voters = [row for row in replicas if row["role"] != "observer"]
    return {
        "succeeded_at": datetime.fromtimestamp(told.described_at_ms / 1000, UTC),
        "leader_id": told.leader_id,
        "leader_epoch": told.leader_epoch,
        "high_watermark": told.high_watermark,
        "voter_count": len(told.voters),
        "observer_count": len(told.observers),
        "worst_lag": _worst(voters, "lag"),
        "worst_lag_ms": _worst(voters, "lag_ms"),
        "replicas": replicas,
    }


class _Picture:
    """A description with what else is known of its replicas."""

    def __init__(
        self,
        told: QuorumDescription,
        voter_set: Collection[Mapping[str, Any]],
        words: Mapping[tuple[str, int], list[str]],
    ) -> None:
        self._told = told
        self._words = words
        self._voters = {one["id"]: one for one in voter_set}
        self._endpoints = {
            node.id: [f"{one.name}://{host_text(one.host)}:{one.port}" for one in node.endpoints]
            for node in told.nodes
        }
        self._leader = next((one for one in told.voters if one.id == told.leader_id), None)

    def row(self, one: QuorumReplica, role: str) -> dict[str, Any]:
        """Return one replica as it is stored."""
        known = self._voters.get(one.id, {}) if role == "voter" else {}
        return {
            "id": one.id,
            "directory_id": one.directory_id,
            "role": "leader" if role == "voter" and one.id == self._told.leader_id else role,
            "log_end_offset": one.log_end_offset,
            "lag": self._lag(one),
            "lag_ms": self._lag_ms(one),
            "last_fetch_at": _at(one.last_fetch_at_ms),
            "last_caught_up_at": _at(one.last_caught_up_at_ms),
            "endpoints": self._endpoints.get(one.id) or known.get("endpoints", []),
            "min_version": known.get("min_version"),
            "max_version": known.get("max_version"),
            "words": [*self._words.get((role, one.id), ())],
        }

    def _lag(self, one: QuorumReplica) -> int | None:
        leader = self._leader
        if leader is None or leader.log_end_offset is None or one.log_end_offset is None:
            return None
        lag = leader.log_end_offset - one.log_end_offset
        # Both ends are not of one moment: kafka-metadata-quorum.sh prints -1 then.
        return lag if lag >= 0 else None

    def _lag_ms(self, one: QuorumReplica) -> int | None:
        """As kafka-metadata-quorum.sh reckons it: both times are of the leader's clock."""
        leader = self._leader
        if leader is None or leader.last_caught_up_at_ms is None:
            return None
        if one.last_caught_up_at_ms is None:
            return None
        return max(leader.last_caught_up_at_ms - one.last_caught_up_at_ms, 0)


def _at(ms: int | None) -> str | None:
    return None if ms is None else datetime.fromtimestamp(ms / 1000, UTC).isoformat()


def _worst(rows: Collection[Mapping[str, Any]], name: str) -> int | None:
    return max((row[name] for row in rows if row[name] is not None), default=None)
