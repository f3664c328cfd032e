"""Where a cluster's metadata log is read: its brokers, and its controllers where they need other settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jobs.cluster.connection import Connection
from jobs.cluster.errors import InvalidFields
from jobs.cluster.settings_file import parse_settings, read_text

_CONTROLLERS = "controllers"
_FORM = "A connection is a mapping with alias and bootstrap_servers, and perhaps controllers."


@dataclass(frozen=True, slots=True)
class MetadataSource:
    """How the metadata log of a cluster is reached.

    `connection` leads to its brokers, or to its controllers. `controllers` leads to the listeners of the
    controllers where they need other credentials, or advertise what cannot be reached from here; None: they
    are found by DescribeQuorum (Kafka 3.9 and later) and reached like `connection`.
    """

    connection: Connection
    controllers: Connection | None = None

    @classmethod
    def from_mapping(cls, values: Mapping[str, object]) -> MetadataSource:
        """Read untrusted values: those of a `Connection`, and `controllers` with those that differ.

        Security is inherited as a whole: who gives a `security_protocol` there gives all that belongs to it.
        Raises `InvalidFields` naming every bad field.
        """
        rest = {name: value for name, value in values.items() if name != _CONTROLLERS}
        connection = Connection.from_mapping(rest)
        other = values.get(_CONTROLLERS)
        if other is None:
            return cls(connection)
        if not isinstance(other, Mapping):
            raise InvalidFields({_CONTROLLERS: "A mapping with bootstrap_servers is expected."})
        return cls(connection, _controllers(rest, other))


def read_source_file(path: Path) -> MetadataSource:
    """Read a source from YAML; raises `InvalidFields`, with the field `file` when it is no readable YAML."""
    return MetadataSource.from_mapping(parse_settings(read_text(path, "connection"), _FORM))


def _controllers(brokers: Mapping[str, object], values: Mapping[object, object]) -> Connection:
    own = {str(name): value for name, value in values.items()}
    if "security_protocol" in own:
        inherited = {name: brokers[name] for name in ("alias", "cluster_id") if name in brokers}
    else:
        inherited = dict(brokers)
    try:
        return Connection.from_mapping(inherited | own)
    except InvalidFields as error:
        found = {f"{_CONTROLLERS}.{name}": text for name, text in error.errors.items()}
        raise InvalidFields(found) from None
