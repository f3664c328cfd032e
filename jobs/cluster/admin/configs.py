"""Settings of topics and brokers: DescribeConfigs, IncrementalAlterConfigs (KIP-226, KIP-339)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import partial
from typing import NamedTuple, TypeAlias

from kio.schema.describe_configs.v4.request import DescribeConfigsRequest, DescribeConfigsResource
from kio.schema.incremental_alter_configs.v1.request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import Denied, Where, answer_fault
from jobs.cluster.protocol.pieces import Pieces
from jobs.cluster.protocol.transport.apis import DESCRIBE_CONFIGS, INCREMENTAL_ALTER_CONFIGS
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.connection_pool import METADATA
from jobs.cluster.protocol.transport.primitives import int8
from jobs.cluster.read_only import refuse_when_read_only

RESOURCES_PER_REQUEST = 200
_READING, _CHANGING = "Reading topic settings", "Changing topic settings"
_SET, _DELETE = 0, 1


class ConfigSource(StrEnum):
    """Where a value comes from. Source: org.apache.kafka.clients.admin.ConfigEntry.ConfigSource."""

    DYNAMIC_TOPIC_CONFIG = "DYNAMIC_TOPIC_CONFIG"
    DYNAMIC_BROKER_CONFIG = "DYNAMIC_BROKER_CONFIG"
    DYNAMIC_DEFAULT_BROKER_CONFIG = "DYNAMIC_DEFAULT_BROKER_CONFIG"
    STATIC_BROKER_CONFIG = "STATIC_BROKER_CONFIG"
    DEFAULT_CONFIG = "DEFAULT_CONFIG"
    UNKNOWN = "UNKNOWN"


# By the codes of DescribeConfigs, from 1.
_SOURCES = tuple(ConfigSource)[:5]


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """The effective value of a setting; None when it has none or is secret."""

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


class ResourceType(IntEnum):
    """What has settings. Source: org.apache.kafka.common.config.ConfigResource.Type."""

    TOPIC = 2
    BROKER = 4


class Resource(NamedTuple):
    """A topic by its name, or a broker by its id as text."""

    type: ResourceType
    name: str

    def __str__(self) -> str:
        return f"{self.type.name.lower()} {self.name}"


Configs: TypeAlias = dict[str, ConfigValue]


def describe_topic_configs(
    client: ClusterClient, names: Collection[str], keys: Collection[str] | None = None
) -> dict[str, Configs | ClusterFault]:
    """Return these settings (None: all) of each topic, or why they could not be read."""
    return client.ask(
        _READING, lambda cluster: read_topic_configs_of(cluster, names, keys, client.timeout_s)
    )


def read_topic_configs(
    client: ClusterClient, names: Collection[str], keys: Collection[str]
) -> dict[str, dict[str, str]]:
    """Return the effective values of some settings per topic.

    A topic whose settings could not be read is absent; a value that is not set or is secret, too.
    """
    return {
        name: {key: one.value for key, one in answer.items() if one.value is not None}
        for name, answer in describe_topic_configs(client, names, keys).items()
        if not isinstance(answer, ClusterFault)
    }


def alter_topic_configs(
    client: ClusterClient, wanted: Mapping[str, Sequence[ConfigAlteration]]
) -> dict[str, ClusterFault | None]:
    """Set and delete settings of topics; return why not per topic, None where all was done.

    A topic's alterations are done together or not at all; other settings are not touched.
    """
    refuse_when_read_only(client.connection.alias, _CHANGING)
    topics = {Resource(ResourceType.TOPIC, name): own for name, own in wanted.items()}
    pieces: Pieces[Resource, None] = Pieces(
        _CHANGING, partial(_alter, topics), RESOURCES_PER_REQUEST, is_change=True
    )
    found = client.ask(_CHANGING, lambda cluster: pieces.ask(cluster, topics, client.timeout_s))
    return {resource.name: answer for resource, answer in found.items()}


async def read_configs(cluster: RawCluster, resource: Resource, keys: Collection[str]) -> Configs:
    """Return these settings of a topic; raises `ClusterFault`. Those of a broker knows that broker alone."""
    return await cluster.ask_any(lambda connection: read_configs_at(connection, resource, keys))


async def read_configs_at(
    connection: BrokerConnection, resource: Resource, keys: Collection[str]
) -> Configs:
    """Return these settings as one broker has them, see `read_configs`; raises `ClusterFault`."""
    found = (await _described(keys, connection, [resource])).get(resource, {})
    if isinstance(found, ClusterFault):
        raise found
    return found


async def read_topic_configs_of(
    cluster: RawCluster,
    topics: Collection[str],
    keys: Collection[str] | None,
    budget_s: float = 30.0,
) -> dict[str, Configs | ClusterFault]:
    """Return these settings (None: all) of each topic, or why not; raises `ClusterFault`."""
    pieces: Pieces[Resource, Configs] = Pieces(
        _READING, partial(_described, keys), RESOURCES_PER_REQUEST
    )
    resources = [Resource(ResourceType.TOPIC, name) for name in sorted(set(topics))]
    found = await pieces.ask(cluster, resources, budget_s)
    return {resource.name: answer for resource, answer in found.items()}


async def alter_configs(
    cluster: RawCluster, resource: Resource, wanted: Mapping[str, str | None]
) -> None:
    """Set some settings of a resource, and delete those that are None; all or none of them.

    Raises `ClusterFault`, `ReadOnly`.
    """
    refuse_when_read_only(cluster.alias, f"Changing settings of {resource}")
    alterations = [ConfigAlteration(key, value) for key, value in wanted.items()]

    async def send(connection: BrokerConnection) -> None:
        fault = (await _alter({resource: alterations}, connection, [resource])).get(resource)
        if fault is not None:
            raise fault

    if resource.type is ResourceType.BROKER:
        # No other broker takes them.
        await send(await cluster.connection_to(int(resource.name), METADATA))
    else:
        await cluster.ask_controller(send)


async def _described(
    keys: Collection[str] | None, connection: BrokerConnection, resources: Sequence[Resource]
) -> dict[Resource, Configs | ClusterFault]:
    names = None if keys is None else tuple(sorted(keys))
    request = DescribeConfigsRequest(
        resources=tuple(
            DescribeConfigsResource(
                resource_type=int8(resource.type),
                resource_name=resource.name,
                configuration_keys=names,
            )
            for resource in resources
        )
    )
    answer = await connection.request(DESCRIBE_CONFIGS, request)
    found: dict[Resource, Configs | ClusterFault] = {}
    for result in answer.results:
        resource = Resource(ResourceType(result.resource_type), result.resource_name)
        where = Where(connection.cluster, None, f"Reading settings of {resource}")
        fault = _fault(result.error_code, result.error_message, where, "DESCRIBE_CONFIGS")
        found[resource] = fault or {
            one.name: ConfigValue(
                None if one.is_sensitive else one.value,
                _source(one.config_source),
                one.read_only,
                one.is_sensitive,
            )
            for one in result.configs
        }
    return found


async def _alter(
    wanted: Mapping[Resource, Sequence[ConfigAlteration]],
    connection: BrokerConnection,
    resources: Sequence[Resource],
) -> dict[Resource, ClusterFault | None]:
    request = IncrementalAlterConfigsRequest(
        resources=tuple(
            AlterConfigsResource(
                resource_type=int8(resource.type),
                resource_name=resource.name,
                configs=tuple(
                    AlterableConfig(
                        name=one.key,
                        config_operation=int8(_DELETE if one.value is None else _SET),
                        value=one.value,
                    )
                    for one in wanted[resource]
                ),
            )
            for resource in resources
        ),
        validate_only=False,
    )
    answer = await connection.request(INCREMENTAL_ALTER_CONFIGS, request)
    found: dict[Resource, ClusterFault | None] = {}
    for one in answer.responses:
        resource = Resource(ResourceType(one.resource_type), one.resource_name)
        where = Where(connection.cluster, None, f"Changing settings of {resource}")
        found[resource] = _fault(one.error_code, one.error_message, where, "ALTER_CONFIGS")
    return found


def _source(code: int) -> ConfigSource:
    return _SOURCES[code - 1] if 0 < code <= len(_SOURCES) else ConfigSource.UNKNOWN


def _fault(error: int, said: str | None, where: Where, right: str) -> ClusterFault | None:
    fault = answer_fault(error, where, said)
    if isinstance(fault, Denied):
        fault.hint = f"It needs the operation {right} on it."
    return fault
