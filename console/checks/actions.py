"""Actions on settings of checks: check, then write."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction

from console.accounts.audit import audit, change
from console.accounts.models import User
from console.checks.catalogue import list_checks
from console.clusters.models import GROUP_ID_LENGTH, TOPIC_NAME_LENGTH, Cluster
from console.findings.check_settings import CheckSetting
from console.frame.errors import ActionRefused
from console.frame.security.access import can, require, visible
from console.replication.flows.queries import list_flows
from jobs.checks.check import CHECKS, Area, Check, Pattern
from jobs.cluster.errors import InvalidFields
from jobs.patterns.java import NotAPattern
from jobs.patterns.matching import glob_expression

LONGEST_NOTE = 300
MOST_SETTINGS = 2000
_FOR_ALL = "What holds for all clusters needs the role admin everywhere. Name a cluster or a flow."
CHANGEABLE = ("topic_pattern", "group_pattern", "thresholds", "is_excluded", "note")
_PATTERNS = {
    Pattern.TOPIC: ("topic_pattern", TOPIC_NAME_LENGTH),
    Pattern.GROUP: ("group_pattern", GROUP_ID_LENGTH),
}
_WARNING, _CRITICAL = "warning", "critical"


def scope_of(check: Check) -> str:
    """Return by what its settings can be narrowed: `cluster`, `flow` or, of crosslog itself, nothing."""
    return {Area.FLOW: "flow", Area.CROSSLOG: ""}.get(check.area, "cluster")


def find_check(check_id: object) -> Check:
    """Return a check; raises `InvalidFields`."""
    list_checks()
    check = CHECKS.by_id.get(check_id) if isinstance(check_id, str) else None
    if check is None:
        raise InvalidFields({"check": f"There is no check {str(check_id)[:60]}."})
    return check


@change("check_setting.create")
def create_setting(values: Mapping[str, Any], person: User, now: datetime) -> CheckSetting:
    """Create a setting; raises `InvalidFields` at all fields that are wrong, `PermissionDenied`."""
    check = find_check(values.get("check"))
    row = CheckSetting(check_id=check.id)
    errors, found = _take_scope(row, check, values, person), {}
    if not errors:
        require_on(person, row.clusters)
    try:
        found = read_values(check, values)
    except InvalidFields as invalid:
        errors |= invalid.errors
    if errors:
        raise InvalidFields(errors)
    if CheckSetting.objects.count() >= MOST_SETTINGS:
        text = f"There are {MOST_SETTINGS} settings. Remove one, or use a pattern."
        raise ActionRefused("too_many", text)
    _save(row, found, person, now, "check_setting.create")
    return row


@change("check_setting.change")
def change_setting(
    row: CheckSetting, values: Mapping[str, Any], person: User, now: datetime
) -> CheckSetting:
    """Change the fields in `values`; its check, cluster and flow stay. Raises like `create_setting`."""
    require_on(person, row.clusters)
    found = read_values(find_check(row.check_id), {**shown(row), **values})
    _save(row, found, person, now, "check_setting.change")
    return row


@change("check_setting.delete")
def delete_setting(row: CheckSetting, person: User) -> None:
    """Remove a setting; raises `PermissionDenied`."""
    require_on(person, row.clusters)
    with transaction.atomic():
        _audit("check_setting.delete", row, before=shown(row))
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


def read_values(check: Check, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changeable fields of a setting of a check; raises `InvalidFields`."""
    errors: dict[str, str] = {}
    found: dict[str, Any] = {"topic_pattern": "", "group_pattern": ""}
    for pattern, (field, longest) in _PATTERNS.items():
        found[field] = text = str(values.get(field) or "").strip()
        problem = _pattern_problem(text, longest) if check.narrowed_by is pattern else ""
        if text and check.narrowed_by is not pattern:
            problem = f"The check {check.id} is not narrowed by {pattern}s."
        errors |= {field: problem} if problem else {}
    found["thresholds"] = thresholds = values.get("thresholds") or {}
    errors |= _threshold_problems(check, thresholds)
    found["is_excluded"] = bool(values.get("is_excluded"))
    found["note"] = note = str(values.get("note") or "").strip()
    if len(note) > LONGEST_NOTE:
        errors["note"] = f"At most {LONGEST_NOTE} characters."
    elif found["is_excluded"] and not note:
        errors["note"] = "Say why the check is off there."
    if not thresholds and not found["is_excluded"]:
        errors["is_excluded"] = "Set a threshold, or exclude."
    if errors:
        raise InvalidFields(errors)
    return found


