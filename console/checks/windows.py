"""Actions on maintenance windows: check, then write."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import Q

from console.accounts.audit import audit, change
from console.accounts.models import User
from console.checks.actions import require_on
from console.checks.queries import list_starts
from console.clusters.models import Cluster
from console.findings.models import MaintenanceWindow
from console.frame.errors import ActionRefused
from console.frame.security.access import visible
from console.schedules.timing import zones
from jobs.checks.maintenance import NotARule, overlaps, read_rrule
from jobs.cluster.errors import InvalidFields

LONGEST_TITLE = 200
LEAST_S, MOST_S = 60, 31 * 86_400
MOST_WINDOWS = 200
FIRST_YEAR, LAST_YEAR = 2000, 2100


@change("maintenance_window.create")
def create_window(values: Mapping[str, Any], person: User, now: datetime) -> MaintenanceWindow:
    """Create a window; raises `InvalidFields` at all fields that are wrong, `PermissionDenied`."""
    errors, cluster = {}, None
    alias = values.get("cluster")
    if alias:
        cluster = visible(person, Cluster.objects.filter(alias=alias)).first()
        if cluster is None:
            errors["cluster"] = f"There is no cluster {str(alias)[:63]}."
    if not errors:
        require_on(person, (cluster.pk,) if cluster else ())
    try:
        row = read_window(values, now)
    except InvalidFields as invalid:
        raise InvalidFields({**errors, **invalid.errors}) from None
    if errors:
        raise InvalidFields(errors)
    _refuse_too_many(now)
    row.cluster, row.created_at, row.created_by = cluster, now, person
    with transaction.atomic():
        row.save()
        _audit("maintenance_window.create", row, after=_shown(row))
    return row


@change("maintenance_window.delete")
def delete_window(row: MaintenanceWindow, person: User) -> None:
    """Remove a maintenance window; raises `PermissionDenied`."""
    require_on(person, row.clusters)
    with transaction.atomic():
        _audit("maintenance_window.delete", row, before=_shown(row))
        row.delete()


def read_window(values: Mapping[str, Any], now: datetime) -> MaintenanceWindow:
    """Return a window that is not saved yet, without a cluster; raises `InvalidFields`.

    It ends at `ends_at` or after `duration_s`. A time without an offset is one of `time_zone`.
    """
    errors: dict[str, str] = {}
    row = MaintenanceWindow(title=str(values.get("title") or "").strip(), duration_s=0)
    row.time_zone = str(values.get("time_zone") or "UTC").strip()
    if not 0 < len(row.title) <= LONGEST_TITLE:
        errors["title"] = f"A title of at most {LONGEST_TITLE} characters."
    if row.time_zone not in zones():
        errors["time_zone"] = "Unknown time zone: write it as Europe/Berlin or UTC."
    try:
        row.rrule = read_rrule(str(values["rrule"])) if values.get("rrule") else ""
    except NotARule as problem:
        errors["rrule"] = str(problem)
    if "time_zone" not in errors:
        errors |= _take_times(row, values)
    if not errors:
        errors = _course_problems(row, values, now)
    if errors:
        raise InvalidFields(errors)
    return row


def _take_times(row: MaintenanceWindow, values: Mapping[str, Any]) -> dict[str, str]:
    errors: dict[str, str] = {}
    moments: dict[str, datetime] = {}
    for field in ("starts_at", "ends_at"):
        given = values.get(field)
        try:
            moments |= {field: _moment(given, row.time_zone)} if given else {}
        except ValueError as problem:
            errors[field] = str(problem)
    duration = values.get("duration_s")
    if "starts_at" not in moments:
        errors.setdefault("starts_at", "Enter when the window starts.")
    elif (values.get("ends_at") is None) is (duration is None):
        errors["ends_at"] = "Enter an end or a duration, not both."
    elif "ends_at" in moments:
        duration = (moments["ends_at"] - moments["starts_at"]).total_seconds()
    if not errors:
        row.starts_at, seconds = moments["starts_at"], _seconds(duration)
        row.duration_s = seconds
        if not LEAST_S <= seconds <= MOST_S:
            field = "ends_at" if "ends_at" in moments else "duration_s"
            errors[field] = "A window lasts from 1 minute to 31 days."
    return errors


def _seconds(given: Any) -> int:
    """Return a duration, 0 for what is none."""
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    return int(given) if is_number else 0


def _moment(given: datetime, time_zone: str) -> datetime:
    """Return a time in UTC; raises `ValueError` with a sentence."""
    if not FIRST_YEAR <= given.year <= LAST_YEAR:
        raise ValueError(f"A time from {FIRST_YEAR} to {LAST_YEAR}.")
    if given.tzinfo is not None:
        return given.astimezone(UTC)
    zone = ZoneInfo(time_zone)
    at = given.replace(tzinfo=zone).astimezone(UTC)
    if at.astimezone(zone).replace(tzinfo=None) != given:
        raise ValueError(f"The clocks of {time_zone} skip this time.")
    return at


def _course_problems(
    row: MaintenanceWindow, values: Mapping[str, Any], now: datetime
) -> dict[str, str]:
    """Return what is wrong with the times of a window: none to come, or one within another."""
    starts = list_starts(row, now)
    if not starts:
        over = "The rule gives no time from now on." if row.rrule else "The window is over already."
        return {"rrule" if row.rrule else "starts_at": over}
    if overlaps(starts, row.duration_s):
        field = "duration_s" if values.get("ends_at") is None else "ends_at"
        return {field: "The window starts again before it has ended."}
    return {}


def _refuse_too_many(now: datetime) -> None:
    to_come = Q(starts_at__gte=now - timedelta(seconds=MOST_S)) | ~Q(rrule="")
    if MaintenanceWindow.objects.filter(to_come).count() >= MOST_WINDOWS:
        text = f"There are {MOST_WINDOWS} maintenance windows. Remove one, or use a rule."
        raise ActionRefused("too_many", text)


def _shown(row: MaintenanceWindow) -> dict[str, Any]:
    names = ("title", "starts_at", "duration_s", "rrule", "time_zone")
    values = {name: getattr(row, name) for name in names}
    return values | {"starts_at": row.starts_at.isoformat()}


def _audit(action: str, row: MaintenanceWindow, **values: Any) -> None:
    alias = row.cluster.alias if row.cluster_id else ""
    audit(action, f"maintenance-window:{row.pk}", cluster=alias, **values)
