"""What readers of MirrorMaker 2's configuration share: settings, values, and where they come from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import IPv6Address

ARROW = "->"
_NUMBER = re.compile(r"-?[0-9]{1,9}")
_ADDRESS = re.compile(r"(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)", re.ASCII)
# Of Helm, Jinja, envsubst, Kustomize: what a tool fills in before Kafka reads the file.
_PLACEHOLDER = re.compile(r"\{[^}]*\}|\$\([^)]*\)|<[^>]*>")
# What java.lang.String.trim takes away: a no-break space stays.
_BLANKS = "".join(map(chr, range(ord(" ") + 1)))
Pair = tuple[str, str]


class Form(StrEnum):
    """How a configuration is written."""

    PROPERTIES = "properties"
    CONNECT = "connect"
    STRIMZI = "strimzi"


class ExportForm(StrEnum):
    """What a configuration can be written as."""

    PROPERTIES = "properties"
    CONNECT = "connect"
    STRIMZI = "strimzi"
    CROSSLOG = "crosslog"


class ConnectorClass(StrEnum):
    """The three connectors of a flow, by the simple names of their classes."""

    SOURCE = "MirrorSourceConnector"
    CHECKPOINT = "MirrorCheckpointConnector"
    HEARTBEAT = "MirrorHeartbeatConnector"

    @property
    def full_name(self) -> str:
        """The value of `connector.class`."""
        return f"org.apache.kafka.connect.mirror.{self.value}"


class Kind(StrEnum):
    """How a value came about: written as it is, MirrorMaker 2's default, or by a rule."""

    KEY = "key"
    DEFAULT = "default"
    DERIVED = "derived"


@dataclass(frozen=True, slots=True)
class Entry:
    """A setting as it is written; the value of a secret is redacted already (`is_secret`).

    `line` counts from 1; None where a form has no lines to speak of. `path` is where the key is in
    a form with levels (JSON, YAML), else empty.
    """

    key: str
    value: str
    file: str
    line: int | None = None
    path: str = ""
    is_secret: bool = False

    @property
    def where(self) -> str:
        """File and line, for a person."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place} {self.path}".rstrip()


@dataclass(frozen=True, slots=True)
class Value:
    """An effective value, with the setting (None: a default) and the rule that it comes from."""

    value: str
    kind: Kind
    entry: Entry | None = None
    rule: str = ""

    @property
    def provenance(self) -> str:
        """The key that gave the value, or `default`."""
        if self.entry is not None:
            return self.entry.key
        if self.kind is Kind.DERIVED:
            return self.rule
        return f"default, {self.rule}" if self.rule else "default"

    @property
    def origin(self) -> str:
        """Where the value comes from, as a sentence part for a person."""
        if self.entry is None:
            return self.provenance
        place = f"{self.entry.where}: {self.entry.key}"
        return f"{place} ({self.rule})" if self.rule else place

    @property
    def is_secret(self) -> bool:
        """Whether the value is redacted."""
        return self.entry is not None and self.entry.is_secret


Config = Mapping[str, Value]


def written(entry: Entry) -> Value:
    """Return the value of a setting as it is written; `as_read` makes of it what its reader sees."""
    return Value(entry.value, Kind.KEY, entry)


def derived(entry: Entry, rule: str) -> Value:
    """Return a value that a rule makes of a setting."""
    return Value(entry.value, Kind.DERIVED, entry, rule)


def ruled(value: str, rule: str) -> Value:
    """Return a value that a rule makes of several settings, or of where something is."""
    return Value(value, Kind.DERIVED, None, rule)


def default(value: str, rule: str = "") -> Value:
    """Return a value that is not in a file."""
    return Value(value, Kind.DEFAULT, None, rule)


@dataclass(frozen=True, slots=True)
class Connector:
    """One connector with its effective configuration."""

    kind: ConnectorClass
    name: str
    config: Config

    def get(self, key: str) -> str:
        """Return an effective value; "" when there is none."""
        found = self.config.get(key)
        return "" if found is None else found.value

    def is_true(self, key: str) -> bool:
        """Return a flag as Kafka's ConfigDef reads it: in any case, without blanks around it."""
        return is_true(trim(self.get(key)))

    def patterns(self, key: str) -> list[str]:
        """Return a list as Kafka's ConfigDef reads it: split at every comma."""
        return split_list(self.get(key))


