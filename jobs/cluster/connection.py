"""How to reach a cluster: typed fields from an allow-list, never free client configuration."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TypeVar
from urllib.parse import urlsplit

from jobs.cluster.errors import InvalidFields, SecretMissing
from jobs.cluster.network_addresses import parse_address, tells_credentials
from jobs.cluster.secrets import SecretRef
from jobs.cluster.untrusted_text import register_secret
from jobs.near_names import near_name

_E = TypeVar("_E", bound=StrEnum)
_ALIAS = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_SERVER = re.compile(r"(?:[A-Za-z0-9]([A-Za-z0-9._-]{0,252})|\[[0-9A-Fa-f:]+\]):([0-9]{1,5})")


_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})


class SecurityProtocol(StrEnum):
    """Kafka's `security.protocol`."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"

    @property
    def uses_sasl(self) -> bool:
        """Whether a user name and a secret are needed."""
        return self.name.startswith("SASL")

    @property
    def uses_tls(self) -> bool:
        """Whether the connection is encrypted."""
        return self.name.endswith("SSL")


class SaslMechanism(StrEnum):
    """The SASL mechanisms that crosslog speaks."""

    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"
    OAUTHBEARER = "OAUTHBEARER"


@dataclass(frozen=True, slots=True)
class Connection:
    """Everything that is needed to reach one cluster; secrets only as references.

    With OAUTHBEARER, user name and password are the client id and client secret for the token endpoint.
    `cluster_id` is the id that was seen at registration; None means "not checked yet".
    """

    alias: str
    bootstrap_servers: str
    security_protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    sasl_mechanism: SaslMechanism | None = None
    sasl_username: str = ""
    sasl_password: SecretRef | None = None
    sasl_oauthbearer_token_url: str = ""
    sasl_oauthbearer_scope: str = ""
    ssl_ca: SecretRef | None = None
    ssl_certificate: SecretRef | None = None
    ssl_key: SecretRef | None = None
    ssl_key_password: SecretRef | None = None
    ssl_check_hostname: bool = True
    cluster_id: str | None = None

    @classmethod
    def from_mapping(cls, values: Mapping[str, object]) -> Connection:
        """Read a connection from untrusted values; raises `InvalidFields` naming every bad field."""
        errors = {name: unknown_setting(name) for name in values if name not in _FIELDS}
        read = _Reader(values, errors)
        connection = cls(
            alias=read.alias(),
            bootstrap_servers=read.servers(),
            security_protocol=read.choice(
                "security_protocol", SecurityProtocol, SecurityProtocol.PLAINTEXT
            ),
            sasl_mechanism=read.optional_choice("sasl_mechanism", SaslMechanism),
            sasl_username=read.text("sasl_username"),
            sasl_password=read.secret("sasl_password"),
            sasl_oauthbearer_token_url=read.token_url("sasl_oauthbearer_token_url"),
            sasl_oauthbearer_scope=read.text("sasl_oauthbearer_scope"),
            ssl_ca=read.secret("ssl_ca"),
            ssl_certificate=read.secret("ssl_certificate"),
            ssl_key=read.secret("ssl_key"),
            ssl_key_password=read.secret("ssl_key_password"),
            ssl_check_hostname=read.flag("ssl_check_hostname", default=True),
            cluster_id=read.text("cluster_id") or None,
        )
        errors |= {k: v for k, v in connection.problems().items() if k not in errors}
        if errors:
            raise InvalidFields(errors)
        return connection

    @property
    def uses_tokens(self) -> bool:
        """Whether each login requests a token from an OAuth 2 server."""
        return self.sasl_mechanism is SaslMechanism.OAUTHBEARER

    def problems(self) -> dict[str, str]:
        """Return what does not fit together, by field."""
        found: dict[str, str] = {}
        if self.security_protocol.uses_sasl:
            if self.sasl_mechanism is None:
                found["sasl_mechanism"] = f"{self.security_protocol} needs a SASL mechanism."
            if not self.sasl_username:
                found["sasl_username"] = f"{self.security_protocol} needs a user name."
            if self.sasl_password is None:
                found["sasl_password"] = f"{self.security_protocol} needs a secret reference."
            if self.uses_tokens and not self.sasl_oauthbearer_token_url:
                found["sasl_oauthbearer_token_url"] = "OAUTHBEARER needs a token endpoint."  # noqa: S105  no secret
        if self.ssl_key_password is not None and self.ssl_key is None:
            found["ssl_key_password"] = "There is no client key that it could open."  # noqa: S105  no secret
        if (self.ssl_certificate is None) != (self.ssl_key is None):
            missing = "ssl_key" if self.ssl_key is None else "ssl_certificate"
            found[missing] = "A client certificate and its key are given together."
        return found

    def unused(self) -> dict[str, str]:
        """Return, by field, what is given and has no effect with this security protocol."""
        found: dict[str, str] = {}
        if not self.security_protocol.uses_sasl:
            text = f"{self.security_protocol} has no login: choose a SASL protocol, or leave this empty."
            found |= {name: text for name in _SASL_FIELDS if getattr(self, name)}
        if not self.security_protocol.uses_tls:
            text = f"{self.security_protocol} has no TLS: choose a protocol with SSL, or leave this empty."
            names = ("ssl_ca", "ssl_certificate", "ssl_key", "ssl_key_password")
            found |= {name: text for name in names if getattr(self, name)}
        return found

    def to_mapping(self) -> dict[str, object]:
        """Return the inverse of `from_mapping`: JSON values, references instead of secrets."""
        values: dict[str, object] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and value != "":
                values[field.name] = str(value) if not isinstance(value, bool) else value
        return values

    def client_config(self) -> dict[str, str | int | bool]:
        """Return librdkafka settings with secrets resolved; raises `SecretMissing`."""
        config: dict[str, str | int | bool] = {
            "bootstrap.servers": self.bootstrap_servers,
            "security.protocol": self.security_protocol.value,
        }
        if self.security_protocol.uses_sasl and self.sasl_mechanism is not None:
            config["sasl.mechanism"] = self.sasl_mechanism.value
            config |= self._token_config() if self.uses_tokens else self._password_config()
        if self.security_protocol.uses_tls:
            config |= self._tls_config()
        return config

    def _password_config(self) -> dict[str, str]:
        return {
            "sasl.username": self.sasl_username,
            "sasl.password": self._secret("sasl_password"),
        }

    def _token_config(self) -> dict[str, str]:
        config = {
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.client.id": self.sasl_username,
            "sasl.oauthbearer.client.secret": self._secret("sasl_password"),
            "sasl.oauthbearer.token.endpoint.url": self.sasl_oauthbearer_token_url,
        }
        if self.sasl_oauthbearer_scope:
            config["sasl.oauthbearer.scope"] = self.sasl_oauthbearer_scope
        if bundle := os.environ.get("REQUESTS_CA_BUNDLE"):
            config["https.ca.location"] = bundle
        return config

    def _tls_config(self) -> dict[str, str | int | bool]:
        config: dict[str, str | int | bool] = {
            "ssl.endpoint.identification.algorithm": "https" if self.ssl_check_hostname else "none",
        }
        names = {
            "ssl_ca": "ssl.ca.pem",
            "ssl_certificate": "ssl.certificate.pem",
            "ssl_key": "ssl.key.pem",
            "ssl_key_password": "ssl.key.password",
        }
        for field, option in names.items():
            if getattr(self, field) is not None:
                config[option] = self._secret(field)
        return config

    def _secret(self, field: str) -> str:
        reference: SecretRef | None = getattr(self, field)
        if reference is None:
            return ""
        try:
            secret = reference.resolve()
        except LookupError as error:
            hint = _WHERE[reference.source]
            raise SecretMissing(
                f"{field}: {error}.", cluster=self.alias, field=field, hint=hint
            ) from None
        if field in _SECRET_FIELDS:
            register_secret(secret)
        return secret


