"""What the pages of a cluster's availability share: the cluster, its tabs, freshness and time range."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from console.availability.status import queries
from console.clusters.models import Cluster
from console.frame.errors import or_404
from console.frame.pages.timerange import TimeRange


def find_cluster(alias: str) -> Cluster:
    """Return a cluster by its alias; raises Http404."""
    return or_404(queries.get_cluster(alias))


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
    """Return the counts of the tabs: partitions that are offline, under min ISR or at min ISR."""
    count = sum(getattr(cluster, f"{name}_count") or 0 for name in _SERIOUS)
    return {"partitions": {"count": count, "is_bad": True}} if count else {}


_SERIOUS = ("offline", "state_under_min_isr", "state_at_min_isr")


TABS = (
    ("detail", "Overview"),
    ("partitions", "Partitions"),
    ("brokers", "Brokers"),
    ("observers", "Observers"),
    ("placements", "Placements"),
    ("what-if", "Failure simulation"),
    ("designer", "Designer"),
    ("promotion", "Promotion"),
    ("drills", "Drills"),
    ("runbooks", "Runbooks"),
)
_GROUPS = dict.fromkeys(("detail", "partitions", "brokers", "observers"), "Now")
_GROUPS |= dict.fromkeys(("placements", "what-if", "designer"), "Plan")


def availability_tabs(
    cluster: Cluster, current: str, **more: dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the tabs of a cluster's availability; `more` adds to one by its name, such as a count."""
    return [
        {
            "label": label,
            "href": reverse(f"availability:{name}", args=[cluster.alias]),
            "group": _GROUPS.get(name, "Act"),
            "is_current": name == current,
            **more.get(name, {}),
        }
        for name, label in TABS
    ]
