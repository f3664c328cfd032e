"""Reads of checks: the catalogue with its counts, settings, maintenance windows."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from django.db.models import Count, QuerySet

from console.checks.catalogue import document as catalogue_document
from console.checks.catalogue import list_checks
from console.checks.models import CheckRound
from console.findings.check_settings import CheckSetting
from console.findings.models import MaintenanceWindow
from console.findings.queries import open_findings
from console.frame.security.access import visible
from jobs.checks.maintenance import starts_of

__all__ = ["catalogue_document", "list_checks"]

NEXT_TIMES = 5


def count_open(user: Any) -> dict[str, int]:
    """Return how many open findings of each check a person may see; one query."""
    rows = visible(user, open_findings()).order_by("code").values_list("code")
    return dict(rows.annotate(Count("pk")))


def list_rounds() -> QuerySet[CheckRound]:
    """Return the round of checks; none before the first one succeeded."""
    return CheckRound.objects.exclude(succeeded_at=None)


def list_settings() -> QuerySet[CheckSetting]:
    """Return settings with their scope and who changed them."""
    return CheckSetting.objects.select_related(
        "cluster", "flow__source", "flow__target", "changed_by"
    )


def list_windows() -> QuerySet[MaintenanceWindow]:
    """Return maintenance windows with their cluster and who created them."""
    return MaintenanceWindow.objects.select_related("cluster", "created_by")


def where_setting(pk: int | str = 0, setting_id: int = 0, **_: Any) -> Collection[int]:
    """Return the clusters of a setting, for the guard of pages and routes."""
    row = list_settings().filter(pk=setting_id or pk).first()
    return row.clusters if row else ()


def where_window(pk: int | str = 0, window_id: int = 0, **_: Any) -> Collection[int]:
    """Return the cluster of a window, for the guard of pages and routes."""
    row = list_windows().filter(pk=window_id or pk).first()
    return row.clusters if row else ()


def list_starts(row: MaintenanceWindow, now: datetime) -> list[datetime]:
    """Return the next starts of a window, `NEXT_TIMES` at most; the first one may be of now."""
    after = now - timedelta(seconds=row.duration_s)
    return list(islice(starts_of(row.starts_at, row.rrule, row.time_zone, after), NEXT_TIMES))


def active_until(row: MaintenanceWindow, now: datetime) -> datetime | None:
    """Return when the window of this moment ends; None: there is none."""
    ends = (at + timedelta(seconds=row.duration_s) for at in list_starts(row, now) if at <= now)
    return next(ends, None)
