"""Settings of topics with their origin, and incremental changes of them (KIP-226, KIP-339)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._config import ConfigSource as ClientSource
from confluent_kafka.admin._resource import ResourceType

from jobs.cluster.admin.topics import CONFIGS_PER_REQUEST, chunks
from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import ClusterFault, TimedOut
from jobs.cluster.read_only import refuse_when_read_only


class ConfigSource(StrEnum):
    """Where a value comes from. Source: org.apache.kafka.clients.admin.ConfigEntry.ConfigSource."""

    DYNAMIC_TOPIC_CONFIG = "DYNAMIC_TOPIC_CONFIG"
    DYNAMIC_BROKER_CONFIG = "DYNAMIC_BROKER_CONFIG"
    DYNAMIC_DEFAULT_BROKER_CONFIG = "DYNAMIC_DEFAULT_BROKER_CONFIG"
    STATIC_BROKER_CONFIG = "STATIC_BROKER_CONFIG"
    DEFAULT_CONFIG = "DEFAULT_CONFIG"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """The effective value of a setting of a topic; None when it has none or is secret."""

    value: str | None
    source: ConfigSource = ConfigSource.DYNAMIC_TOPIC_CONFIG
    is_read_only: bool = False
    is_sensitive: bool = False

    @property
    def is_override(self) -> bool:
        """Whether the topic itself sets it."""
        return self.source is ConfigSource.DYNAMIC_TOPIC_CONFIG


@dataclass(frozen=True, slots=True)
class ConfigAlteration:
    """A setting of a topic to be set, or to be deleted so that the default holds (`value` None)."""

    key: str
    value: str | None


def describe_topic_configs(
    client: ClusterClient, names: Collection[str]
) -> dict[str, dict[str, ConfigValue] | ClusterFault]:
    """Return all settings of each topic, or why they could not be read."""
    answers = client.ask_all(
        chunks(sorted(set(names)), CONFIGS_PER_REQUEST),
        lambda admin, chunk, left: {
            resource.name: future
            for resource, future in admin.describe_configs(
                [ConfigResource(ResourceType.TOPIC, name) for name in chunk], request_timeout=left
            ).items()
        },
        "Reading topic settings",
        any_broker=True,
    )
    return {name: _configs(client, name, answers.get(name)) for name in names}


def alter_topic_configs(
    client: ClusterClient, wanted: Mapping[str, Sequence[ConfigAlteration]]
) -> dict[str, ClusterFault | None]:
    """Set and delete settings of topics; return why not per topic, None where all was done.

    A topic's alterations are done together or not at all; other settings are not touched.
    """
    refuse_when_read_only(client.connection.alias, "Changing topic settings")
    answers = client.ask_all(
        chunks(list(wanted.items()), CONFIGS_PER_REQUEST),
        lambda admin, chunk, left: {
            resource.name: future
            for resource, future in admin.incremental_alter_configs(
                [_resource(name, alterations) for name, alterations in chunk], request_timeout=left
            ).items()
        },
        "Changing topic settings",
        any_broker=True,
    )
    return {name: _fault(client, name, answers) for name in wanted}


def _configs(
    client: ClusterClient, name: str, answer: Any
) -> dict[str, ConfigValue] | ClusterFault:
    if isinstance(answer, ClusterFault):
        return answer
    if answer is None:
        return _no_time(client, name)
    return {key: _value(entry) for key, entry in answer.items()}


def _value(entry: Any) -> ConfigValue:
    number = getattr(entry.source, "value", entry.source)
    return ConfigValue(
        None if entry.is_sensitive else entry.value,
        _SOURCES.get(number, ConfigSource.UNKNOWN),
        bool(entry.is_read_only),
        bool(entry.is_sensitive),
    )


def _resource(name: str, alterations: Sequence[ConfigAlteration]) -> ConfigResource:
    entries = [
        ConfigEntry(
            alteration.key,
            # The client library wants a text also where Kafka ignores it.
            alteration.value or "",
            incremental_operation=(
                AlterConfigOpType.DELETE if alteration.value is None else AlterConfigOpType.SET
            ),
        )
        for alteration in alterations
    ]
    return ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)


def _fault(client: ClusterClient, name: str, answers: Mapping[str, Any]) -> ClusterFault | None:
    if name not in answers:
        return _no_time(client, name)
    answer = answers[name]
    return answer if isinstance(answer, ClusterFault) else None


def _no_time(client: ClusterClient, name: str) -> ClusterFault:
    return TimedOut(f"Settings of topic {name}: no time was left.", cluster=client.connection.alias)


_SOURCES: dict[Any, ConfigSource] = {
    ClientSource[source.name].value: source
    for source in ConfigSource
    if source is not ConfigSource.UNKNOWN
}
