"""What the palette finds among reports."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from console.frame.pages.navigation import SearchHit
from console.frame.security.access import can_anywhere
from console.reports import queries
from console.reports.models import Report, ReportRun


def find_jumps(user: Any, words: str, limit: int) -> list[SearchHit]:
    """Return reports whose name contains the words."""
    if not can_anywhere(user, "view"):
        return []
    found = queries.list_reports(user).filter(name__icontains=words).order_by("name")
    return [
        SearchHit("report", one.name, reverse("reports:detail", args=[one.pk]), one.kind)
        for one in found[:limit]
    ]


def audited() -> dict[str, tuple[QuerySet[Any], str]]:
    """Return the rows that audit entries name by their key, with the field of the name."""
    return {
        "report": (Report.objects.all(), "name"),
        "report-run": (ReportRun.objects.all(), "name"),
    }
