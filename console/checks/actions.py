"""Actions on settings of checks and on maintenance windows: check, then write. Objectives share them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction

from console.accounts.audit import audit_row, change
from console.accounts.models import User
from console.checks.windows import read_window, refuse_too_many
from console.clusters.models import Cluster
from console.findings.check_settings import CheckSetting
from console.findings.models import MaintenanceWindow, Objective
from console.frame.errors import ActionRefused
from console.frame.security.access import can, require, visible
from console.replication.flows.queries import list_flows
from jobs.checks.check import CHECKS, CLOSE_AFTER, OPEN_AFTER, Area, Check, Pattern
from jobs.cluster.errors import InvalidFields
from jobs.patterns.java import NotAPattern
from jobs.patterns.matching import glob_expression

MOST_SETTINGS = 2000
Scoped = CheckSetting | MaintenanceWindow | Objective
_FOR_ALL = "What holds for all clusters needs the role admin everywhere. Name a cluster or a flow."
SHOWN = {
    CheckSetting: ("topic_pattern", "group_pattern", "thresholds", "is_excluded", "note"),
    MaintenanceWindow: ("title", "starts_at", "duration_s", "rrule", "time_zone"),
    Objective: ("topic_pattern", "counts_as", "limit_ms", "target_percent"),
}


def scope_of(check: Check) -> str:
    """Return by what its settings can be narrowed: `cluster`, `flow` or, of crosslog itself, nothing."""
    return {Area.FLOW: "flow", Area.CROSSLOG: ""}.get(check.area, "cluster")


@change("check_setting.save")
def save_setting(
    row: CheckSetting, values: Mapping[str, Any], person: User, now: datetime
) -> CheckSetting:
    """Create a setting of the check of a row, or change its fields in `values`: cluster and flow stay.

    Raises `InvalidFields` at all fields that are wrong, `PermissionDenied`.
    """
    check, before = CHECKS.by_id.get(row.check_id), shown(row) if row.pk else None
    if check is None:
        raise InvalidFields({"check": f"There is no check {row.check_id[:60]}."})
    errors = _take_scope(row, {} if row.pk else values, person, scope_of(check))
    for name in SHOWN[CheckSetting]:
        setattr(row, name, values.get(name, getattr(row, name)))
    errors |= _problems(row, check)
    if errors:
        raise InvalidFields(errors)
    if not row.pk and CheckSetting.objects.count() >= MOST_SETTINGS:
        text = f"There are {MOST_SETTINGS} settings. Remove one, or use a pattern."
        raise ActionRefused("too_many", text)
    row.changed_at, row.changed_by = now, person
    try:
        write(row, before)
    except IntegrityError:
        field = f"{check.narrowed_by}_pattern" if check.narrowed_by else scope_of(check)
        text = f"There is a setting of {check.id} for {row.scope}: change that one."
        raise InvalidFields({field or "check": text}) from None
    return row


@change("maintenance_window.create")
def create_window(values: Mapping[str, Any], person: User, now: datetime) -> MaintenanceWindow:
    """Create a window; raises like `save_setting`."""
    row = MaintenanceWindow(created_at=now, created_by=person)
    errors = _take_scope(row, values, person, "cluster")
    try:
        read_window(values, now, row)
    except InvalidFields as invalid:
        errors |= invalid.errors
    if errors:
        raise InvalidFields(errors)
    refuse_too_many(now)
    write(row, None)
    return row


@change("check_or_window.delete")
def remove(row: Scoped, person: User) -> None:
    """Remove a setting, a window, or an objective with its steps; raises `PermissionDenied`."""
    require_on(person, row.clusters)
    with transaction.atomic():
        _audit("delete", row, before=shown(row))
        row.delete()


def require_on(person: User, clusters: tuple[int, ...]) -> None:
    """Refuse who may not operate on these clusters, or, for all clusters, not administer."""
    if clusters:
        require(person, "operate", *clusters)
    elif not can(person, "administer"):
        raise PermissionDenied(_FOR_ALL)


def may_change(person: Any, clusters: tuple[int, ...]) -> bool:
    """Return whether `require_on` lets a person change what is about these clusters."""
    return can(person, "operate" if clusters else "administer", *clusters)


def shown(row: Scoped) -> dict[str, Any]:
    """Return the fields of a row as forms and the audit log have them."""
    values = {name: getattr(row, name) for name in SHOWN[type(row)]}
    return {k: v.isoformat() if isinstance(v, datetime) else v for k, v in values.items()}


def _take_scope(
    row: CheckSetting | MaintenanceWindow, values: Mapping[str, Any], person: User, scope: str
) -> dict[str, str]:
    """Put cluster or flow into a row; return what is wrong with them. What may not be seen is not there."""
    errors = {}
    for field in ("cluster", "flow"):
        if values.get(field) in {None, ""}:
            continue
        if field != scope:
            errors[field] = f"This check is not narrowed to a {field}."
        else:
            errors |= take(row, field, values[field], person)
    if not errors:
        require_on(person, row.clusters)
    return errors


def take(row: Scoped, field: str, given: Any, person: User) -> dict[str, str]:
    """Put a `cluster` by its alias or a `flow` by its key into a row; return what is wrong with it."""
    rows: Any = Cluster.objects.all() if field == "cluster" else list_flows()
    key = "alias" if field == "cluster" else "pk"
    found = visible(person, rows.filter(**{key: given})).first()
    if found is None:
        return {field: f"There is no {field} {str(given)[:63]}."}
    setattr(row, field, found)
    return {}


def _problems(row: CheckSetting, check: Check) -> dict[str, str]:
    errors = _pattern_problems(row, check) | _threshold_problems(check, row.thresholds)
    if row.topic_pattern and {OPEN_AFTER, CLOSE_AFTER} & set(row.thresholds):
        text = (
            f"An incident is not of topics: set {OPEN_AFTER} and {CLOSE_AFTER} without a pattern."
        )
        errors.setdefault("topic_pattern", text)
    if row.is_excluded and not row.note:
        errors["note"] = "Say why the check is off there."
    if not row.thresholds and not row.is_excluded:
        errors["is_excluded"] = "Set a threshold, or exclude."
    return errors


def _pattern_problems(row: CheckSetting, check: Check) -> dict[str, str]:
    errors = {}
    for pattern in (Pattern.TOPIC, Pattern.GROUP):
        text: str = getattr(row, f"{pattern}_pattern")
        if text and check.narrowed_by is not pattern:
            errors[f"{pattern}_pattern"] = f"This check is not narrowed by {pattern}s."
        errors |= glob_problem(f"{pattern}_pattern", text)
    return errors


def glob_problem(field: str, text: str) -> dict[str, str]:
    """Return what is wrong with a glob, at its field."""
    try:
        glob_expression(text)
    except NotAPattern as problem:
        return {field: f"This pattern cannot be evaluated: {problem}"}
    return {}


def _threshold_problems(check: Check, given: Mapping[str, Any]) -> dict[str, str]:
    """Return what is wrong with thresholds, at `thresholds.` and the name of each."""
    known = {one.name: one for one in check.all_thresholds}
    unknown = f"This check has no such threshold. It has: {', '.join(known) or 'none'}."
    found = {
        f"thresholds.{name[:60]}": known[name].problem(value) if name in known else unknown
        for name, value in given.items()
    }
    errors = {field: problem for field, problem in found.items() if problem}
    return errors or _order_problems(check, given)


def _order_problems(check: Check, given: Mapping[str, float]) -> dict[str, str]:
    """Return the warnings that would come after their critical values."""
    errors, values = {}, {**check.defaults, **given}
    for low, warning in values.items():
        high = low.replace("warning", "critical")
        if high == low or high not in values or not {low, high} & set(given):
            continue
        critical, is_rising = values[high], check.defaults[low] <= check.defaults[high]
        if warning != critical and (warning < critical) is not is_rising:
            side = "above" if is_rising else "below"
            errors[f"thresholds.{low if low in given else high}"] = (
                f"The warning ({warning:g}) is {side} the critical value ({critical:g})."
            )
    return errors


def write(row: Scoped, before: Mapping[str, Any] | None) -> None:
    """Save a row with its entry in the audit log; `before` is what a changed one showed."""
    with transaction.atomic():
        row.save()
        _audit("change" if before else "create", row, before=before, after=shown(row))


def _audit(verb: str, row: Scoped, **values: Any) -> None:
    audit_row(verb, row, cluster=row.cluster.alias if row.cluster_id else "", **values)
