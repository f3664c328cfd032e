"""The life of findings: opened when they count, ended as soon as a round that judges them finds them over."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from console.quorum.models import MetadataLog, QuorumFinding
from jobs.severity import Severity

MOST_OPEN = 200
_FIELDS = ("severity", "rank", "sentence", "todo", "evidence", "last_seen_at")


@dataclass(frozen=True, slots=True)
class Found:
    """Something that was seen; `severity` is info, warning or critical.

    `since` is when it began (None: now, as far as is known), `ended` when it was over (None: it is not).
    """

    code: str
    severity: str
    sentence: str
    todo: str = ""
    subject: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    since: datetime | None = None
    ended: datetime | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What makes it the same finding in the next round."""
        return self.code, self.subject


def open_keys(log: MetadataLog) -> set[tuple[str, str]]:
    """Return code and subject of the open findings of a log."""
    return set(_open(log).values_list("code", "subject"))


def save_round(
    log: MetadataLog, found: Iterable[Found], now: datetime, codes: Collection[str] | None = None
) -> None:
    """Open, confirm and end findings; a constant number of statements.

    `codes` are the rules that were applied (None: all of them): what they no longer see ends. What was over
    before it was seen is kept as ended, once.
    """
    told = list(found)
    rows = {(row.code, row.subject): row for row in _open(log)}
    seen = {one.key: one for one in _worst((one for one in told if one.ended is None), rows)}
    opened = [_row(log, one, now) for key, one in seen.items() if key not in rows]
    kept = [_confirmed(row, seen[key], now) for key, row in rows.items() if key in seen]
    over = [row for key, row in rows.items() if key not in seen and _is_judged(row, codes)]
    past = [one for one in _worst(told, ()) if one.ended is not None]
    for row in over:
        row.closed_at = _end_of(row, past)
    with transaction.atomic():
        QuorumFinding.objects.bulk_create(opened)
        QuorumFinding.objects.bulk_update(kept, _FIELDS, batch_size=200)
        QuorumFinding.objects.bulk_update(over, ["closed_at"], batch_size=200)
        QuorumFinding.objects.bulk_create(_unkept(log, past))


def _end_of(row: QuorumFinding, past: Iterable[Found]) -> datetime:
    """Return when a finding was over: as the log says, else when it was last seen."""
    ends = (
        one.ended
        for one in past
        if one.key == (row.code, row.subject)
        and one.ended is not None
        and one.ended >= row.opened_at
    )
    return min(ends, default=row.last_seen_at)


def _unkept(log: MetadataLog, past: Collection[Found]) -> list[QuorumFinding]:
    """Return rows for ended findings that no kept one overlaps."""
    codes = {one.code for one in past}
    least = min((one.since for one in past if one.since), default=None)
    if least is None:
        return []
    rows = QuorumFinding.objects.filter(log=log, code__in=codes)
    rows = rows.filter(Q(closed_at=None) | Q(closed_at__gte=least))
    kept = list(rows.values_list("code", "subject", "opened_at", "closed_at"))
    found = []
    for one in past:
        if one.since is None or one.ended is None or any(_overlaps(one, *row) for row in kept):
            continue
        row = _row(log, one, one.ended)
        row.closed_at = one.ended
        found.append(row)
    return found


def _overlaps(
    one: Found, code: str, subject: str, opened_at: datetime, closed_at: datetime | None
) -> bool:
    if one.key != (code, subject) or one.since is None or one.ended is None:
        return False
    return opened_at <= one.ended and (closed_at is None or closed_at >= one.since)


def prune_findings(now: datetime) -> int:
    """Remove findings that ended more than FINDINGS_RETENTION_D days ago; return how many."""
    limit = now - timedelta(days=settings.FINDINGS_RETENTION_D)
    return QuorumFinding.objects.filter(closed_at__lt=limit).delete()[0]


def _open(log: MetadataLog) -> QuerySet[QuorumFinding]:
    return QuorumFinding.objects.filter(log=log, closed_at=None)


def _is_judged(row: QuorumFinding, codes: Collection[str] | None) -> bool:
    return codes is None or row.code in codes


def _worst(found: Iterable[Found], is_open: Container[tuple[str, str]]) -> list[Found]:
    """Return the findings that are kept: critical ones, and what is open, lest it end for want of room."""

    def place(one: Found) -> tuple[bool, int]:
        severity = Severity(one.severity)
        return severity is not Severity.CRITICAL and one.key not in is_open, -severity.rank

    return sorted(found, key=place)[:MOST_OPEN]


def _row(log: MetadataLog, one: Found, now: datetime) -> QuorumFinding:
    row = QuorumFinding(log=log, code=one.code, subject=one.subject)
    row.opened_at = min(one.since or now, now)
    return _confirmed(row, one, now)


def _confirmed(row: QuorumFinding, one: Found, now: datetime) -> QuorumFinding:
    row.severity, row.rank = one.severity, Severity(one.severity).rank
    row.sentence, row.todo = one.sentence, one.todo
    row.evidence = dict(one.evidence)
    row.last_seen_at = now
    return row
