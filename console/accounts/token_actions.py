"""Making and revoking service tokens."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from console.accounts.audit import audit, change
from console.accounts.models import RIGHTS, ServiceToken, User
from console.accounts.tokens import new_secret
from console.clusters.models import Cluster
from console.frame.security.access import visible
from jobs.cluster.errors import InvalidFields

_ROLES = [role for role, _ in RIGHTS]


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
    """Return how the trail calls a token: never by its secret."""
    return f"token:{token.name} ({token.prefix})"


def _check(values: Mapping[str, Any]) -> None:
    errors = {}
    if not str(values.get("name") or "").strip():
        errors["name"] = "Say what the token is for."
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
