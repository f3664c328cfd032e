"""Steps of objectives: written by the round of checks, removed when their time is over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import transaction

from console.findings.objectives.models import STEPS_KEPT_S, Objective, ObjectiveStep
from console.frame.series import upsert
from jobs.objectives.objective import Step


def save_steps(measured: Mapping[Objective, Sequence[Step]]) -> None:
    """Write steps over those with the same begin, unless an objective was changed or removed meanwhile."""
    with transaction.atomic():
        rows = Objective.objects.select_for_update(of=("self",)).filter(
            pk__in=[row.pk for row in measured]
        )
        now = dict(rows.order_by("pk").values_list("pk", "changed_at"))
        upsert(
            [
                ObjectiveStep(objective=row, at_s=one.at_s, good_s=one.good_s, bad_s=one.bad_s)
                for row, steps in measured.items()
                if now.get(row.pk) == row.changed_at
                for one in steps
            ]
        )


def prune(now: datetime) -> int:
    """Remove steps older than `STEPS_KEPT_S`; return how many."""
    limit = int(now.timestamp()) - STEPS_KEPT_S
    return ObjectiveStep.objects.filter(at_s__lt=limit).delete()[0]
