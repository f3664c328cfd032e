"""Reads of deliveries."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from console.delivery.models import NOT_DELIVERED, Delivery
from console.frame.security.access import can

# Of a delivery: its attempts, and when a person asked for it again.
LONGEST = timedelta(days=14)


def list_deliveries(person: Any) -> QuerySet[Delivery]:
    """Return deliveries, newest first; those of reports for administrators only to them."""
    rows = Delivery.objects.select_related("run").order_by("-pk")
    return rows if can(person, "administer") else rows.filter(run__for_admins=False)


def failed_deliveries(since: datetime) -> list[Delivery]:
    """Return the deliveries that were refused or given up since a time, oldest first."""
    rows = Delivery.objects.filter(state__in=NOT_DELIVERED, created_at__gte=since - LONGEST)
    ended = (
        (row, row.log[-1]["at"] if row.log else "") for row in rows.select_related("run", "sender")
    )
    return [row for row, at in ended if at and datetime.fromisoformat(at) >= since]
