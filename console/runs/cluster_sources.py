"""The clusters that analyses can ask."""

from __future__ import annotations

from typing import Any

from console.clusters.models import Cluster
from console.frame.security.access import visible
from console.runs.analyses.sources import Source


def list_sources(user: Any) -> list[Source]:
    """Return the clusters that a person may see, by alias."""
    return [_source(one) for one in visible(user, Cluster.objects.order_by("alias"))]


def get_source(name: str) -> Source | None:
    """Return a cluster by its alias; None when there is none."""
    cluster = Cluster.objects.filter(alias=name).first()
    return None if cluster is None else _source(cluster)


def _source(cluster: Cluster) -> Source:
    def resource() -> dict[str, Any]:
        return {"connection": cluster.connection().to_mapping()}

    alias = cluster.alias
    return Source(alias, alias, f"cluster:{cluster.pk}", (cluster.pk,), None, resource)
