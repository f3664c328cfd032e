"""Service tokens: how a secret is made and a live token found by it; making and revoking tokens.

A new secret is shown once. After a form the browser is sent on with a redirect, so that a reload makes no
second secret. The server keeps nothing: the secret travels in a signed cookie of this person and this page,
for a minute at most.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from console.accounts.audit import audit, change
from console.accounts.models import RIGHTS, ServiceToken, User
from console.clusters.models import Cluster
from console.frame.brief_writes import write_or_leave
from console.frame.security.access import visible
from jobs.cluster.errors import InvalidFields

WORD = "crosslog"
# `last_used_at` shows which tokens are unused: to the minute is enough.
USED_EVERY = timedelta(minutes=1)
_ROLES = [role for role, _ in RIGHTS]


@dataclass(frozen=True, slots=True)
class Secret:
    """A new token in full; only `prefix` and `digest` are kept."""

    text: str
    prefix: str
    digest: str


def new_secret() -> Secret:
    """Make a token: a word for scanners of leaked secrets, a short public name, 256 random bits."""
    prefix = secrets.token_hex(4)
    text = f"{WORD}_{prefix}_{secrets.token_urlsafe(32)}"
    return Secret(text, prefix, digest_of(text))


def digest_of(text: str) -> str:
    """Return the hash that is kept. A plain one is enough: 256 random bits cannot be guessed."""
    return sha256(text.encode()).hexdigest()


def find_token(text: str, now: datetime | None = None) -> ServiceToken | None:
    """Return the live token with this text, its owner ready to act through it; None for all others."""
    now = now or timezone.now()
    live = ServiceToken.objects.filter(revoked_at=None, expires_at__gt=now, owner__is_active=True)
    token = live.select_related("owner").filter(digest=digest_of(text)).first()
    if token is None:
        return None
    token.owner.acting_token = token
    unused = Q(last_used_at=None) | Q(last_used_at__lt=now - USED_EVERY)
    if token.last_used_at is None or token.last_used_at < now - USED_EVERY:
        row = ServiceToken.objects.filter(unused, pk=token.pk)
        write_or_leave("when a token was last used", lambda: row.update(last_used_at=now))
    return token


@change("token.create")
def create_token(values: Mapping[str, Any], owner: User) -> tuple[ServiceToken, str]:
    """Make a token of `name`, `role`, `days` and maybe `clusters` (aliases); return it and its secret.

    A token may name a role that its owner has only on some clusters, or gets later: at every use it
    opens no more than its owner may do then. Raises `InvalidFields`.
    """
    _check(values)
    clusters = _clusters(values.get("clusters") or (), owner)
    secret, now = new_secret(), timezone.now()
    with transaction.atomic():
        token = ServiceToken.objects.create(
            name=values["name"],
            prefix=secret.prefix,
            digest=secret.digest,
            owner=owner,
            role=values["role"],
            is_scoped=bool(clusters),
            created_at=now,
            expires_at=now + timedelta(days=values["days"]),
        )
        token.clusters.set(clusters)
        after = {
            "role": token.role,
            "clusters": [c.alias for c in clusters],
            "days": values["days"],
        }
        audit("token.create", subject_of(token), after=after)
    return token, secret.text


@change("token.revoke")
def revoke_token(token: ServiceToken) -> None:
    """End a token at once; again is the same as once."""
    live = ServiceToken.objects.filter(pk=token.pk, revoked_at=None)
    with transaction.atomic():
        if live.update(revoked_at=timezone.now()):
            audit("token.revoke", subject_of(token), after={"owner": token.owner.username})


def subject_of(token: ServiceToken) -> str:
    """Return the subject of a token in the audit log, without its secret."""
    return f"token:{token.name} ({token.prefix})"


def _check(values: Mapping[str, Any]) -> None:
    errors = {}
    if not str(values.get("name") or "").strip():
        errors["name"] = "Enter a name: the program that uses the token."
    if values.get("role") not in _ROLES:
        errors["role"] = f"One of {', '.join(_ROLES)}."
    days = values.get("days")
    if not isinstance(days, int) or not 1 <= days <= settings.TOKEN_DAYS:
        errors["days"] = f"From 1 to {settings.TOKEN_DAYS} days."
    if errors:
        raise InvalidFields(errors)


def _clusters(aliases: Collection[str], owner: User) -> list[Cluster]:
    found = list(visible(owner, Cluster.objects.filter(alias__in=aliases)))
    unknown = sorted(set(aliases) - {cluster.alias for cluster in found})
    if unknown:
        text = f"No cluster is registered under the alias {', '.join(unknown)}."
        raise InvalidFields({"clusters": text})
    return found


COOKIE = "crosslog_shown_once"
LASTS_S = 60


def redirect_with(request: HttpRequest, secret: str, page: str) -> HttpResponse:
    """Send the browser to `page`, which shows the secret."""
    response = redirect(page)
    response.set_signed_cookie(
        COOKIE,
        secret,
        salt=_salt(request, page),
        max_age=LASTS_S,
        path=page,
        httponly=True,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Strict",
    )
    return _not_kept(response)


def take_secret(request: HttpRequest) -> str:
    """Return the secret that this page is to show; empty when there is none."""
    salt = _salt(request, request.path)
    return str(request.get_signed_cookie(COOKIE, "", salt=salt, max_age=LASTS_S))


def after_showing(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Let the browser forget the secret, so that the next read of the page does not show it."""
    if COOKIE not in request.COOKIES:
        return response
    response.delete_cookie(COOKIE, path=request.path, samesite="Strict")
    return _not_kept(response)


def _salt(request: HttpRequest, page: str) -> str:
    user: Any = request.user
    return f"{COOKIE} {user.pk} {page}"


def _not_kept(response: HttpResponse) -> HttpResponse:
    response["Cache-Control"] = "no-store"
    return response
