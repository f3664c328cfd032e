"""Claims: one conditional UPDATE decides which process works on a row, and for how long."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet

# Longer than a task may take (`task_time_limit` in console/celery.py): only a dead process loses its claim.
CLAIM = timedelta(seconds=150)


def is_free(now: datetime, field: str = "claimed_until") -> Q:
    """Return the condition of rows that no process has claimed, or whose claim has ended."""
    return Q(**{field: None}) | Q(**{f"{field}__lt": now})


def take(rows: QuerySet[Any], now: datetime, claim: timedelta = CLAIM, **changes: Any) -> bool:
    """Claim the free rows, and write `changes` with the claim; False when another process has them."""
    return bool(rows.filter(is_free(now)).update(claimed_until=now + claim, **changes))
