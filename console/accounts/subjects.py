"""Subjects of audit entries by name: `run:UUID` is shown as `Run: Quorum history of east`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import QuerySet

from console.accounts.models import AuditEntry
from console.frame.pages.navigation import rooms_with

_NOUNS = {"person": "User", "report-run": "Report"}
_NAMES = ("name", "title")


def names_of(subjects: Collection[str]) -> dict[str, str]:
    """Return each subject as people read it; what was removed has its name from its own entries.

    A room answers in `console.<room>.navigation.audited()` which of its rows entries name by their key:
    `{"run": (rows, "title")}`.
    """
    found: dict[str, str] = {}
    by_key: set[str] = set()
    for kind, (rows, field) in _audited():
        keys = {one.partition(":")[2]: one for one in subjects if one.startswith(f"{kind}:")}
        known = [key for key in keys if _is_key(rows, key)]
        named = rows.filter(pk__in=known).values_list("pk", field)
        found |= {keys[str(key)]: name for key, name in named if str(key) in keys}
        by_key |= {*keys.values()}
    found |= _names_in_entries(by_key - found.keys())
    return {one: _labelled(one, found.get(one, "")) for one in subjects}


def _audited() -> Iterable[tuple[str, tuple[QuerySet[Any], str]]]:
    for room in rooms_with("navigation"):
        if hasattr(room, "audited"):
            yield from room.audited().items()


def _is_key(rows: QuerySet[Any], text: str) -> bool:
    try:
        rows.model._meta.pk.to_python(text)
    except ValidationError:
        return False
    return True


def _names_in_entries(subjects: Collection[str]) -> dict[str, str]:
    if not subjects:
        return {}
    entries = AuditEntry.objects.filter(subject__in=subjects).order_by("at")
    found = {}
    for subject, before, after in entries.values_list("subject", "before", "after"):
        values = {**(before or {}), **(after or {})}
        name = next((values[one] for one in _NAMES if values.get(one)), None)
        if name:
            found[subject] = str(name)
    return found


def _labelled(subject: str, name: str) -> str:
    kind, _, rest = subject.partition(":")
    if not rest:
        return subject
    noun = _NOUNS.get(kind) or kind.replace("-", " ").capitalize()
    return f"{noun}: {name or rest}"
