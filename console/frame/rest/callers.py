"""Who asks, as a short text: what limits and keys belong to."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request


def caller_of(request: Request) -> str:
    """Return `token:7` for a service token, `user:12` for a person, `address:...` for nobody."""
    token: Any = request.auth
    if getattr(token, "pk", None) is not None:
        return f"token:{token.pk}"
    if getattr(request.user, "pk", None) is not None:
        return f"user:{request.user.pk}"
    return f"address:{request.META.get('REMOTE_ADDR', '')}"