_FIELDS = frozenset(field.name for field in fields(Connection))
# Where a secret is put, by the source of its reference.
_WHERE = {
    "env": "Set the variable for all processes of crosslog, and start them again.",
    "file": "Put the file into the folder of secrets (CROSSLOG_SECRETS_DIR).",
}
_SASL_FIELDS = (
    "sasl_mechanism",
    "sasl_username",
    "sasl_password",
    "sasl_oauthbearer_token_url",
    "sasl_oauthbearer_scope",
)
# Certificates are public.
_SECRET_FIELDS = frozenset({"sasl_password", "ssl_key", "ssl_key_password"})
# Settings of Kafka's own clients and of librdkafka, and what is used here in their place.
_INSTEAD = {
    "bootstrap_servers": ("bootstrap.servers", "metadata.broker.list"),
    "security_protocol": ("security.protocol",),
    "sasl_mechanism": ("sasl.mechanism", "sasl.mechanisms"),
    "sasl_username, and sasl_password with a reference": (
        "sasl.username",
        "sasl.password",
        "sasl.jaas.config",
        "sasl.oauthbearer.client.id",
        "sasl.oauthbearer.client.secret",
    ),
    "sasl_oauthbearer_token_url": ("sasl.oauthbearer.token.endpoint.url",),
    "sasl_oauthbearer_scope": ("sasl.oauthbearer.scope",),
    "ssl_ca with a reference to a PEM text": (
        "ssl.ca.location",
        "ssl.ca.pem",
        "ssl.truststore.location",
        "ssl.truststore.certificates",
    ),
    "ssl_certificate with a reference to a PEM text": (
        "ssl.certificate.location",
        "ssl.certificate.pem",
        "ssl.keystore.location",
        "ssl.keystore.certificate.chain",
    ),
    "ssl_key with a reference to a PEM text": (
        "ssl.key.location",
        "ssl.key.pem",
        "ssl.keystore.key",
    ),
    "ssl_key_password with a reference": ("ssl.key.password", "ssl.keystore.password"),
    "ssl_check_hostname": (
        "enable.ssl.certificate.verification",
        "ssl.endpoint.identification.algorithm",
    ),
}
_INSTEAD_OF = {name: instead for instead, names in _INSTEAD.items() for name in names}


