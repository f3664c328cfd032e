"""Reads the entries of the audit log report."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Min, Q, QuerySet
from django.urls import reverse

from console.accounts.models import AuditEntry, Outcome
from console.accounts.queries import list_entries, names_of
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
    counts = rows.values("subject").annotate(total=Count("pk"), **_COUNTS)
    most = list(counts.order_by("-total", "subject")[:MOST_SUBJECTS])
    entries = _entries(rows)
    names = names_of({*(one["subject"] for one in most), *(one[4] for one in entries)})
    subjects = _subjects(most, names)
    people = rows.values("actor_name").annotate(**_COUNTS).order_by("actor_name")
    return AuditTrailRecorded(
        period,
        begin,
        AuditCounts("", **rows.aggregate(**_COUNTS)),
        tuple(_person(one) for one in people),
        subjects,
        counts.count() - len(most) + len(subjects),
        AuditCounts(SIGN_IN, **rows.filter(action=SIGN_IN).aggregate(**_COUNTS)),
        tuple(
            AuditEntryRecorded(
                at, person, token, action, names[subject], outcome, _page(subject=subject)
            )
            for at, person, token, action, subject, outcome in entries
        ),
        _page(),
    )


def _person(row: dict[str, Any]) -> AuditCounts:
    name = row.pop("actor_name")
    return AuditCounts(name or NO_NAME, **row, href=_page(actor=name) if name else _page())


def _subjects(rows: list[dict[str, Any]], names: dict[str, str]) -> tuple[AuditCounts, ...]:
    """Return the counts by name: runs of one title together."""
    found: dict[str, AuditCounts] = {}
    for row in rows:
        name = names[row["subject"]]
        other = found.get(name)
        counts = {one.value: row[one.value] + getattr(other, one.value, 0) for one in Outcome}
        href = _page() if other else _page(subject=row["subject"])
        found[name] = AuditCounts(name, **counts, href=href)
    return tuple(found.values())


def _entries(rows: QuerySet[AuditEntry]) -> list[Any]:
    """Return the newest entries, newest first; secrets were masked when they were written."""
    fields = ("at", "actor_name", "token_name", "action", "subject", "outcome")
    return list(rows.order_by("-at", "-pk").values_list(*fields)[:MOST_ENTRIES])


def _page(**filters: str) -> str:
    """Return the page of the audit log, which has no time range, with filters."""
    path = reverse("accounts:audit")
    return f"{path}?{urlencode(filters)}" if filters else path
