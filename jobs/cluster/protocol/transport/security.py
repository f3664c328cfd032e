"""TLS and credentials of the copy engine's connections, from the same typed fields as everybody else's."""

from __future__ import annotations

import asyncio
import ssl
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jobs.cluster.connection import Connection
from jobs.cluster.errors import AuthenticationFailed, ClusterFault, Remedy, TlsFailed, Unreachable
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


@dataclass(frozen=True, slots=True)
class Credentials:
    """Who crosslog is: a SASL mechanism by Kafka's name, user and password (never shown).

    `tokens` says who crosslog is instead of them, with OAUTHBEARER.
    """

    mechanism: str
    user: str
    password: str = field(repr=False)
    tokens: TokenSource | None = None


@dataclass(frozen=True, slots=True)
class Security:
    """How a connection is secured; None: without TLS, without authentication."""

    tls: ssl.SSLContext | None = None
    credentials: Credentials | None = None


def security_of(connection: Connection) -> Security:
    """Resolve the secrets of a connection; raises `SecretMissing`, and `TlsFailed` for a bad PEM."""
    config = connection.client_config()
    protocol = connection.security_protocol
    credentials = None
    if protocol.uses_sasl:
        credentials = _credentials(connection, config)
    return Security(_context(connection, config) if protocol.uses_tls else None, credentials)


def _credentials(connection: Connection, config: Mapping[str, object]) -> Credentials:
    mechanism, user = str(config["sasl.mechanism"]), connection.sasl_username
    if not connection.uses_tokens:
        return Credentials(mechanism, user, str(config["sasl.password"]))
    secret = str(config["sasl.oauthbearer.client.secret"])
    url, scope = connection.sasl_oauthbearer_token_url, connection.sasl_oauthbearer_scope
    return Credentials(
        mechanism, user, secret, TokenSource(connection.alias, url, user, secret, scope)
    )


def _context(connection: Connection, config: Mapping[str, object]) -> ssl.SSLContext:
    """Make a context that verifies the broker against the given CA, or else the system's ones."""
    authorities = None
    if "ssl.ca.pem" in config:
        # Certificates are ASCII; what else a file says about them Python would not take.
        authorities = str(config["ssl.ca.pem"]).encode("ascii", "ignore").decode()
    if authorities is not None and not authorities.strip():
        # Python would take nothing for "the system's own".
        raise _not_pem(connection.alias, "ssl_ca")
    try:
        context = ssl.create_default_context(cadata=authorities)
    except (ssl.SSLError, ValueError):
        raise _not_pem(connection.alias, "ssl_ca") from None
    context.check_hostname = connection.ssl_check_hostname
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if "ssl.certificate.pem" in config:
        _present(context, connection.alias, config)
    return context


def _present(context: ssl.SSLContext, alias: str, config: Mapping[str, object]) -> None:
    """Give the context the client certificate, which Python takes from a file only.

    The file is readable for this user alone and gone again before this returns.
    """
    with tempfile.TemporaryDirectory(prefix="crosslog-") as folder:
        pem = Path(folder) / "client.pem"
        pem.touch(mode=0o600)
        pem.write_text(f"{config['ssl.certificate.pem']}\n{config['ssl.key.pem']}\n", "utf-8")
        try:
            # Without any password, OpenSSL would ask for that of an encrypted key at the terminal.
            context.load_cert_chain(pem, password=str(config.get("ssl.key.password", "")))
        except (ssl.SSLError, ValueError):
            raise _not_pem(alias, "ssl_certificate") from None


def _not_pem(alias: str, name: str) -> ClusterFault:
    fault = TlsFailed(
        f"{name} cannot be used.",
        cluster=alias,
        hint="The file behind the reference must be in PEM format; an encrypted key needs ssl_key_password.",
        field=name,
    )
    fault.remedy = Remedy.OPERATOR  # the same reference may lead to another text later
    return fault
