"""The columns of a row by which a change of its answer is held until it counts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from console.replication.checkpoints.models import Answer
from jobs.replication.checkpoints.obstacles import Readiness
from jobs.replication.checkpoints.readiness import Verdict
from jobs.replication.checkpoints.readiness_hold import Held, follow


def hold(row: Answer | None, verdict: Verdict, now: datetime) -> dict[str, Any]:
    """Return the columns that a verdict changes: the answer with its evidence only when it counts.

    `row` is what was written last; None: nothing was, or nobody has asked for long, so it counts at once.
    """
    after = follow(None if row is None else _held(row), verdict.readiness, now)
    columns: dict[str, Any] = {
        "found": after.found.value if after.found else "",
        "found_since": after.found_since,
        "differs_since": after.differs_since,
    }
    return {**columns, **answer_of(verdict)} if after.counts is verdict.readiness else columns


def answer_of(verdict: Verdict) -> dict[str, Any]:
    """Return the columns of an answer that counts."""
    evidence = [
        {
            "obstacle": each.obstacle.value,
            "readiness": each.readiness.value,
            "text": each.text,
            "hint": each.hint,
        }
        for each in verdict.evidence
    ]
    return {
        "readiness": verdict.readiness.value,
        "rank": verdict.readiness.rank,
        "evidence": evidence,
    }


def _held(row: Answer) -> Held:
    found = Readiness(row.found) if row.found else None
    return Held(Readiness(row.readiness), found, row.found_since, row.differs_since)
