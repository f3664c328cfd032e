"""Reads of stored extractors."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import QuerySet

from console.clusters.models import Cluster
from console.frame.errors import or_404
from console.frame.security.access import clusters_of
from console.tracing.extractors.models import StoredExtractor


def list_extractors(cluster: Cluster | None = None) -> QuerySet[StoredExtractor]:
    """Return extractors by name: of a cluster, or all."""
    rows = StoredExtractor.objects.select_related("cluster").order_by("name")
    return rows if cluster is None else rows.filter(cluster=cluster)


def where(pk: int | str, **_: object) -> Collection[int]:
    """Return the cluster of an extractor, for guards."""
    return clusters_of(StoredExtractor.objects.filter(pk=int(pk)))


def find_extractor(cluster: Cluster, pk: int) -> StoredExtractor:
    """Return an extractor of a cluster; raises Http404."""
    sentence = f"{cluster.alias} has no extractor {pk}. It may have been removed."
    return or_404(list_extractors(cluster).filter(pk=pk).first(), sentence)
