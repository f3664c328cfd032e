"""Actions on objectives: check, then write."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from console.accounts.audit import audit, change
from console.accounts.models import User
from console.clusters.queries import list_clusters
from console.findings.objectives.models import CountsAs, Kind, Objective
from console.frame.errors import ActionRefused
from console.frame.security.access import require, visible
from console.replication.flows.queries import list_flows
from jobs.cluster.errors import InvalidFields
from jobs.patterns.java import NotAPattern
from jobs.patterns.matching import glob_expression

MOST_OBJECTIVES = 200
MOST_LIMIT_MS = 30 * 86_400_000
# What is measured: with another one, the steps that there are say nothing.
MEASURED = ("topic_pattern", "counts_as", "limit_ms")
SHOWN = (*MEASURED, "target_percent")


@change("objective.save")
def save(row: Objective, values: Mapping[str, Any], person: User, now: datetime) -> Objective:
    """Create an objective, or change its fields in `values`: flow and cluster stay.

    When what is measured changes, it is measured again from what is still recorded. Raises `InvalidFields` at
    all fields that are wrong, `PermissionDenied`, `ActionRefused`.
    """
    before = shown(row) if row.pk else None
    errors = {} if row.pk else _take_scope(row, values, person)
    if row.clusters:
        require(person, "operate", *row.clusters)
    for name in SHOWN:
        setattr(row, name, values.get(name, getattr(row, name)))
    if not errors.keys() & {"flow", "cluster"}:
        errors |= _problems(row)
    if errors:
        raise InvalidFields(errors)
    if not row.pk and Objective.objects.count() >= MOST_OBJECTIVES:
        text = f"There are {MOST_OBJECTIVES} objectives. Remove one, or use a pattern."
        raise ActionRefused("too_many", text)
    row.changed_at, row.changed_by = now, person
    try:
        _write(row, before)
    except IntegrityError:
        text = f"There is such an objective of {row.scope}: change that one."
        raise InvalidFields({"flow" if row.flow_id else "topic_pattern": text}) from None
    return row


@change("objective.delete")
def remove(row: Objective, person: User) -> None:
    """Remove an objective and what was measured of it; raises `PermissionDenied`."""
    require(person, "operate", *row.clusters)
    with transaction.atomic():
        _audit("delete", row, before=shown(row))
        row.delete()


def shown(row: Objective) -> dict[str, Any]:
    """Return the fields of an objective as forms and the audit log have them."""
    return {name: getattr(row, name) for name in SHOWN}


def _take_scope(row: Objective, values: Mapping[str, Any], person: User) -> dict[str, str]:
    """Put flow or cluster and the kind into a row; return what is wrong. What is not seen is not there."""
    flow, cluster = values.get("flow"), values.get("cluster")
    if bool(flow) == bool(cluster):
        return {"flow": "Select either a flow (RPO) or a cluster (availability of topics)."}
    rows: Any = list_flows().filter(pk=flow) if flow else list_clusters().filter(alias=cluster)
    found = visible(person, rows).first()
    field = "flow" if flow else "cluster"
    if found is None:
        return {field: f"There is no {field} {str(flow or cluster)[:63]}."}
    setattr(row, field, found)
    row.kind = Kind.RPO if flow else Kind.AVAILABILITY
    return {}


def _problems(row: Objective) -> dict[str, str]:
    errors = {}
    target, limit = row.target_percent, row.limit_ms
    if target is None or not 50 < target < 100 or round(target, 3) != target:  # noqa: PLR2004 - percent
        errors["target_percent"] = (
            "Enter a number above 50 and below 100, with three decimals at most."
        )
    if row.kind == Kind.RPO:
        if limit is None or not 1 <= limit <= MOST_LIMIT_MS:
            errors["limit_ms"] = f"Enter a number from 1 to {MOST_LIMIT_MS} (30 days)."
        of_others = ("topic_pattern", "counts_as")
        return errors | {
            name: "An RPO of a flow has none." for name in of_others if getattr(row, name)
        }
    if limit is not None:
        errors["limit_ms"] = "Availability has none."
    row.counts_as = row.counts_as or CountsAs.OFFLINE
    try:
        glob_expression(row.topic_pattern)
    except NotAPattern as problem:
        errors["topic_pattern"] = f"This pattern cannot be evaluated: {problem}"
    return errors


def _write(row: Objective, before: Mapping[str, Any] | None) -> None:
    after = shown(row)
    with transaction.atomic():
        row.save()
        if before and any(before[name] != after[name] for name in MEASURED):
            row.steps.all().delete()
        _audit("change" if before else "create", row, before=before, after=after)


def _audit(verb: str, row: Objective, **values: Any) -> None:
    alias = row.cluster.alias if row.cluster_id else ""
    audit(f"objective.{verb}", f"objective:{row.pk}", cluster=alias, **values)
