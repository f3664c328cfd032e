"""Rights of what acts later: those of the request, within those at the time of the action.

Reports, schedules, runs, imports, failover runs, drills and promotions keep `rights_asked(user)` in a
field `asked_with` beside the field that names the person, and act as `acting(...)`.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from rest_framework.request import Request

from console.accounts.models import ServiceToken, User
from console.frame.errors import ActionRefused
from console.frame.security.access import Action, Rights, level_of, rights_of, role_of

Asked = Mapping[str, Any]
# What the API says of a field `stopped`.
STOPPED = "Why it no longer acts: the user or token that requested it lost the right. Empty while it acts."
_NEEDED: dict[Action, str] = {
    "own": "none",
    "view": "viewer",
    "operate": "operator",
    "administer": "admin",
}
NO_PERSON = "The user who requested this has no account any more."
_TIME = "%Y-%m-%d %H:%M UTC"


def rights_asked(user: Any) -> dict[str, Any]:
    """Return what is kept of a request: {"role", "clusters": {primary key: role}, "token": id or None}.

    `role` is the one everywhere. Without a user it is {}: crosslog itself asked.
    """
    if user is None:
        return {}
    rights, token = rights_of(user), getattr(user, "acting_token", None)
    clusters = {str(pk): role_of(level) for pk, level in rights.granted().items() if level}
    token_id = None if token is None else token.pk
    return {"role": role_of(rights.everywhere), "clusters": clusters, "token": token_id}


def acting(
    person: User | None,
    asked: Asked,
    action: Action = "view",
    clusters: Collection[int] | None = (),
) -> User:
    """Return the person with no more rights than the request had; raises `ActionRefused`: rights_ended.

    `clusters` are those on which the right is needed: none of them, everywhere; None, on any cluster.
    A row of an earlier release keeps no rights ({}): it has all those of its person.
    """
    why = _account_ended(person)
    token = _token_of(asked)
    if not why and asked.get("token") is not None:
        why = _token_ended(token)
    if why or person is None:
        raise ActionRefused("rights_ended", why)
    found: User = copy.copy(person)
    found.acting_token = token
    found.asked_rights = _rights_of_request(asked)
    if not _reaches(found, action, clusters):
        who, where = person.get_username(), f"{_NEEDED[action]} {_place(clusters)}"
        if _reaches(person, action, clusters):
            text = f"{who} requested this with rights that lack the role {where}."
        else:
            text = f"{who}, who requested this, no longer has the role {where}."
        raise ActionRefused("rights_ended", text)
    return found


def refuse_ended(
    person: User | None,
    asked: Asked,
    action: Action = "view",
    clusters: Collection[int] | None = (),
) -> None:
    """Raise `ActionRefused` (rights_ended) where something may not act any more.

    What crosslog itself asked, without a person, may.
    """
    if person is not None or asked:
        acting(person, asked, action, clusters)


def why_ended(
    person: User | None,
    asked: Asked,
    action: Action = "view",
    clusters: Collection[int] | None = (),
) -> str:
    """Return why something may not act any more; empty while it may. See `refuse_ended`."""
    try:
        refuse_ended(person, asked, action, clusters)
    except ActionRefused as refusal:
        return refusal.message
    return ""


def for_trail(person: User | None, asked: Asked) -> User | None:
    """Return the person with the token of the request, as the audit log names both; it may have ended."""
    if person is None:
        return None
    found: User = copy.copy(person)
    found.acting_token = _token_of(asked)
    return found


def _reaches(person: User, action: Action, clusters: Collection[int] | None) -> bool:
    rights = rights_of(person)
    return rights.reaches_any(action) if clusters is None else rights.reaches(action, clusters)


def _place(clusters: Collection[int] | None) -> str:
    if clusters is None:
        return "on any cluster"
    return "on its clusters" if clusters else "on all clusters"


def _account_ended(person: User | None) -> str:
    if person is None:
        return NO_PERSON
    if not person.is_active:
        return f"The account {person.get_username()}, which requested this, is disabled."
    if person.must_change_password:
        return f"{person.get_username()}, who requested this, must set a new password first."
    return ""


def _token_of(asked: Asked) -> ServiceToken | None:
    number = asked.get("token")
    return None if number is None else ServiceToken.objects.filter(pk=number).first()


def _token_ended(token: ServiceToken | None) -> str:
    if token is None:
        return "The token that requested this was removed."
    name = f"The token {token.name} ({token.prefix}), which requested this,"
    if token.revoked_at is not None:
        return f"{name} was revoked at {token.revoked_at:{_TIME}}."
    if token.expires_at <= timezone.now():
        return f"{name} expired at {token.expires_at:{_TIME}}."
    return ""


def _rights_of_request(asked: Asked) -> Rights | None:
    if not asked:
        return None
    clusters = {int(pk): level_of(role) for pk, role in asked["clusters"].items()}
    return Rights(level_of(asked["role"]), lambda: clusters)


def person_of(request: HttpRequest | Request) -> User | None:
    """Return who asks; None where no one has to sign in."""
    user: Any = request.user
    return user if user.is_authenticated else None
