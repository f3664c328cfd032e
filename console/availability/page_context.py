"""What the pages of a cluster's availability share: finding the cluster, and what stands around them."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest
from django.urls import reverse
from django.utils import timezone

from console.availability.status import queries
from console.clusters.models import Cluster
from console.frame.pages.timerange import TimeRange


def find_cluster(alias: str) -> Cluster:
    """Return a cluster by its alias; raises Http404."""
    cluster = queries.get_cluster(alias)
    if cluster is None:
        raise Http404
    return cluster


def around_cluster(request: HttpRequest, cluster: Cluster, current: str) -> dict[str, Any]:
    """Return what every page of a cluster's availability shows; `current` is the name of its tab."""
    return {
        "cluster": cluster,
        "tabs": availability_tabs(cluster, current, **_wrong(cluster)),
        "freshness": queries.freshness_of(cluster),
        "method": queries.method_of(queries.round_of(cluster)),
        "time_range": TimeRange.from_query(request.GET.dict(), timezone.now()),
    }


def _wrong(cluster: Any) -> dict[str, dict[str, Any]]:
    """Return what the tabs count: partitions that cannot be written, or have nothing to spare."""
    count = sum(getattr(cluster, f"{name}_count") or 0 for name in _SERIOUS)
    return {"partitions": {"count": count, "is_bad": True}} if count else {}


_SERIOUS = ("offline", "state_under_min_isr", "state_at_min_isr")


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
        {
            "label": label,
            "href": reverse(f"availability:{name}", args=[cluster.alias]),
            "is_current": name == current,
            **more.get(name, {}),
        }
        for name, label in TABS
    ]
