"""Reads of Kafka Streams applications."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from console.clusters import queries as clusters
from console.frame.pages.freshness import Freshness, freshness_of_round
from console.streams.application import needs
from console.streams.models import StreamsApplication, StreamsRound

# Other rooms read queries only.
read_needs = needs.read_needs
# What a list does not need and what is large.
_LARGE = ("facts", "description", "broker_description", "cautions", "audit")


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


def applications_of(clusters_: Collection[int]) -> QuerySet[StreamsApplication]:
    """Return the applications of clusters with their rounds and audits."""
    rows = StreamsApplication.objects.filter(cluster__in=clusters_)
    large = [name for name in _LARGE if name != "audit"]
    return rows.select_related("cluster__streams_round").defer(*large)


def list_rounds() -> QuerySet[StreamsRound]:
    return StreamsRound.objects.select_related("cluster").order_by("cluster__alias")


def freshness_of(row: StreamsRound | None) -> Freshness:
    """Return how fresh the applications of a cluster are; no query."""
    return freshness_of_round("Applications", row, settings.STREAMS_INTERVAL_S)
