"""Steps of objectives: written by the round of checks, removed when their time is over."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from console.findings.objectives.models import STEPS_KEPT_S, Objective, ObjectiveStep
from console.frame.series import upsert
from jobs.objectives.objective import Step


def save_steps(objective: Objective, steps: Iterable[Step]) -> None:
    """Write steps over those with the same begin, unless the objective was changed or removed meanwhile."""
    rows = [
        ObjectiveStep(
            objective=objective,
            at_s=one.at_s,
            good_s=one.good_s,
            bad_s=one.bad_s,
            unknown_s=one.unknown_s,
        )
        for one in steps
    ]
    with transaction.atomic():
        same = Objective.objects.select_for_update(of=("self",)).filter(
            pk=objective.pk, changed_at=objective.changed_at
        )
        if same.exists():
            upsert(rows)


def prune(now: datetime) -> int:
    """Remove steps older than `STEPS_KEPT_S`; return how many."""
    limit = int(now.timestamp()) - STEPS_KEPT_S
    return ObjectiveStep.objects.filter(at_s__lt=limit).delete()[0]
