"""What the audit trail report is built from."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Min, Q, QuerySet
from django.urls import reverse

from console.accounts.models import AuditEntry, Outcome
from console.accounts.queries import list_entries
from console.reports.kinds.asked import Asked
from jobs.reports.kinds.audit_trail import (
    NO_NAME,
    AuditCounts,
    AuditEntryRecorded,
    AuditTrailRecorded,
)

MOST_ENTRIES = 2000
MOST_SUBJECTS = 200
SIGN_IN = "sign-in"
_COUNTS = {one.value: Count("pk", filter=Q(outcome=one)) for one in Outcome}


def read(asked: Asked) -> AuditTrailRecorded:
    """Return what was recorded of the period."""
    period = asked.period
    begin = list_entries().aggregate(first=Min("at"))["first"]
    if begin is None or begin >= period.end:
        return AuditTrailRecorded(period, href=_page())
    rows = list_entries().filter(at__gte=period.start, at__lt=period.end).order_by()
    subjects = rows.values("subject").annotate(total=Count("pk"), **_COUNTS)
    people = rows.values("actor_name").annotate(**_COUNTS).order_by("actor_name")
    return AuditTrailRecorded(
        period,
        begin,
        AuditCounts("", **rows.aggregate(**_COUNTS)),
        tuple(_person(one) for one in people),
        tuple(_subject(one) for one in subjects.order_by("-total", "subject")[:MOST_SUBJECTS]),
        subjects.count(),
        AuditCounts(SIGN_IN, **rows.filter(action=SIGN_IN).aggregate(**_COUNTS)),
        tuple(_entries(rows)),
        _page(),
    )


def _person(row: dict[str, Any]) -> AuditCounts:
    name = row.pop("actor_name")
    return AuditCounts(name or NO_NAME, **row, href=_page(actor=name) if name else _page())


def _subject(row: dict[str, Any]) -> AuditCounts:
    counts = {one.value: row[one.value] for one in Outcome}
    return AuditCounts(row["subject"], **counts, href=_page(subject=row["subject"]))


def _entries(rows: QuerySet[AuditEntry]) -> list[AuditEntryRecorded]:
    """Return the newest entries, newest first; secrets were masked when they were written."""
    names = ("at", "actor_name", "token_name", "action", "subject", "outcome")
    found = rows.order_by("-at", "-pk").values_list(*names)[:MOST_ENTRIES]
    return [
        AuditEntryRecorded(at, person, token, action, subject, outcome, _page(subject=subject))
        for at, person, token, action, subject, outcome in found
    ]


def _page(**filters: str) -> str:
    """Return the page of the trail, which has no time range, with filters."""
    path = reverse("accounts:audit")
    return f"{path}?{urlencode(filters)}" if filters else path
