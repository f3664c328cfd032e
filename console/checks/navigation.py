"""Search hits of checks, their settings and maintenance windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import QuerySet
from django.urls import reverse

from console.checks.catalogue import list_checks
from console.findings.check_settings import CheckSetting
from console.findings.models import MaintenanceWindow, Objective
from console.frame.pages.search import SearchHit


def find_hits(user: Any, words: Sequence[str], limit: int) -> Iterator[SearchHit]:
    """Yield the pages of checks, and each check of the catalogue; no query."""
    also = "checks thresholds exclusions"
    yield SearchHit("setting", "Settings of checks", reverse("checks:settings"), also=also)
    path = reverse("checks:maintenance")
    yield SearchHit("setting", "Maintenance windows", path, also="silence rrule")
    path = reverse("checks:objectives")
    yield SearchHit("setting", "Objectives", path, also="slo error budget burn rate")
    for one in list_checks():
        yield SearchHit("check", one.title, f"{reverse('checks:list')}#{one.id}", one.area, one.id)


def audited() -> dict[str, tuple[QuerySet[Any], str]]:
    """Return the rows that audit entries name by their key, with the field of the name."""
    return {
        "check-setting": (CheckSetting.objects.all(), "check_id"),
        "objective": (Objective.objects.all(), "kind"),
        "maintenance-window": (MaintenanceWindow.objects.all(), "title"),
    }
