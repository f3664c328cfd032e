"""The tabs of the room, in one order for all its pages."""

from __future__ import annotations

from typing import Any

from django.urls import NoReverseMatch, reverse

from console.clusters.models import Cluster

# A page that does not exist yet is left out.
TABS = (
    ("detail", "Overview"),
    ("partitions", "Partitions"),
    ("brokers", "Brokers & churn"),
    ("observers", "Observers"),
    ("placements", "Placements"),
    ("what-if", "What-if"),
    ("designer", "Designer"),
    ("promotion", "Promotion"),
    ("drills", "Drills"),
    ("runbooks", "Runbooks"),
)


def availability_tabs(
    cluster: Cluster, current: str, **more: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the tabs of a cluster's availability; `more` adds to one by its name, such as a count."""
    return [
        {"label": label, "href": href, "is_current": name == current, **more.get(name, {})}
        for name, label in TABS
        if (href := _address(name, cluster))
    ]


def _address(name: str, cluster: Cluster) -> str:
    try:
        return reverse(f"availability:{name}", args=[cluster.alias])
    except NoReverseMatch:
        return ""