@dataclass(frozen=True, slots=True)
class MirrorFlow:
    """Source to target, as one file configures it.

    `is_enabled`: records are copied. `has_heartbeats`: heartbeats of this pair are written to the
    target. `worker` is None where it is not known (connectors of a separate Connect cluster).
    """

    source: str
    target: str
    file: str
    form: Form
    is_enabled: bool
    has_heartbeats: bool
    connectors: tuple[Connector, ...]
    worker: Config | None = None

    @property
    def name(self) -> str:
        """The flow as MirrorMaker 2 writes it."""
        return pair_name((self.source, self.target))

    def of(self, kind: ConnectorClass) -> list[Connector]:
        """Return the flow's connectors of a class: several may share the topics of one flow."""
        return [connector for connector in self.connectors if connector.kind is kind]

    def first(self, kind: ConnectorClass) -> Connector | None:
        """Return the flow's first connector of a class, None when there is none."""
        return next(iter(self.of(kind)), None)


@dataclass(frozen=True, slots=True)
class Deployment:
    """What one file says: its settings, its clusters, and the flows between them.

    `pairs` are those that something runs for. `flows` are those whose configuration was worked out:
    all that are enabled, and the others while there are few. `bootstrap` are the addresses by alias,
    where they are known.
    """

    file: str
    form: Form
    entries: tuple[Entry, ...]
    clusters: tuple[str, ...]
    pairs: tuple[Pair, ...]
    flows: tuple[MirrorFlow, ...]
    bootstrap: Mapping[str, Value] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


class Severity(StrEnum):
    """How bad a finding is: `info` is worth knowing and asks for nothing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a person should know about a configuration, and what to do about it.

    `flow` is empty when it is not about one; `where` is file, line and key.
    """

    code: str
    severity: Severity
    text: str
    do: str
    where: str = ""
    key: str = ""
    flow: str = ""

    @property
    def is_bad(self) -> bool:
        """Whether somebody has to do something."""
        return self.severity is not Severity.INFO


def finding_at(
    flow: MirrorFlow, at: tuple[str, Value], code: str, severity: Severity, text: str, do: str
) -> Finding:
    """Return a finding about an effective value of a flow, at the setting that gave it."""
    key, value = at
    where = flow.file if value.entry is None else value.entry.where
    name = key if value.entry is None else value.entry.key
    return Finding(code, severity, text, do, where, name, flow.name)


def pair_name(pair: Pair) -> str:
    """Return a flow as MirrorMaker 2 writes it."""
    return f"{pair[0]}{ARROW}{pair[1]}"


def trim(text: str) -> str:
    """Return a value as Kafka's ConfigDef reads it, which trims every type (ConfigDef.parseType)."""
    return text.strip(_BLANKS)


def split_list(text: str) -> list[str]:
    """Return the elements of a list, as Kafka's ConfigDef splits it."""
    return [trim(part) for part in trim(text).split(",")] if trim(text) else []


def address_problem(address: str) -> str | None:
    """Return why Kafka's clients do not take an address, as the end of a sentence; None: they take it.

    A listener name in front (`PLAINTEXT://host:9092`) is passed by. Source: Utils.getHost and getPort,
    ClientUtils.parseAndValidateAddresses. Names are not resolved.
    """
    match = _ADDRESS.fullmatch(address)
    if not address:
        return "is empty: there is a comma too many"
    if _PLACEHOLDER.search(address):
        return "holds a placeholder that nothing fills in"
    if match is None:
        return "is not of the form host:port" if ":" in address else "has no port"
    host, port = match[1], match[2].lstrip("0") or "0"
    if len(port) > len("65535") or not 0 < int(port) <= 65535:  # noqa: PLR2004  the range of ports
        return f"has the port {port}: ports are 1 to 65535"
    if not host:
        return "has no host"
    return (
        None
        if ":" not in host or _is_ipv6(host)
        else ("has a colon in its host: write [IPv6]:port, or LISTENER://host:port")
    )


def _is_ipv6(host: str) -> bool:
    try:
        IPv6Address(host)
    except ValueError:
        return False
    return True


def whole_number(text: str) -> int | None:
    """Return a number of at most nine digits; None for what is none, or larger."""
    text = trim(text)
    return int(text) if _NUMBER.fullmatch(text) else None


def is_true(text: str | None) -> bool:
    """Return a flag as java.lang.Boolean.parseBoolean reads it: blanks around it make it false."""
    return text is not None and text.lower() == "true"


def ordered_pairs(clusters: Iterable[str]) -> list[Pair]:
    """Return every source with every other target."""
    names = list(dict.fromkeys(clusters))
    return [(source, target) for source in names for target in names if source != target]
