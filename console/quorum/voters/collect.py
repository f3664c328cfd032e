"""Describe quorums in rounds: ask, judge, write the status and its findings; a failure keeps old values."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from console.clusters.models import Cluster
from console.findings import store
from console.frame.processes.work_sharing import longest_waiting
from console.quorum import queries
from console.quorum.models import IMPORT_PREFIX, MetadataLog, QuorumStatus, Source
from console.quorum.voters.evaluation import KnownBefore, evaluate_description, known_before
from jobs.cluster.admin.quorum import QuorumDescription, QuorumReplica, describe_quorum
from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.cluster.network_addresses import host_text
from jobs.logs import own_fault
from jobs.quorum.health.codes import LIFE


class DescribeDoor(Protocol):
    """One question to a cluster; raises `ClusterFault`."""

    def __call__(self, connection: Connection) -> QuorumDescription:
        """Return who votes, who leads, how far each has come."""
        ...


def describe(connection: Connection) -> QuorumDescription:
    """Ask the real cluster."""
    return describe_quorum(connection)


logger = logging.getLogger(__name__)

Clock = Callable[[], datetime]
# Longer than a round can take: the door has a budget of ten seconds.
CLAIM = timedelta(seconds=60)
# A cluster that answers slowly is queried less often.
REST_PER_WORK = 2


def due_clusters(now: datetime) -> list[int]:
    """Return the ids of enabled clusters whose quorum is due, the one that waits longest first."""
    waiting = QuorumStatus.objects.filter(log__cluster=OuterRef("pk"), claimed_until__gte=now)
    enabled = Cluster.objects.filter(is_enabled=True)
    due = enabled.exclude(Exists(waiting))
    return longest_waiting(due, "metadata_log__status__claimed_until")


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
    cluster_id: int, clock: Clock = timezone.now, door: DescribeDoor = describe
) -> bool:
    """Describe the quorum of one cluster when it is due; return whether it was. Never raises a fault."""
    cluster = Cluster.objects.filter(pk=cluster_id, is_enabled=True).first()
    if cluster is None:
        return False
    log = log_of(cluster, clock())
    QuorumStatus.objects.get_or_create(log=log)
    if not _claim(log, clock()):
        return False
    begun = time.monotonic()
    try:
        # The quorum must have reached what the log has before DescribeQuorum.
        before = known_before(log)
        _succeed(log, door(cluster.connection()), before, clock, begun)
    except InvalidFields as problem:
        text = f"The settings are not usable: {problem}"
        _fail(log, ClusterFault(text, cluster=cluster.alias, hint=_CORRECT), clock(), begun)
    except ClusterFault as fault:
        _fail(log, fault, clock(), begun)
    except Exception:
        logger.exception("describing the quorum broke cluster=%s", cluster.alias)
        text = own_fault("describing the quorum")
        _fail(log, ClusterFault(text, cluster=cluster.alias, hint=""), clock(), begun)
    return True


_CORRECT = "Correct the cluster's settings."


def _claim(log: MetadataLog, now: datetime) -> bool:
    due = Q(claimed_until=None) | Q(claimed_until__lt=now)
    return bool(QuorumStatus.objects.filter(due, log=log).update(claimed_until=now + CLAIM))


def _succeed(
    log: MetadataLog, told: QuorumDescription, before: KnownBefore, clock: Clock, begun: float
) -> None:
    now = clock()
    newest = queries.list_voter_sets(log).order_by("-offset").first()
    status = QuorumStatus.objects.get(log=log)
    judged = evaluate_description(log, status, told, before, now)
    values = status_values(told, newest.voters if newest else [], judged.replica_words)
    if newest is not None:
        values["kraft_version"] = 0 if newest.is_static else 1
    with transaction.atomic():
        store.save(log, LIFE, judged.found, now, judged.codes)
        fine = {"failing_since": None, "error_code": "", "error": "", "hint": ""}
        _finish(log, now, begun, **values, **fine, memory=judged.memory)


def _fail(log: MetadataLog, fault: ClusterFault, now: datetime, begun: float) -> None:
    row = QuorumStatus.objects.filter(log=log)
    row.filter(failing_since=None).update(failing_since=now)
    _finish(log, now, begun, error_code=fault.code, error=fault.message, hint=fault.hint)
    logger.warning("quorum not described cluster=%s error=%s", log.name, fault.message)


def _finish(log: MetadataLog, now: datetime, begun: float, **values: Any) -> None:
    ms = int((time.monotonic() - begun) * 1000)
    rest_s = max(settings.QUORUM_INTERVAL_S, REST_PER_WORK * ms / 1000)
    # Half a second less, so that the clock's next tick finds it due.
    claimed_until = now + timedelta(seconds=rest_s - 0.5)
    QuorumStatus.objects.filter(log=log).update(
        finished_at=now, duration_ms=ms, claimed_until=claimed_until, **values
    )


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
        "described_at": datetime.fromtimestamp(told.described_at_ms / 1000, UTC),
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
