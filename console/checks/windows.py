"""Maintenance windows: reading what people enter, with all that is wrong at its field."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db.models import Q
from django.utils.dateparse import parse_datetime

from console.checks.queries import list_starts
from console.findings.models import MaintenanceWindow
from console.frame.errors import ActionRefused
from console.schedules.timing import zones
from jobs.checks.maintenance import NotARule, read_rrule
from jobs.cluster.errors import InvalidFields

LEAST_S, MOST_S = 60, 31 * 86_400
MOST_WINDOWS = 200
FIRST_YEAR, LAST_YEAR = 2000, 2100


def read_window(
    values: Mapping[str, Any], now: datetime, row: MaintenanceWindow | None = None
) -> MaintenanceWindow:
    """Put values into a window and return it; raises `InvalidFields`.

    It ends at `ends_at` or after `duration_s`. A time without an offset is one of `time_zone`.
    """
    row, errors = row or MaintenanceWindow(), {}
    row.title, row.time_zone = values.get("title") or "", values.get("time_zone") or "UTC"
    if not row.title:
        errors["title"] = "Enter a title."
    try:
        row.rrule = read_rrule(values["rrule"]) if values.get("rrule") else ""
    except NotARule as problem:
        errors["rrule"] = str(problem)
    if row.time_zone not in zones():
        errors["time_zone"] = "Unknown time zone: write it as Europe/Berlin or UTC."
    else:
        errors |= _take_times(row, values)
    if not errors and not list_starts(row, now):
        over = "The rule gives no time from now on." if row.rrule else "The window is over already."
        errors["rrule" if row.rrule else "starts_at"] = over
    if errors:
        raise InvalidFields(errors)
    return row


def refuse_too_many(now: datetime) -> None:
    to_come = Q(starts_at__gte=now - timedelta(seconds=MOST_S)) | ~Q(rrule="")
    if MaintenanceWindow.objects.filter(to_come).count() >= MOST_WINDOWS:
        text = f"There are {MOST_WINDOWS} maintenance windows. Remove one, or use a rule."
        raise ActionRefused("too_many", text)


def _take_times(row: MaintenanceWindow, values: Mapping[str, Any]) -> dict[str, str]:
    start, end, duration = (values.get(name) for name in ("starts_at", "ends_at", "duration_s"))
    if not start:
        return {"starts_at": "Enter when the window starts."}
    if bool(end) is (duration is not None):
        return {"ends_at": "Enter an end or a duration, not both."}
    field = "starts_at"
    try:
        row.starts_at = _moment(start, row.time_zone)
        if end:
            field = "ends_at"
            duration = (_moment(end, row.time_zone) - row.starts_at).total_seconds()
    except ValueError as problem:
        return {field: str(problem)}
    if isinstance(duration, bool) or not LEAST_S <= (duration or 0) <= MOST_S:
        return {"ends_at" if end else "duration_s": "A window lasts from 1 minute to 31 days."}
    row.duration_s = int(duration or 0)
    return {}


def _moment(given: datetime | str, time_zone: str) -> datetime:
    """Return a time in UTC; raises `ValueError` with a sentence."""
    at = parse_datetime(given) if isinstance(given, str) else given
    if at is None or not FIRST_YEAR <= at.year <= LAST_YEAR:
        raise ValueError(f"A time from {FIRST_YEAR} to {LAST_YEAR}, such as 2026-12-01 22:00.")
    if at.tzinfo is not None:
        return at.astimezone(UTC)
    found = at.replace(tzinfo=ZoneInfo(time_zone)).astimezone(UTC)
    if found.astimezone(ZoneInfo(time_zone)).replace(tzinfo=None) != at:
        raise ValueError(f"The clocks of {time_zone} skip this time.")
    return found
