"""What must hold of the settings of sign-in."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from console.accounts.models import Role


@register("crosslog")
def check_oidc(**_: Any) -> list[CheckMessage]:
    """Half of a set-up would only be noticed by the first person who signs in."""
    if not settings.OIDC_ISSUER:
        return []
    # Without OpenID Connect no process needs its libraries.
    from console.accounts.sign_in.oidc import role_words

    messages: list[CheckMessage] = []
    if not settings.OIDC_CLIENT_ID:
        hint = "The provider gave it when crosslog was registered there."
        messages.append(Error("OIDC_CLIENT_ID is missing.", hint=hint, id="crosslog.E010"))
    parts = urlsplit(settings.OIDC_ISSUER)
    if parts.scheme not in settings.OUTBOUND_SCHEMES or not parts.hostname or parts.username:
        hint = "An address like https://login.example.org/realms/main."
        messages.append(Error("OIDC_ISSUER cannot be called.", hint=hint, id="crosslog.E011"))
    roles = [settings.OIDC_DEFAULT_ROLE, *(role for _, role in role_words())]
    unknown = sorted({role for role in roles if role not in Role.values})
    if unknown or any(not word for word, _ in role_words()):
        hint = "OIDC_ROLES=crosslog-admins=admin,kafka-team=operator; roles: none to admin."
        text = f"OIDC_ROLES or OIDC_DEFAULT_ROLE cannot be read: {unknown or settings.OIDC_ROLES}"
        messages.append(Error(text, hint=hint, id="crosslog.E012"))
    if "openid" not in settings.OIDC_SCOPES.split():
        hint = "Leave it unset."
        messages.append(Error("OIDC_SCOPES has no openid.", hint=hint, id="crosslog.E013"))
    return messages
