"""Service tokens at the API: `Authorization: Bearer crosslog_...`."""

from __future__ import annotations

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from console.accounts.models import ServiceToken, User
from console.accounts.tokens import find_token

_WORD = b"bearer"


class TokenAuthentication(BaseAuthentication):
    """Let a program in that shows a live token: as the token's owner, with the token's limits."""

    def authenticate(self, request: Request) -> tuple[User, ServiceToken] | None:
        """Return owner and token, None for other ways to sign in; raises for a token that is not live."""
        words = get_authorization_header(request).split()
        if not words or words[0].lower() != _WORD:
            return None
        token = find_token(words[1].decode("ascii", "replace")) if len(words) == 2 else None  # noqa: PLR2004  word and token
        if token is None:
            # The same words for unknown, expired and revoked: a guess learns nothing.
            raise AuthenticationFailed("This token is not valid, or not any more.")
        return token.owner, token

    def authenticate_header(self, request: Request) -> str:
        """Return the scheme for a 401."""
        return 'Bearer realm="crosslog"'


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # the library is untyped there
    """How the schema describes it."""

    target_class = TokenAuthentication
    name = "serviceToken"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        """Return the scheme as OpenAPI writes it."""
        return {"type": "http", "scheme": "bearer", "description": "A service token of crosslog."}
