"""Service tokens: how a secret is made, and how a live token is found by it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from django.db.models import Q
from django.utils import timezone

from console.accounts.models import ServiceToken
from console.frame.brief_writes import write_or_leave

WORD = "crosslog"
# `last_used_at` is for people who look for tokens that nobody needs: a minute more or less is the same.
USED_EVERY = timedelta(minutes=1)


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
