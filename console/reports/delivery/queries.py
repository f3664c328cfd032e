"""Reads of deliveries."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from console.frame.security.access import can
from console.reports.models import Delivery


def list_deliveries(person: Any) -> QuerySet[Delivery]:
    """Return deliveries, newest first; those of reports for administrators only to them."""
    rows = Delivery.objects.select_related("run").order_by("-pk")
    return rows if can(person, "administer") else rows.exclude(run__for_admins=True)
