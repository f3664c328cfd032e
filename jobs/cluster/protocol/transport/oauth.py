"""Tokens of an OAuth 2 server for SASL OAUTHBEARER, for client credentials (KIP-768, RFC 6749)."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from jobs.cluster.errors import AuthenticationFailed, ClusterFault, Unreachable
from jobs.cluster.untrusted_text import register_secret, shortened

ANSWER_S = 8.0
# Of a token's lifetime: after that a new connection gets a new one.
_SHARE = 0.8
_FIELD = "sasl_oauthbearer_token_url"


@dataclass(slots=True)
class TokenSource:
    """A token endpoint, and the token that it gave last; `client_secret` and token are never shown."""

    cluster: str
    url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str = ""
    _token: str = field(default="", repr=False)
    _good_until: float = 0.0

    async def token(self) -> str:
        """Return a token that is good for some time; raises `AuthenticationFailed`, `Unreachable`."""
        if time.monotonic() >= self._good_until:
            asked_at = time.monotonic()
            self._token, lifetime_s = await asyncio.to_thread(self._ask)
            self._good_until = asked_at + _SHARE * lifetime_s
        return self._token

    def _ask(self) -> tuple[str, float]:
        # Heavy, and few clusters need it.
        import requests
        from authlib.common.errors import AuthlibBaseError
        from authlib.integrations.requests_client import OAuth2Session

        register_secret(self.client_secret)
        session = OAuth2Session(self.client_id, self.client_secret, scope=self.scope or None)
        try:
            answer = session.fetch_token(
                self.url,
                grant_type="client_credentials",
                timeout=ANSWER_S,
                # A secret goes where the settings say, and nowhere else.
                allow_redirects=False,
            )
            token, lifetime_s = str(answer["access_token"]), float(answer.get("expires_in", 0))
        except AuthlibBaseError as error:
            raise self._refused(error.description or error.error or "no reason given") from None
        except requests.RequestException as error:
            if isinstance(error, requests.HTTPError):
                raise self._refused(str(error)) from None
            is_tls = isinstance(error, requests.exceptions.SSLError)
            raise self._unreachable(error, is_tls=is_tls) from None
        except (KeyError, TypeError, ValueError):
            raise self._refused("its answer is not a token") from None
        finally:
            session.close()
        register_secret(token)
        return token, lifetime_s

    def _refused(self, reason: str) -> ClusterFault:
        return AuthenticationFailed(
            f"The token endpoint {self.url} gave no token ({shortened(reason)}).",
            cluster=self.cluster,
            hint="Check the client id, the secret behind the reference, the scope and the URL.",
        )

    def _unreachable(self, error: Exception, *, is_tls: bool) -> ClusterFault:
        reason = (
            "its certificate is not trusted: REQUESTS_CA_BUNDLE names other authorities"
            if is_tls
            else type(error).__name__
        )
        return Unreachable(
            f"The token endpoint {self.url} cannot be reached ({reason}).",
            cluster=self.cluster,
            field=_FIELD,
        )
