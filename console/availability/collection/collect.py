"""Rounds of availability: from the metadata log where it is followed, else from the cluster's own rounds.

A round that fails keeps the old values and says why. A process claims a cluster before it takes in
a change, so that the process that follows the log and the workers do not take in the same one twice.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from console.availability.collection.from_log import LogReader
from console.availability.collection.from_poll import take_round
from console.availability.status.broker_models import BrokerStatus, MinIsrSetting, Source
from console.availability.status.models import (
    AvailabilityRound,
    OutOfSyncSpan,
    PartitionStatus,
    Rollup,
    SeveritySpan,
    UncleanElection,
)
from console.clusters.models import Cluster, CollectionRound, Noun
from console.quorum import queries as quorum
from jobs.logs import own_fault

logger = logging.getLogger(__name__)

Clock = Callable[[], datetime]
# Longer than a run can take, so that a claim is only ever taken over from a process that died.
CLAIM = timedelta(seconds=150)
_KINDS = ("partition", "topic", "broker", "config")


def due_clusters(now: datetime) -> list[int]:
    """Return the enabled clusters whose status is to be looked at, longest waiting first: three queries."""
    rounds = {
        row.cluster_id: row
        for row in AvailabilityRound.objects.filter(noun=AvailabilityRound.Noun.STATUS)
    }
    topics = CollectionRound.objects.filter(noun=Noun.TOPICS)
    polled = {row.cluster_id: row.succeeded_at for row in topics}
    every = timedelta(seconds=settings.AVAILABILITY_INTERVAL_S - 0.5)
    due = [
        pk
        for pk in Cluster.objects.filter(is_enabled=True).values_list("pk", flat=True)
        if _is_due(rounds.get(pk), polled.get(pk), now, every)
    ]
    return sorted(due, key=lambda pk: (oldest_first(rounds.get(pk)), pk))


def oldest_first(row: AvailabilityRound | None) -> float:
    """Return what sorts rounds by how long they wait: those that never were come first."""
    return row.finished_at.timestamp() if row is not None and row.finished_at is not None else 0.0


def _is_due(
    row: AvailabilityRound | None, polled_at: datetime | None, now: datetime, every: timedelta
) -> bool:
    if row is None or row.finished_at is None:
        return True
    if row.claimed_until is not None and row.claimed_until >= now:
        return False
    return now - row.finished_at >= every or (
        row.source == Source.POLL and polled_at is not None and polled_at != row.polled_at
    )


def take_in(cluster_id: int, clock: Clock = timezone.now) -> bool:
    """Bring the status of one cluster up to date; return whether that was done. Never raises."""
    cluster = Cluster.objects.filter(pk=cluster_id, is_enabled=True).first()
    if cluster is None:
        return False
    row, _ = AvailabilityRound.objects.get_or_create(
        cluster=cluster, noun=AvailabilityRound.Noun.STATUS
    )
    if not claim(row, clock()):
        return False
    begun = time.monotonic()
    try:
        row.refresh_from_db()
        _take_in(cluster, row, clock)
    except Exception:
        logger.exception("availability broke cluster=%s", cluster.alias)
        text = own_fault("judging partitions")
        fail(row, clock(), begun, "broken", text, "")
    return True


def has_news(cluster_id: int) -> bool:
    """Return whether the metadata log tells something new of partitions: two queries."""
    row = AvailabilityRound.objects.filter(
        cluster=cluster_id, noun=AvailabilityRound.Noun.STATUS
    ).first()
    if row is None or row.log_id is None:
        return True
    place = (row.cursor, row.cursor_offset, row.cursor_number)
    return quorum.has_changes_after(quorum.Log(pk=row.log_id), place, _KINDS)


def _take_in(cluster: Cluster, row: AvailabilityRound, clock: Clock) -> None:
    begun, now = time.monotonic(), clock()
    topics = CollectionRound.objects.filter(cluster=cluster, noun=Noun.TOPICS).first()
    log = quorum.followed_log(cluster, now)
    if log is not None:
        if row.log_id != log.pk:
            _begin_log(cluster, row, log)
        _from_log(cluster, row, log, topics, clock, begun)
    elif topics is not None and topics.succeeded_at is not None:
        _from_poll(cluster, row, topics, now, begun)
    elif topics is not None and topics.failing_since is not None:
        fail(row, now, begun, topics.error_code, topics.error, topics.hint)
    else:
        finish(row, now, begun)


def _from_log(
    cluster: Cluster,
    row: AvailabilityRound,
    log: quorum.Log,
    topics: CollectionRound | None,
    clock: Clock,
    begun: float,
) -> None:
    reader = LogReader(cluster, log, row, clock())
    described_at = topics.succeeded_at if topics is not None else None
    if reader.read():
        reader.settle(clock(), is_described_anew=described_at != row.polled_at)
        well = {"source": Source.LOG, "polled_at": described_at, "sampled_s": row.sampled_s}
        succeed(row, clock(), begun, **well)
    else:
        # There is more: the next run continues, and the state is of the past until then.
        finish(row, clock(), begun, source=Source.LOG)


def _from_poll(
    cluster: Cluster, row: AvailabilityRound, topics: CollectionRound, now: datetime, begun: float
) -> None:
    at = topics.succeeded_at or now
    if at != row.polled_at or row.source != Source.POLL:
        take_round(cluster, row, at, now)
    values = {"source": Source.POLL, "succeeded_at": at}
    if topics.failing_since is not None:
        fail(row, now, begun, topics.error_code, topics.error, topics.hint, **values)
    else:
        succeed(row, now, begun, **values)


def _begin_log(cluster: Cluster, row: AvailabilityRound, log: quorum.Log) -> None:
    """Begin with another metadata log: it tells everything from its own beginning on."""
    with transaction.atomic():
        PartitionStatus.objects.filter(cluster=cluster).delete()
        for model in (Rollup, BrokerStatus, MinIsrSetting, SeveritySpan, OutOfSyncSpan):
            model._default_manager.filter(cluster=cluster).delete()
        UncleanElection.objects.filter(cluster=cluster).delete()
        row.log_id, row.sampled_s = log.pk, None
        row.cursor = row.cursor_offset = row.cursor_number = -1
        row.save(update_fields=["log_id", "sampled_s", "cursor", "cursor_offset", "cursor_number"])


def claim(row: AvailabilityRound, now: datetime) -> bool:
    """Take a round; False when another process has it."""
    free = Q(claimed_until=None) | Q(claimed_until__lt=now)
    found = AvailabilityRound.objects.filter(free, pk=row.pk)
    return bool(found.update(claimed_until=now + CLAIM))


def succeed(row: AvailabilityRound, now: datetime, begun: float, **values: Any) -> None:
    """Write that a round went well; `succeeded_at` is now unless it is said."""
    well = {"failing_since": None, "error_code": "", "error": "", "hint": "", "succeeded_at": now}
    finish(row, now, begun, **{**well, **values})


def fail(
    row: AvailabilityRound,
    now: datetime,
    begun: float,
    code: str,
    error: str,
    hint: str,
    **values: Any,
) -> None:
    """Write that a round failed, and since when; its rows stay as they were."""
    AvailabilityRound.objects.filter(pk=row.pk, failing_since=None).update(failing_since=now)
    finish(row, now, begun, error_code=code, error=error, hint=hint, **values)


def finish(row: AvailabilityRound, now: datetime, begun: float, **values: Any) -> None:
    """Give the claim back and write how long it took."""
    ms = int((time.monotonic() - begun) * 1000)
    AvailabilityRound.objects.filter(pk=row.pk).update(
        finished_at=now, duration_ms=ms, claimed_until=None, **values
    )
