"""Actions on objectives: check, then write; `console.checks.actions` removes them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from console.accounts.audit import change
from console.accounts.models import User
from console.checks.actions import SHOWN, glob_problem, require_on, shown, take, write
from console.findings.objectives.models import CountsAs, Kind, Objective
from console.frame.errors import ActionRefused
from jobs.cluster.errors import InvalidFields

MOST_OBJECTIVES = 200
MOST_LIMIT_MS = 30 * 86_400_000


@change("objective.save")
def save(row: Objective, values: Mapping[str, Any], person: User, now: datetime) -> Objective:
    """Create an objective, or change its fields in `values`: flow and cluster stay.

    When what is measured changes, it is measured again from what is still recorded. Raises `InvalidFields` at
    all fields that are wrong, `PermissionDenied`, `ActionRefused`.
    """
    before = shown(row) if row.pk else None
    errors = {} if row.pk else _take_scope(row, values, person)
    if row.clusters:
        require_on(person, row.clusters)
    for name in SHOWN[Objective]:
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
        with transaction.atomic():
            write(row, before)
            # With another target the steps still say how much of the time was good.
            if before and before | {"target_percent": row.target_percent} != shown(row):
                row.steps.all().delete()
    except IntegrityError:
        text = f"There is such an objective of {row.scope}: change that one."
        raise InvalidFields({"flow" if row.flow_id else "topic_pattern": text}) from None
    return row


def _take_scope(row: Objective, values: Mapping[str, Any], person: User) -> dict[str, str]:
    """Put flow or cluster and the kind into a row; return what is wrong with them."""
    field = "flow" if values.get("flow") else "cluster"
    if bool(values.get("flow")) == bool(values.get("cluster")):
        return {"flow": "Select either a flow (RPO) or a cluster (availability of topics)."}
    row.kind = Kind.RPO if field == "flow" else Kind.AVAILABILITY
    return take(row, field, values[field], person)


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
    return errors | glob_problem("topic_pattern", row.topic_pattern)
