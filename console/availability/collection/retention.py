"""How long the history of availability is kept."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F

from console.availability.status.broker_models import BrokerChurn
from console.availability.status.models import (
    AvailabilityRound,
    OutOfSyncSpan,
    PolledMoment,
    SeveritySpan,
    UncleanElection,
)
from console.availability.status.queries import COUNTS
from console.frame import series


def prune(now: datetime) -> int:
    """Delete rows older than their retention, except ongoing intervals; return how many."""
    gone = series.prune(COUNTS, now)
    limit = now - timedelta(days=settings.AVAILABILITY_HISTORY_D)
    gone += SeveritySpan.objects.filter(ended_at__lt=limit).delete()[0]
    gone += OutOfSyncSpan.objects.filter(ended_at__lt=limit).delete()[0]
    gone += PolledMoment.objects.filter(at__lt=limit).delete()[0]
    gone += _prune_unclean(limit)
    return gone + BrokerChurn.objects.filter(hour__lt=limit).delete()[0]


def _prune_unclean(limit: datetime) -> int:
    """Remove old unclean elections; how many there were in all stays known."""
    old = UncleanElection.objects.filter(at__lt=limit)
    rounds = AvailabilityRound.objects.filter(noun=AvailabilityRound.Noun.STATUS)
    with transaction.atomic():
        counted = old.order_by().values_list("cluster").annotate(number=Count("pk"))
        for cluster, number in list(counted):
            rounds.filter(cluster=cluster).update(unclean_pruned=F("unclean_pruned") + number)
        return old.delete()[0]
