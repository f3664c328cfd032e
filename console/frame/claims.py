"""Claims: one conditional UPDATE decides which process works on a row, and for how long.

A claim is its `claimed_until`: no two processes get the same one. A job that lost its claim writes no end:
`owned`, `renew` and `release` compare it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet

from console.frame.errors import ActionRefused
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.logs import own_fault

logger = logging.getLogger(__name__)

# Longer than a task may take (`task_time_limit` in console/celery.py): only a dead process loses its claim.
CLAIM = timedelta(seconds=150)
_EXPLAINED: tuple[type[Exception], ...] = (ActionRefused, ClusterFault, InvalidFields)
Row = TypeVar("Row", bound=Model)


class ClaimLost(Exception):
    """Another process has the row now: it writes how the job ends."""


def is_free(now: datetime, field: str = "claimed_until") -> Q:
    """Return the condition of rows that no process has claimed, or whose claim has ended."""
    return Q(**{field: None}) | Q(**{f"{field}__lt": now})


def is_due_before(at: datetime, every: timedelta) -> Q:
    """Return the condition of rows that were due before a moment.

    An unclaimed one is due so long after its end.
    """
    unclaimed = Q(claimed_until=None, finished_at__lt=at - every)
    return Q(claimed_until__lt=at) | unclaimed


def take(rows: QuerySet[Any], now: datetime, claim: timedelta = CLAIM, **changes: Any) -> bool:
    """Claim the free rows, and write `changes` with the claim; False when another process has them."""
    return bool(rows.filter(is_free(now)).update(claimed_until=now + claim, **changes))


def take_one(
    rows: QuerySet[Row], now: datetime, claim: timedelta = CLAIM, **changes: Any
) -> Row | None:
    """Claim the first free row, and return it with `changes`; None when there is none."""
    for row in rows.filter(is_free(now)):
        if take(rows.filter(pk=row.pk), now, claim, **changes):
            row.refresh_from_db()
            return row
    return None


def owned(row: Any) -> QuerySet[Any]:
    """Return the query of a row, empty as soon as another process has claimed or ended it."""
    rows: QuerySet[Any] = type(row)._default_manager
    return rows.filter(pk=row.pk, claimed_until=row.claimed_until)


def renew(row: Any, now: datetime, claim: timedelta = CLAIM) -> None:
    """Claim an owned row for longer; raises `ClaimLost`."""
    if not owned(row).update(claimed_until=now + claim):
        raise ClaimLost
    row.claimed_until = now + claim


def release(row: Model, **changes: Any) -> bool:
    """End the claim of an owned row, and write `changes`; False when the claim is lost or has ended."""
    return bool(owned(row).update(claimed_until=None, **changes))


@contextmanager
def ending(
    row: Any,
    doing: str,
    fail: Callable[[str, Exception], object] | None = None,
    *expected: type[Exception],
    **failed: Any,
) -> Iterator[None]:
    """End a job that raises, with a sentence for people: by `fail`, else by `failed` and its `error`.

    Refusals, faults of clusters and `expected` have a sentence. All others are faults of the program, and
    logged; `doing` names the work in their sentence ("reading").
    """
    job = f"{row._meta.label} {row.pk}"
    end = fail or (lambda problem, _: release(row, error=problem, **failed))
    try:
        yield
    except ClaimLost:
        logger.warning("claim lost job=%s", job)
    except (*_EXPLAINED, *expected) as error:
        end(f"{error} {getattr(error, 'hint', '')}".strip(), error)
    except Exception as error:
        logger.exception("job broke job=%s", job)
        end(own_fault(doing), error)
