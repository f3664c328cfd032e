"""Search hits of notification routes and channels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from console.frame.pages.search import SearchHit, find_rows
from console.frame.security.access import can
from console.notifications.models import NotificationChannel, NotificationRoute

_ALSO = "alert notification slack teams pagerduty opsgenie telegram webhook e-mail"


def find_hits(user: Any, words: Sequence[str], limit: int) -> Iterator[SearchHit]:
    """Yield the pages of routes and channels, for administrators; two queries."""
    if not can(user, "administer"):
        return
    channels = reverse("notifications:channels")
    yield SearchHit("setting", "Notification channels", channels, also=_ALSO)
    path = reverse("notifications:new-route")
    yield SearchHit("action", "New notification route", path, also="alert")
    rows: Any = (NotificationRoute, "route"), (NotificationChannel, "channel")
    for model, name in rows:
        kind = f"notification {name}"
        for one in find_rows(user, model.objects.all(), words, kind, "name")[:limit]:
            yield SearchHit(kind, one.name, reverse(f"notifications:{name}", args=[one.pk]))


def audited() -> dict[str, tuple[QuerySet[Any], str]]:
    """Return the rows that audit entries name by their key, with the field of the name."""
    return {
        "notification-channel": (NotificationChannel.objects.all(), "name"),
        "notification-route": (NotificationRoute.objects.all(), "name"),
    }
