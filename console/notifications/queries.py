"""Reads of channels and routes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from console.delivery.models import Delivery
from console.findings.incidents.models import Incident
from console.frame.security.sealing import NotReadable, unseal
from console.notifications.models import NotificationChannel, NotificationRoute
from jobs.notifications.routes import OpenIncident, Route, matching
from jobs.severity import Severity

_OF_INCIDENT = (
    "pk", "check_id", "rank", "state", "opened_at", "subject", "title",
    "cluster_id", "log__cluster_id", "flow__source_id", "flow__target_id",
)  # fmt: skip


def list_channels() -> QuerySet[Any]:
    """Return channels with the state of their last delivery (`last_state`, null: none)."""
    last = Delivery.objects.filter(sender=OuterRef("pk")).order_by("-pk").values("state")[:1]
    rows = NotificationChannel.objects.select_related("changed_by").order_by("name")
    return rows.annotate(last_state=Subquery(last))


def list_routes() -> QuerySet[NotificationRoute]:
    """Return routes with their cluster and channels."""
    rows = NotificationRoute.objects.select_related("cluster", "changed_by")
    return rows.prefetch_related("channels").order_by("name")


def secrets_of(channel: NotificationChannel) -> dict[str, str]:
    """Return the secrets of a channel; none when they are not readable and are to be entered again."""
    try:
        return unseal(channel.sealed)
    except NotReadable:
        return {}


def list_open() -> list[OpenIncident]:
    """Return the open incidents as routes see them; one query."""
    rows: Any = Incident.objects.filter(ended_at=None).order_by("pk").values_list(*_OF_INCIDENT)
    return [OpenIncident(*(*row[:7], tuple(filter(None, row[7:])))) for row in rows]


def count_matches(routes: Iterable[NotificationRoute]) -> dict[int, int]:
    """Return how many open incidents each route matches, at any time of day; one query."""
    rows = {one.id: one for one in list_open()}
    found = {}
    for one in routes:
        what = one.checks, one.cluster_id, one.subject_pattern
        route = Route(one.pk, (), Severity(one.severity).rank, *what)
        found[one.pk] = len(matching(route, rows))
    return found
