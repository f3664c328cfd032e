"""Rows of findings: opened, confirmed and ended by rounds, removed when their time is over."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Model, Q

from console.findings.models import OF_CROSSLOG, OWNERS, Finding
from jobs import findings
from jobs.findings import Key, Life
from jobs.limits import CAUTIONS, SENTENCE, short

_FIELDS = (
    "severity", "rank", "topic", "partition", "brokers", "trouble", "cause", "sentence", "todo", "evidence",
)  # fmt: skip
_SUBJECT, _TOPIC = 600, 320
_BATCH = 500


class Applied(frozenset[str]):
    """The codes whose rules were applied, but to the `unjudged` subjects, which are (code, subject)."""

    unjudged: frozenset[Key] = frozenset()


def save(
    scope: Model | None,
    life: Life,
    found: Iterable[findings.Finding],
    now: datetime,
    judged: Container[str] | None = None,
    pending: Mapping[Key, datetime] | None = None,
) -> dict[Key, datetime]:
    """Open, confirm and end findings of a cluster, a flow or a metadata log; return those that are pending.

    Without a `scope` they are about crosslog itself.

    A constant number of statements.
    `judged` are the codes whose rules were applied (None: all); `Applied` has the subjects to which
    they were not. What was over before it was seen is kept as ended, once.
    """
    owner = OF_CROSSLOG if scope is None else {_field_of(scope): scope}
    mine = {"kind": life.kind, **owner}
    open_now = list(Finding.objects.filter(**mine, closed_at=None))
    told = [_within_limits(one) for one in found]
    left = judged.unjudged if isinstance(judged, Applied) else ()
    waiting = {(code, short(subject, _SUBJECT)) for code, subject in left}
    followed = [row for row in open_now if (row.code, row.subject) not in waiting]
    change = findings.follow(followed, pending or {}, told, judged, now, life)
    opened = [_row(mine, one, began, now) for one, began in change.opened]
    changed = [row for row, one in change.kept if _differs(row, one)]
    for row, one in change.kept:
        _confirmed(row, one, now)
    for row, ended in change.closed:
        row.closed_at = ended
    with transaction.atomic():
        # Two programs may judge the same cluster.
        Finding.objects.bulk_create(opened, ignore_conflicts=True)
        # Far fewer words than an UPDATE with a case for each row and field.
        Finding.objects.bulk_create(
            changed,
            batch_size=_BATCH,
            update_conflicts=True,
            unique_fields=["id"],
            update_fields=_FIELDS,
        )
        Finding.objects.bulk_update(
            [row for row, _ in change.closed], ["closed_at"], batch_size=_BATCH
        )
        _see([row.pk for row, _ in change.kept], len(open_now) - len(change.closed), mine, now)
        Finding.objects.bulk_create(_unkept(mine, change.past))
    return change.pending


def _see(kept: Sequence[int], open_count: int, mine: Mapping[str, Any], now: datetime) -> None:
    """Write that findings were confirmed: one statement, unless others wait for their end."""
    rows = Finding.objects.filter(**mine, closed_at=None)
    if len(kept) == open_count:
        rows.update(last_seen_at=now)
        return
    for start in range(0, len(kept), _BATCH):
        rows.filter(pk__in=kept[start : start + _BATCH]).update(last_seen_at=now)


def lead_to_incidents(pairs: Iterable[tuple[int, int]]) -> None:
    """Lead findings to incidents, given by their keys."""
    rows = [Finding(pk=pk, incident_id=incident) for pk, incident in pairs]
    Finding.objects.bulk_update(rows, ["incident"], batch_size=_BATCH)


def prune(now: datetime) -> int:
    """Remove findings that ended more than FINDINGS_RETENTION_D days ago; return how many."""
    limit = now - timedelta(days=settings.FINDINGS_RETENTION_D)
    return Finding.objects.filter(closed_at__lt=limit).delete()[0]


def _field_of(scope: Model) -> str:
    """Return the field of a finding that leads to what it belongs to."""
    fields = {Finding._meta.get_field(name).related_model: name for name in OWNERS}
    return fields[type(scope)]


def _unkept(mine: Mapping[str, Any], past: Iterable[findings.Finding]) -> list[Finding]:
    """Return rows for ended findings that no kept one overlaps."""
    spans = [(one, one.since, one.ended) for one in past if one.since and one.ended]
    if not spans:
        return []
    least = min(since for _, since, _ in spans)
    rows = Finding.objects.filter(
        Q(closed_at=None) | Q(closed_at__gte=least),
        **mine,
        code__in={str(one.code) for one, *_ in spans},
    )
    kept = list(rows.values_list("code", "subject", "opened_at", "closed_at"))
    return [
        _row(mine, one, since, ended, closed_at=ended)
        for one, since, ended in spans
        if not any(
            one.key == (code, subject)
            and opened_at <= ended
            and (closed_at is None or closed_at >= since)
            for code, subject, opened_at, closed_at in kept
        )
    ]


def _within_limits(one: findings.Finding) -> findings.Finding:
    """Return a finding whose texts fit a row: clients choose names of connectors and settings."""
    evidence = {
        short(name): short(value, SENTENCE) if isinstance(value, str) else value
        for name, value in list(one.evidence.items())[:CAUTIONS]
    }
    return replace(
        one,
        subject=short(one.subject, _SUBJECT),
        topic=short(one.topic, _TOPIC),
        sentence=short(one.sentence, SENTENCE),
        todo=short(one.todo, SENTENCE),
        evidence=evidence,
    )


def _row(
    mine: Mapping[str, Any],
    one: findings.Finding,
    opened_at: datetime,
    seen_at: datetime,
    **more: Any,
) -> Finding:
    code, subject = one.key
    row = Finding(**mine, code=code, subject=subject, opened_at=opened_at, **more)
    return _confirmed(row, one, seen_at)


def _differs(row: Finding, one: findings.Finding) -> bool:
    """Say whether a finding is not what its row has, but for the moment at which it was seen."""
    return (
        (row.severity, row.topic, row.partition, row.brokers, row.trouble, row.cause)
        != (one.severity.value, one.topic, one.partition, list(one.brokers), one.trouble, one.cause)
        or (row.sentence, row.todo) != (one.sentence, one.todo)
        or row.evidence != dict(one.evidence)
    )


def _confirmed(row: Finding, one: findings.Finding, now: datetime) -> Finding:
    row.severity, row.rank = one.severity.value, one.severity.rank
    row.topic, row.partition, row.brokers = one.topic, one.partition, list(one.brokers)
    row.trouble, row.cause = one.trouble, one.cause
    row.sentence, row.todo, row.evidence = one.sentence, one.todo, dict(one.evidence)
    row.last_seen_at = now
    return row
