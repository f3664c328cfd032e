"""Reads of channels and routes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from console.delivery.models import Delivery
from console.findings.incidents.models import Incident
from console.frame.security.sealing import NotReadable, unseal
from console.notifications.models import NotificationChannel, NotificationRoute
from console.notifications.route_values import checks_of
from jobs.patterns.matching import Matcher, glob_expression
from jobs.severity import Severity

_CLUSTERS = ("cluster", "log__cluster", "flow__source", "flow__target")


def list_channels() -> QuerySet[Any]:
    """Return channels with the state of their last delivery (`last_state`, null: none)."""
    last = Delivery.objects.filter(sender=OuterRef("pk")).order_by("-pk").values("state")[:1]
    rows = NotificationChannel.objects.select_related("changed_by").order_by("name")
    return rows.annotate(last_state=Subquery(last))


def list_routes() -> QuerySet[NotificationRoute]:
    """Return routes with their cluster and channels."""
    rows = NotificationRoute.objects.select_related("cluster", "changed_by")
    return rows.prefetch_related("channels").order_by("name")


def secrets_set(channel: NotificationChannel) -> list[str]:
    """Return the names of the secrets that a channel has; none when they are not readable."""
    try:
        return sorted(unseal(channel.sealed))
    except NotReadable:
        return []


def count_matches(routes: Iterable[NotificationRoute]) -> dict[int, int]:
    """Return how many open incidents each route matches, at any time of day; one query."""
    rows = Incident.objects.filter(ended_at=None)
    open_ = Counter(rows.values_list("rank", "check_id", "subject", "title", *_CLUSTERS))
    found = {}
    for route in routes:
        ids = {one.id for one in checks_of(route.checks or ["*"])}
        subjects = Matcher([glob_expression(route.subject_pattern or "*")])
        least = Severity(route.severity).rank
        found[route.pk] = sum(
            count
            for (rank, check, subject, title, *clusters), count in open_.items()
            if rank >= least
            and (not route.checks or check in ids)
            and (route.cluster_id is None or route.cluster_id in clusters)
            and (not route.subject_pattern or any(map(subjects.matches, (subject, title))))
        )
    return found
