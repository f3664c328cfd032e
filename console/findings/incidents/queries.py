"""Reads of incidents."""

from __future__ import annotations

from datetime import datetime

from django.db.models import QuerySet

from console.findings.incidents.models import Incident


def list_incidents() -> QuerySet[Incident]:
    """Return all incidents with their scope, owner and who acknowledged them."""
    return Incident.objects.select_related(
        "cluster", "flow__source", "flow__target", "log__cluster", "owner", "acknowledged_by"
    )


def open_incidents() -> QuerySet[Incident]:
    """Return incidents that are not resolved, worst first, then the oldest."""
    return list_incidents().filter(ended_at=None).order_by("-rank", "began_at", "pk")


def resolved_since(since: datetime) -> QuerySet[Incident]:
    """Return incidents that were resolved since then, the newest first."""
    return list_incidents().filter(ended_at__gte=since).order_by("-ended_at", "-pk")
