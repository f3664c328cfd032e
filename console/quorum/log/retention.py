"""How long rows of a history are kept: old ones go, but never the state with which the rest begins."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.db.models import Exists, Max, Min, OuterRef, Q, QuerySet

from console.frame.processes import liveness
from console.quorum.models import MetadataChange, MetadataLog, MetadataSubject

# Deleted in pieces, so that a follower that wants to write never waits long.
PIECE = 5000


def prune_history(now: datetime) -> int:
    """Remove changes older than METADATA_RETENTION_D days of followed logs; return how many rows.

    Each subject keeps its newest change before the limit, so that every moment from there on is known as
    before; what was gone by then goes wholly. The archive keeps its segments, and imported logs everything.
    """
    limit = now - timedelta(days=settings.METADATA_RETENTION_D)
    followed = MetadataLog.objects.exclude(cluster=None)
    return sum(_prune(log, limit) for log in followed)


def _prune(log: MetadataLog, limit: datetime) -> int:
    offset = _last_offset_before(log, limit)
    if offset is None:
        return 0
    MetadataLog.objects.filter(pk=log.pk).update(pruned_below=offset)
    gone = MetadataSubject.objects.filter(log=log, gone_offset__lte=offset)
    return _delete(gone) + _delete(_outlived(log, offset))


def _last_offset_before(log: MetadataLog, limit: datetime) -> int | None:
    """Return the offset at which the kept history begins, None when nothing is to go.

    Controllers' clocks may jump: what stands behind the first record that is new enough is kept.
    """
    rows = MetadataChange.objects.filter(log=log)
    first_kept = rows.filter(at__gte=limit).aggregate(first=Min("offset"))["first"]
    old = rows.filter(at__lt=limit)
    if first_kept is not None:
        old = old.filter(effective_offset__lt=first_kept)
    newest: int | None = old.aggregate(newest=Max("effective_offset"))["newest"]
    if newest is not None and log.pruned_below is not None and newest <= log.pruned_below:
        return None
    return newest


def _outlived(log: MetadataLog, offset: int) -> QuerySet[MetadataChange]:
    """Return the changes up to an offset that another one of their subject has followed by then."""
    own = MetadataChange.objects.filter(subject=OuterRef("subject"), effective_offset__lte=offset)
    newer = own.filter(
        Q(effective_offset__gt=OuterRef("effective_offset"))
        | Q(effective_offset=OuterRef("effective_offset"), number__gt=OuterRef("number"))
    )
    return MetadataChange.objects.filter(Exists(newer), log=log, effective_offset__lte=offset)


def _delete(rows: QuerySet[models.Model]) -> int:
    count, last = 0, 0
    # Behind the last piece, so that what stays is not looked at again for each of them.
    while piece := list(
        rows.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:PIECE]
    ):
        count += rows.model._default_manager.filter(pk__in=piece).delete()[0]
        last = piece[-1]
        liveness.sign()
    return count
