"""Reads of Kafka Streams applications."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.db.models import Max, QuerySet

from console.clusters import queries as clusters
from console.frame.pages.freshness import Freshness, freshness_of_round
from console.streams.models import StreamsApplication, StreamsRound, StreamsSnapshot
from jobs.streams.lag import copies_of
from jobs.streams.stored import OtherForm, unpack_application

# What a list does not need and what is large.
_LARGE = ("facts", "description", "cautions")


def list_applications() -> QuerySet[StreamsApplication]:
    """Return all applications with cluster and round, without what is large."""
    rows = StreamsApplication.objects.select_related("cluster__streams_round")
    return rows.defer(*_LARGE).order_by("application_id", "pk")


def get_application(alias: str, application_id: str) -> StreamsApplication | None:
    """Return one application without its facts; None when there is none."""
    rows = StreamsApplication.objects.select_related("cluster__streams_round").defer("facts")
    return rows.filter(cluster__alias=alias, application_id=application_id).first()


def where(alias: str, **_: Any) -> Collection[int]:
    """Return the cluster of an address."""
    return clusters.where(alias)


def with_cautions(clusters_: Collection[int]) -> QuerySet[StreamsApplication]:
    """Return the applications of clusters with their cautions and rounds."""
    rows = StreamsApplication.objects.filter(cluster__in=clusters_)
    return rows.select_related("cluster__streams_round").defer("facts", "description")


# A round unpacks no more snapshots than these; a large one takes some tens of milliseconds.
MOST_UNPACKED = 50
_copies: dict[tuple[int, str], tuple[int, int, int] | None] = {}


def copies_by_application() -> dict[int, tuple[int, int, int] | None]:
    """Return `copies_of` of applications by their newest snapshots, each unpacked once; two queries."""
    rows = StreamsSnapshot.objects.order_by()
    newest = rows.values("application").annotate(newest=Max("pk")).values("newest")
    told = rows.filter(pk__in=newest).values_list("pk", "fingerprint", "application_id")
    now = {(pk, fingerprint): of for pk, fingerprint, of in told}
    known = {key: one for key, one in _copies.items() if key in now}
    missing = sorted(now.keys() - known.keys())[:MOST_UNPACKED]
    for row in rows.filter(pk__in=[pk for pk, _ in missing]).defer("changelogs"):
        with suppress(OtherForm):
            known[row.pk, row.fingerprint] = copies_of(unpack_application(bytes(row.content)))
    _copies.clear()
    _copies.update(known)
    return {now[key]: one for key, one in known.items() if key in now}


def list_rounds() -> QuerySet[StreamsRound]:
    return StreamsRound.objects.select_related("cluster").order_by("cluster__alias")


def freshness_of(row: StreamsRound | None) -> Freshness:
    """Return how fresh the applications of a cluster are; no query."""
    return freshness_of_round("Applications", row, settings.STREAMS_INTERVAL_S)
