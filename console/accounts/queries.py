"""Reads of users, tokens and the audit log."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import Prefetch, QuerySet

from console.accounts.models import AuditEntry, ClusterGrant, ServiceToken, User
from console.accounts.sign_in import lockout
from console.clusters.models import Cluster
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
