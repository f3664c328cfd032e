"""How to reach a cluster: typed fields from an allow-list, never free client configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TypeVar

from jobs.cluster.errors import InvalidFields, SecretMissing
from jobs.cluster.secrets import SecretRef
from jobs.cluster.untrusted_text import register_secret

_E = TypeVar("_E", bound=StrEnum)
_ALIAS = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_SERVER = re.compile(r"(?:[A-Za-z0-9]([A-Za-z0-9._-]{0,252})|\[[0-9A-Fa-f:]+\]):([0-9]{1,5})")


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


@dataclass(frozen=True, slots=True)
class Connection:
    """Everything that is needed to reach one cluster; secrets only as references.

    `cluster_id` is the id that was seen at registration; None means "not checked yet".
    """

    alias: str
    bootstrap_servers: str
    security_protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    sasl_mechanism: SaslMechanism | None = None
    sasl_username: str = ""
    sasl_password: SecretRef | None = None
    ssl_ca: SecretRef | None = None
    ssl_certificate: SecretRef | None = None
    ssl_key: SecretRef | None = None
    ssl_check_hostname: bool = True
    cluster_id: str | None = None

    @classmethod
    def from_mapping(cls, values: Mapping[str, object]) -> Connection:
        """Read a connection from untrusted values; raises `InvalidFields` naming every bad field."""
        errors = {
            name: f"{name} is not a connection setting of crosslog."
            for name in values
            if name not in _FIELDS
        }
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
            ssl_ca=read.secret("ssl_ca"),
            ssl_certificate=read.secret("ssl_certificate"),
            ssl_key=read.secret("ssl_key"),
            ssl_check_hostname=read.flag("ssl_check_hostname", default=True),
            cluster_id=read.text("cluster_id") or None,
        )
        errors |= {k: v for k, v in connection.problems().items() if k not in errors}
        if errors:
            raise InvalidFields(errors)
        return connection

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
        if (self.ssl_certificate is None) != (self.ssl_key is None):
            missing = "ssl_key" if self.ssl_key is None else "ssl_certificate"
            found[missing] = "A client certificate and its key are given together."
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
            config["sasl.username"] = self.sasl_username
            config["sasl.password"] = self._secret("sasl_password")
        if self.security_protocol.uses_tls:
            config |= self._tls_config()
        return config

    def _tls_config(self) -> dict[str, str | int | bool]:
        config: dict[str, str | int | bool] = {
            "ssl.endpoint.identification.algorithm": "https" if self.ssl_check_hostname else "none",
        }
        names = {
            "ssl_ca": "ssl.ca.pem",
            "ssl_certificate": "ssl.certificate.pem",
            "ssl_key": "ssl.key.pem",
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
            raise SecretMissing(f"{field}: {error}", cluster=self.alias, field=field) from None
        if field in _SECRET_FIELDS:
            register_secret(secret)
        return secret


_FIELDS = frozenset(field.name for field in fields(Connection))
# Certificates are public.
_SECRET_FIELDS = frozenset({"sasl_password", "ssl_key"})


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

    def flag(self, name: str, *, default: bool) -> bool:
        value = self.values.get(name, default)
        if isinstance(value, bool):
            return value
        self.errors[name] = "This must be true or false."
        return default
