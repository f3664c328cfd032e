"""Reads of Kafka Streams applications."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.conf import settings
from django.db.models import Count, Max, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from console.clusters import queries as clusters
from console.findings.models import Finding, Kind
from console.findings.queries import open_findings
from console.frame.pages.freshness import Freshness, freshness_of_round
from console.streams.application import needs
from console.streams.models import StreamsApplication, StreamsRound
from jobs.checks.check import CHECKS, Area

# Other rooms read queries only.
read_needs = needs.read_needs
# What a list does not need and what is large.
_LARGE = ("facts", "description", "broker_description", "cautions", "audit")


def list_applications() -> QuerySet[StreamsApplication]:
    """Return all applications with cluster and round, without what is large."""
    rows = StreamsApplication.objects.select_related("cluster__streams_round")
    return with_findings(rows.defer(*_LARGE)).order_by("application_id", "pk")


def findings_of(row: StreamsApplication) -> list[Finding]:
    """Return the open findings of an application, worst first."""
    scope = {"cluster": row.cluster_id, "subject": row.application_id, "code__in": _codes()}
    return list(open_findings(Kind.CHECKS, **scope))


def with_findings(rows: QuerySet[StreamsApplication]) -> QuerySet[StreamsApplication]:
    """Add `finding_count`, and `worst_rank`, the largest rank of an open finding (null: none)."""
    own = Finding.objects.order_by().filter(
        kind=Kind.CHECKS,
        closed_at=None,
        cluster=OuterRef("cluster"),
        subject=OuterRef("application_id"),
        code__in=_codes(),
    )
    count, worst = (
        Subquery(own.values("subject").annotate(found=found).values("found"))
        for found in (Count("pk"), Max("rank"))
    )
    return rows.annotate(finding_count=Coalesce(count, 0), worst_rank=worst)


def _codes() -> list[str]:
    return [one.id for one in CHECKS.by_id.values() if one.area is Area.STREAMS]


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