def unknown_setting(name: str) -> str:
    """Return the sentence for a setting that a connection does not have, with the one to use instead."""
    instead = _INSTEAD_OF.get(name.replace("_", ".")) or near_name(name, _FIELDS)
    hint = f" Use {instead}." if instead else ""
    return f"{name} is not a connection setting of crosslog.{hint}"


class _Reader:
    """Reads fields one by one and collects a sentence per bad field."""

    def __init__(self, values: Mapping[str, object], errors: dict[str, str]) -> None:
        self.values = values
        self.errors = errors

    def text(self, name: str) -> str:
        value = self.values.get(name)
        if value is None:
            return ""
        if not isinstance(value, str) or "\n" in value or "\x00" in value:
            self.errors[name] = "This must be one line of text."
            return ""
        return value.strip()

    def alias(self) -> str:
        value = self.text("alias")
        if not _ALIAS.fullmatch(value) and "alias" not in self.errors:
            self.errors["alias"] = (
                "An alias is 1 to 63 letters, digits, - or _ and starts with a letter or digit: "
                "it becomes part of topic names, where a dot would be taken for the separator."
            )
        return value

    def servers(self) -> str:
        value = self.text("bootstrap_servers")
        servers = [part.strip() for part in value.split(",") if part.strip()]
        if not servers and "bootstrap_servers" not in self.errors:
            self.errors["bootstrap_servers"] = "At least one host:port is needed."
        for server in servers:
            match = _SERVER.fullmatch(server)
            if match is None or not 0 < int(match[2]) < 65536:  # noqa: PLR2004  the range of ports
                self.errors["bootstrap_servers"] = f"{server!r} is not of the form host:port."
        return ",".join(servers)

    def choice(self, name: str, kind: type[_E], default: _E) -> _E:
        return self.optional_choice(name, kind) or default

    def optional_choice(self, name: str, kind: type[_E]) -> _E | None:
        value = self.text(name)
        if not value:
            return None
        try:
            return kind(value)
        except ValueError:
            self.errors[name] = f"One of {', '.join(kind)}."
            return None

    def secret(self, name: str) -> SecretRef | None:
        value = self.text(name)
        if not value:
            return None
        try:
            return SecretRef.parse(value)
        except InvalidFields as error:
            self.errors[name] = error.errors["secret"]
            return None

    def token_url(self, name: str) -> str:
        """Read a URL to which a secret is sent: https, or http to this machine."""
        value = self.text(name)
        if not value or name in self.errors:
            return ""
        try:
            url = urlsplit(value)
            is_good = bool(url.hostname) and not url.username and url.port != 0
        except ValueError:
            is_good = False
        if not is_good or url.scheme not in {"https", "http"}:
            self.errors[name] = "This must be the URL of a token endpoint, as https://HOST/PATH."
        elif url.scheme == "http" and url.hostname not in _THIS_MACHINE:
            self.errors[name] = "The client secret is sent there: the URL must begin with https://."
        elif _is_never_called(str(url.hostname)):
            self.errors[name] = "Clouds hand out credentials at this address: it is never called."
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        value = self.values.get(name, default)
        if isinstance(value, bool):
            return value
        self.errors[name] = "This must be true or false."
        return default


def _is_never_called(host: str) -> bool:
    try:
        return tells_credentials(parse_address(host))
    except ValueError:
        return False
