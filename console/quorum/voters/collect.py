"""Describe quorums in rounds: ask, judge, write the status and its findings; a failure keeps old values."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from console.clusters.models import Cluster
from console.frame.processes.work_sharing import longest_waiting
from console.quorum import queries
from console.quorum.models import IMPORT_PREFIX, MetadataLog, QuorumStatus, Source
from console.quorum.voters import findings
from console.quorum.voters.described import status_values
from console.quorum.voters.door import DescribeDoor, describe
from console.quorum.voters.evaluation import KnownBefore, evaluate_description, known_before
from jobs.cluster.admin.quorum import QuorumDescription
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.logs import own_fault

logger = logging.getLogger(__name__)

Clock = Callable[[], datetime]
# Longer than a round can take: the door has a budget of ten seconds.
CLAIM = timedelta(seconds=60)
# A cluster that answers slowly is asked more rarely.
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
        # What the log has before the quorum is asked, the quorum must have reached.
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
        findings.save_round(log, judged.found, now, judged.codes)
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
