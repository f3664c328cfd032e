"""Reads of users, tokens and the audit log."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Prefetch, QuerySet

from console.accounts.models import AuditEntry, ClusterGrant, ServiceToken, User
from console.accounts.sign_in import lockout
from console.clusters.models import Cluster
from console.frame.pages.navigation import rooms_with
from console.frame.security.access import can, visible


def list_people() -> QuerySet[User]:
    """Return everybody with their grants, in two queries."""
    grants = ClusterGrant.objects.select_related("cluster").order_by("cluster__alias")
    return User.objects.prefetch_related(Prefetch("cluster_grants", grants)).order_by("username")


def get_person(**by: Any) -> User | None:
    """Return one person; None when there is none."""
    return list_people().filter(**by).first()


def with_locks(people: Iterable[User], now: datetime) -> list[Any]:
    """Return people, each with `locked_until`; one query."""
    found: list[Any] = list(people)
    locks = lockout.locked_until([person.username for person in found], now)
    for person in found:
        person.locked_until = locks.get(person.username)
    return found


def list_tokens(user: User) -> QuerySet[ServiceToken]:
    """Return a person's tokens, and everybody's for an administrator."""
    tokens = ServiceToken.objects.select_related("owner").prefetch_related("clusters")
    return tokens if can(user, "administer") else tokens.filter(owner=user)


def list_tokens_of(person: User) -> QuerySet[ServiceToken]:
    """Return the tokens that one person owns."""
    return list_tokens(person).filter(owner=person)


def get_token(user: User, token_id: int) -> ServiceToken | None:
    """Return a token that this person may see; None when there is none."""
    return list_tokens(user).filter(pk=token_id).first()


def list_entries() -> QuerySet[AuditEntry]:
    return AuditEntry.objects.all()


def list_aliases(user: User) -> list[str]:
    """Return the aliases of the clusters that a person sees."""
    rows = visible(user, Cluster.objects.order_by("alias"))
    return list(rows.values_list("alias", flat=True))


# Subjects of entries are shown by name: `run:UUID` as `Run: Quorum history of east`.
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
