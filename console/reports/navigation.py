"""Search hits of reports: their lists, kinds and saved reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from console.frame.pages.search import SearchHit, find_rows
from console.frame.security.access import can
from console.reports import queries
from console.reports.models import Report, ReportRun
from console.reports.page_context import tabs_of
from jobs.reports.kinds.kind import KINDS


def find_hits(user: Any, words: Sequence[str], limit: int) -> Iterator[SearchHit]:
    """Yield the pages of reports, and those that can be run; one query."""
    for tab in tabs_of(user, "")[1:]:
        yield SearchHit("reports", tab["label"], tab["href"], also="runs")
    for kind in KINDS.values():
        if can(user, "administer") or not kind.for_admins:
            path = reverse("reports:new", args=[kind.kind])
            yield SearchHit("new report", kind.title, path, also=kind.kind)
    for one in find_rows(user, Report.objects.all(), words, "report action run", "name", "kind")[
        :limit
    ]:
        path = reverse("reports:detail", args=[one.pk])
        yield SearchHit("report", one.name, path, one.kind)
        if queries.may_change(one, user):
            yield SearchHit("action", f"Run report {one.name}", path, one.kind)


def audited() -> dict[str, tuple[QuerySet[Any], str]]:
    """Return the rows that audit entries name by their key, with the field of the name."""
    return {
        "report": (Report.objects.all(), "name"),
        "report-run": (ReportRun.objects.all(), "name"),
    }
