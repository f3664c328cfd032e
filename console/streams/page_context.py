"""What the pages of an application share."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from console.clusters.trouble.told import troubles_of
from console.frame.errors import or_404
from console.frame.pages.addresses import address_of
from console.streams import queries
from console.streams.models import StreamsApplication
from console.streams.snapshots import Picture

_TABS = (
    ("detail", "Overview"),
    ("rebalances", "Rebalances"),
    ("balance", "Balance"),
    ("key-lookup", "Key lookup"),
)


def find_application(alias: str, application_id: str) -> StreamsApplication:
    """Return an application; raises Http404."""
    return or_404(
        queries.get_application(alias, application_id),
        f"{alias} has no Kafka Streams application {application_id}.",
    )


def around_application(row: StreamsApplication, picture: Picture, current: str) -> dict[str, Any]:
    """Return what every page of an application shows."""
    args = (row.cluster.alias, row.application_id)
    shown = picture.application.state
    return {
        "row": row,
        "freshness": row.freshness,
        "taken_at": picture.taken_at,
        "is_past": picture.taken_at is not None and row.state != shown,
        "shown_state": shown,
        "troubles": troubles_of([row.cluster_id], timezone.now()),
        "tabs": application_tabs(*args, current),
    }


def application_tabs(alias: str, application_id: str, current: str = "") -> list[dict[str, Any]]:
    return [
        {
            "label": label,
            "href": address_of(f"streams:{name}", alias, application_id),
            "is_current": name == current,
        }
        for name, label in _TABS
    ]


def analysis_href(kind: str, **given: str) -> str:
    """Return the address of the form of an analysis, filled in."""
    return f"{reverse('runs:new-analysis', args=[kind])}?{urlencode(given)}"


STATE = "State of the consumer group. Gone: the cluster does not list the group any more."
INSTANCES = "Processes, told apart by their process ids; each runs one or more stream threads."
TASKS = "Subtopologies times their partitions."
LAG_RECORDS = "Records of the source topics that are not committed yet."
LAG_AT_MOST = (
    "The oldest record that is not committed can be no older: the time since the stream time of the "
    "last commit."
)
EVENT_TIME_LAG = (
    "How far the newest record is ahead of the stream time of the last commit, at most."
)
FINDINGS = "Open findings about the application, with the worst severity."
MISROUTED = (
    "Share of all keys for which the application's own metadata names an instance that does not serve "
    "them, or another partition, in its worst store."
)
