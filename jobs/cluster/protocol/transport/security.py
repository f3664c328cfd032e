"""TLS and credentials of the copy engine's connections, from the same typed fields as everybody else's."""

from __future__ import annotations

import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault, Remedy, TlsFailed
from jobs.cluster.protocol.transport.oauth import TokenSource


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