def shown(row: CheckSetting) -> dict[str, Any]:
    """Return the changeable fields of a row."""
    return {name: getattr(row, name) for name in CHANGEABLE}


def _pattern_problem(text: str, longest: int) -> str:
    if len(text) > longest:
        return f"At most {longest} characters."
    try:
        glob_expression(text)
    except NotAPattern as problem:
        return f"This pattern cannot be evaluated: {problem}"
    return ""


def _threshold_problems(check: Check, given: object) -> dict[str, str]:
    """Return what is wrong with thresholds, at `thresholds.` and the name of each."""
    if not isinstance(given, Mapping):
        return {"thresholds": "An object of numbers by the names of thresholds."}
    known = {one.name: one for one in check.all_thresholds}
    errors = {}
    for name, value in given.items():
        names = ", ".join(known) or "none"
        unknown = f"The check {check.id} has no such threshold. It has: {names}."
        problem = known[name].problem(value) if name in known else unknown
        if problem:
            errors[f"thresholds.{str(name)[:60]}"] = problem
    return errors or _order_problems(check, given)


def _order_problems(check: Check, given: Mapping[str, float]) -> dict[str, str]:
    """Return the warnings that would come after their critical values."""
    errors = {}
    for low in check.defaults:
        high = low.replace(_WARNING, _CRITICAL)
        if high == low or high not in check.defaults or not {low, high} & set(given):
            continue
        warning, critical = (given.get(name, check.defaults[name]) for name in (low, high))
        is_rising = check.defaults[low] <= check.defaults[high]
        if (warning > critical) if is_rising else (warning < critical):
            side = "above" if is_rising else "below"
            text = f"The warning ({warning:g}) is {side} the critical value ({critical:g})."
            errors[f"thresholds.{low if low in given else high}"] = text
    return errors


def _take_scope(
    row: CheckSetting, check: Check, values: Mapping[str, Any], person: User
) -> dict[str, str]:
    """Put cluster or flow into a row; return what is wrong with them. What may not be seen is not there."""
    errors, scope = {}, scope_of(check)
    lists: dict[str, Any] = {
        "cluster": (Cluster.objects.order_by("pk"), "alias"),
        "flow": (list_flows(), "pk"),
    }
    for field, (rows, key) in lists.items():
        given = values.get(field)
        if given is None or given == "":
            continue
        found = visible(person, rows.filter(**{key: given})).first()
        if scope != field:
            errors[field] = f"The check {check.id} is not narrowed to a {field}."
        elif found is None:
            errors[field] = f"There is no {field} {str(given)[:63]}."
        else:
            setattr(row, field, found)
    return errors


def _save(
    row: CheckSetting, values: Mapping[str, Any], person: User, now: datetime, action: str
) -> None:
    """Write a row with valid values."""
    before = shown(row) if row.pk else None
    for name, value in values.items():
        setattr(row, name, value)
    row.changed_at, row.changed_by = now, person
    try:
        with transaction.atomic():
            row.save()
            _audit(action, row, before=before, after=shown(row))
    except IntegrityError:
        check = CHECKS.by_id[row.check_id]
        pattern = next((f for p, (f, _) in _PATTERNS.items() if check.narrowed_by is p), "")
        text = f"There is a setting of {check.id} for {row.scope}: change that one."
        raise InvalidFields({pattern or scope_of(check) or "check": text}) from None


def _audit(action: str, row: CheckSetting, **values: Any) -> None:
    alias = row.cluster.alias if row.cluster_id else ""
    audit(action, f"check-setting:{row.pk}", cluster=alias, **values)
