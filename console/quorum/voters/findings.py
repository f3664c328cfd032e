"""The life of findings: opened with the first round that sees them, ended by one that does not any more."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction

from console.quorum.models import RANKS, MetadataLog, QuorumFinding

# What is not seen for so long is over: a single round may miss a replica that is just fetching.
CLOSE_AFTER = timedelta(seconds=30)
MOST_OPEN = 200
_FIELDS = ("severity", "rank", "sentence", "todo", "evidence", "last_seen_at")


@dataclass(frozen=True, slots=True)
class Found:
    """Something that a round saw; `severity` is notice, warn, risk or crit."""

    code: str
    severity: str
    sentence: str
    todo: str = ""
    subject: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    since: datetime | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What makes it the same finding in the next round."""
        return self.code, self.subject


def save_round(
    log: MetadataLog, found: Iterable[Found], now: datetime, codes: Collection[str] | None = None
) -> None:
    """Open, confirm and end findings; a constant number of statements.

    `codes` are the rules that were applied (None: all of them): what they no longer see ends.
    """
    seen = {one.key: one for one in _worst(found)}
    rows = {(row.code, row.subject): row for row in _open(log)}
    opened = [_row(log, one, now) for key, one in seen.items() if key not in rows]
    kept = [_confirmed(row, seen[key], now) for key, row in rows.items() if key in seen]
    over = [
        row
        for key, row in rows.items()
        if key not in seen and _is_judged(row, codes) and now - row.last_seen_at >= CLOSE_AFTER
    ]
    for row in over:
        row.closed_at = row.last_seen_at
    with transaction.atomic():
        QuorumFinding.objects.bulk_create(opened)
        QuorumFinding.objects.bulk_update(kept, _FIELDS, batch_size=200)
        QuorumFinding.objects.bulk_update(over, ["closed_at"], batch_size=200)


def prune_findings(now: datetime) -> int:
    """Remove findings that ended more than FINDINGS_RETENTION_D days ago; return how many."""
    limit = now - timedelta(days=settings.FINDINGS_RETENTION_D)
    return QuorumFinding.objects.filter(closed_at__lt=limit).delete()[0]


def _open(log: MetadataLog) -> Iterable[QuorumFinding]:
    return QuorumFinding.objects.filter(log=log, closed_at=None)


def _is_judged(row: QuorumFinding, codes: Collection[str] | None) -> bool:
    return codes is None or row.code in codes


def _worst(found: Iterable[Found]) -> list[Found]:
    return sorted(found, key=lambda one: -RANKS[one.severity])[:MOST_OPEN]


def _row(log: MetadataLog, one: Found, now: datetime) -> QuorumFinding:
    row = QuorumFinding(log=log, code=one.code, subject=one.subject)
    row.opened_at = min(one.since or now, now)
    return _confirmed(row, one, now)


def _confirmed(row: QuorumFinding, one: Found, now: datetime) -> QuorumFinding:
    row.severity, row.rank = one.severity, RANKS[one.severity]
    row.sentence, row.todo = one.sentence, one.todo
    row.evidence = dict(one.evidence)
    row.last_seen_at = now
    return row
