"""Changes to accounts. Every change is in the audit log; secrets are returned once."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from django.contrib.auth import update_session_auth_hash
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest

from console.accounts.audit import audit, change
from console.accounts.models import ClusterGrant, Role, User
from console.accounts.sign_in import lockout
from console.clusters.models import Cluster
from console.frame.errors import ActionRefused
from jobs.cluster.errors import InvalidFields

FIRST_ADMIN = "admin"
_CHANGEABLE = ("role", "is_active")


def create_first_admin(password: str = "") -> str | None:
    """Create an admin with this password, else a random one, and return it.

    None when anybody has an account.
    """
    password = password or _new_password()
    with transaction.atomic():
        if User.objects.exists():
            return None
        person = User.objects.create_user(FIRST_ADMIN, password=password, role=Role.ADMIN)
        audit("person.create", subject_of(person), after={"role": person.role})
    return password


@change("person.create")
def create_person(values: Mapping[str, Any]) -> tuple[User, str]:
    """Create an account with a password for one sign-in; return both. Raises `InvalidFields`."""
    password = _new_password()
    person = User(
        username=values.get("username", ""),
        role=_role(values.get("role", Role.VIEWER)),
        must_change_password=True,
    )
    person.set_password(password)
    try:
        person.full_clean()
        with transaction.atomic():
            person.save(force_insert=True)
            audit("person.create", subject_of(person), after={"role": person.role})
    except ValidationError as invalid:
        raise InvalidFields({k: " ".join(v) for k, v in invalid.message_dict.items()}) from None
    except IntegrityError:
        raise InvalidFields({"username": "A user with this name already exists."}) from None
    return person, password


@change("person.change")
def change_person(person: User, values: Mapping[str, Any]) -> User:
    """Change role or `is_active`; raises `ActionRefused` when no administrator would remain."""
    unknown = sorted(set(values) - set(_CHANGEABLE))
    if unknown:
        raise InvalidFields(dict.fromkeys(unknown, "This cannot be changed here."))
    with transaction.atomic():
        row = User.objects.select_for_update().get(pk=person.pk)
        before = {name: getattr(row, name) for name in _CHANGEABLE}
        row.role = _role(values.get("role", row.role))
        row.is_active = bool(values.get("is_active", row.is_active))
        row.save(update_fields=list(_CHANGEABLE))
        if not User.objects.filter(role=Role.ADMIN, is_active=True).exists():
            raise ActionRefused(
                "last_admin",
                f"{row.username} is the last administrator. Make somebody else one first.",
            )
        after = {name: getattr(row, name) for name in _CHANGEABLE}
        audit("person.change", subject_of(row), before=before, after=after)
    return row


@change("person.grant")
def grant(person: User, alias: str, role: str) -> None:
    """Give a role on one cluster; an empty role removes it. Raises `InvalidFields`."""
    cluster = Cluster.objects.filter(alias=alias).first()
    if cluster is None:
        raise InvalidFields({"cluster": f"No cluster is registered under the alias {alias}."})
    if role and _role(role) == Role.NONE:
        raise InvalidFields({"role": "One of viewer, operator, admin."})
    with transaction.atomic():
        found = ClusterGrant.objects.filter(user=person, cluster=cluster)
        before = {"role": found.values_list("role", flat=True).first() or ""}
        if role:
            ClusterGrant.objects.update_or_create(
                user=person, cluster=cluster, defaults={"role": role}
            )
        else:
            found.delete()
        where = subject_of(person)
        audit("person.grant", where, before=before, after={"role": role}, cluster=alias)


@change("person.reset_password")
def reset_password(person: User) -> str:
    """Give a password for one sign-in, end all sessions of this person, and lift a lock."""
    if person.identity:
        raise ActionRefused(
            "signs_in_elsewhere", f"{person.username} signs in elsewhere and has no password here."
        )
    password = _new_password()
    with transaction.atomic():
        person.set_password(password)
        person.must_change_password = True
        person.save(update_fields=["password", "must_change_password"])
        lockout.unlock(person.username)
        audit("person.reset_password", subject_of(person))
    return password


@change("person.unlock")
def unlock_person(person: User) -> None:
    """Unlock an account after too many failed sign-ins."""
    if lockout.unlock(person.username):
        audit("person.unlock", subject_of(person))


@change("person.change_password")
def change_own_password(request: HttpRequest, person: User, password: str) -> None:
    """Set the password that somebody chose; this session stays, the others of this person end."""
    with transaction.atomic():
        person.set_password(password)
        person.must_change_password = False
        person.save(update_fields=["password", "must_change_password"])
        audit("person.change_password", subject_of(person))
    update_session_auth_hash(request, person)


def subject_of(person: User) -> str:
    """Return the subject of a user in the audit log."""
    return f"person:{person.get_username()}"


def _new_password() -> str:
    return secrets.token_urlsafe(15)


def _role(value: Any) -> Role:
    if value not in Role.values:
        raise InvalidFields({"role": f"{value!r} is not a role: none, viewer, operator, admin."})
    return Role(value)
