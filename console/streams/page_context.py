"""What the pages of an application share."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.utils import timezone

from console.clusters.trouble.told import troubles_of
from console.frame.pages.addresses import address_of
from console.streams import queries
from console.streams.models import StreamsApplication
from console.streams.snapshots import Picture

_TABS = (("detail", "Overview"), ("key-lookup", "Key lookup"))


def find_application(alias: str, application_id: str) -> StreamsApplication:
    """Return an application; raises Http404."""
    row = queries.get_application(alias, application_id)
    if row is None:
        raise Http404(f"{alias} has no Kafka Streams application {application_id}.")
    return row


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
        "tabs": [
            {
                "label": label,
                "href": address_of(f"streams:{name}", *args),
                "is_current": name == current,
            }
            for name, label in _TABS
        ],
    }
