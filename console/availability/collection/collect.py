"""Rounds of availability: from the metadata log where it is followed, else from the cluster's own rounds.

A round that fails keeps the old values and says why. A process claims a cluster before it takes in
a change, so that the process that follows the log and the workers do not take in the same one twice.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, Subquery
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
from console.clusters.queries import enabled_clusters
from console.frame.claims import is_free
from console.frame.rounds import EARLY, Clock, Outcome, Rounds, longest_waiting
from console.quorum import queries as quorum

_KINDS = ("partition", "topic", "broker", "config")
_FAILURE = ("failing_since", "error_code", "error", "hint")
STATUS: Rounds[Cluster, AvailabilityRound] = Rounds(
    name="partitions",
    rows=AvailabilityRound,
    of="cluster",
    subjects=enabled_clusters,
    every_s=lambda: settings.AVAILABILITY_INTERVAL_S,
    activity="judging partitions",
    part={"noun": AvailabilityRound.Noun.STATUS},
    # The process that follows the log takes in a change at once.
    rests=False,
)


def due_clusters(now: datetime) -> list[int]:
    """Return the clusters whose interval has passed or that were polled, longest waiting first; one query."""
    late = now - timedelta(seconds=settings.AVAILABILITY_INTERVAL_S) + EARLY
    topics = CollectionRound.objects.filter(cluster=OuterRef("cluster"), noun=Noun.TOPICS)
    rows = AvailabilityRound.objects.filter(**STATUS.part, cluster=OuterRef("pk"))
    polled = rows.annotate(topics_at=Subquery(topics.values("succeeded_at")[:1]))
    is_known = ~Q(source=Source.POLL) | Q(topics_at=None) | Q(topics_at=F("polled_at"))
    resting = polled.filter(~is_free(now) | Q(finished_at__gt=late) & is_known)
    due = enabled_clusters().exclude(Exists(resting))
    return longest_waiting(due.annotate(last=Subquery(rows.values("finished_at")[:1])), "last")


def take_in(cluster_id: int, clock: Clock = timezone.now) -> bool:
    """Bring the status of one cluster up to date; return whether that was done. Never raises."""

    def collect(cluster: Cluster, row: AvailabilityRound) -> Outcome:
        now = clock()
        topics = CollectionRound.objects.filter(cluster=cluster, noun=Noun.TOPICS).first()
        log = quorum.followed_log(cluster, now)
        if log is None:
            return _from_poll(cluster, row, topics, now)
        if row.log_id != log.pk:
            _begin_log(cluster, row, log)
        return _from_log(cluster, row, log, topics, clock)

    return STATUS.run(cluster_id, collect, clock)


def has_news(cluster_id: int) -> bool:
    """Return whether the metadata log tells something new of partitions: two queries."""
    row = AvailabilityRound.objects.filter(
        cluster=cluster_id, noun=AvailabilityRound.Noun.STATUS
    ).first()
    if row is None or row.log_id is None:
        return True
    place = (row.cursor, row.cursor_offset, row.cursor_number)
    return quorum.has_changes_after(quorum.Log(pk=row.log_id), place, _KINDS)


def _from_log(
    cluster: Cluster,
    row: AvailabilityRound,
    log: quorum.Log,
    topics: CollectionRound | None,
    clock: Clock,
) -> Outcome:
    reader = LogReader(cluster, log, row, clock())
    described_at = topics.succeeded_at if topics is not None else None
    if not reader.read():
        # There is more: the next run continues, and the state is of the past until then.
        return Outcome({"source": Source.LOG}, is_over=False)
    reader.settle(clock(), is_described_anew=described_at != row.polled_at)
    return Outcome({"source": Source.LOG, "polled_at": described_at, "sampled_s": row.sampled_s})


def _from_poll(
    cluster: Cluster, row: AvailabilityRound, topics: CollectionRound | None, now: datetime
) -> Outcome:
    """Take in a new poll; while polls fail, the status fails as they do."""
    failure = {}
    if topics is not None and topics.failing_since is not None:
        failure = {name: getattr(topics, name) for name in _FAILURE}
    if topics is None or topics.succeeded_at is None:
        return Outcome(failure, is_over=False)
    at = topics.succeeded_at
    if at != row.polled_at or row.source != Source.POLL:
        take_round(cluster, row, at, now)
    return Outcome({"source": Source.POLL, "succeeded_at": at, **failure}, is_over=not failure)


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
