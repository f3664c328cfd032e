"""Removal of old snapshots, and of applications that are gone for long."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Max

from console.clusters.models import Cluster
from console.streams.models import StreamsApplication, StreamsSnapshot
from jobs import limits


def forget_longest_gone(cluster: Cluster) -> None:
    """Remove the applications of a cluster that are gone for longest, of more than are kept."""
    kept = StreamsApplication.objects.filter(cluster=cluster).order_by("-last_seen_at", "-pk")
    beyond = list(kept.values_list("pk", flat=True)[limits.APPLICATIONS_KEPT :])
    if beyond:
        StreamsApplication.objects.filter(pk__in=beyond).delete()


def prune(now: datetime) -> int:
    """Remove what is older than `STREAMS_RETENTION_D`, but the newest snapshot of each application."""
    before = now - timedelta(days=settings.STREAMS_RETENTION_D)
    StreamsApplication.objects.filter(last_seen_at__lt=before).delete()
    newest = (
        StreamsSnapshot.objects.order_by()
        .values("application")
        .annotate(newest=Max("pk"))
        .values_list("newest", flat=True)
    )
    old = StreamsSnapshot.objects.filter(taken_at__lt=before).exclude(pk__in=list(newest))
    return old.delete()[0]
