"""Settings of topics and brokers on crosslog's own connections: DescribeConfigs, IncrementalAlterConfigs.

Source: KIP-226, KIP-339. Beside `jobs.cluster.admin.configs`, because actors do everything on connections of
their own, within one event loop.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import NamedTuple

from kio.schema.describe_configs.v4.request import DescribeConfigsRequest, DescribeConfigsResource
from kio.schema.incremental_alter_configs.v1.request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import Denied, Where, answer_fault
from jobs.cluster.protocol.transport.apis import DESCRIBE_CONFIGS, INCREMENTAL_ALTER_CONFIGS
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.primitives import int8
from jobs.cluster.read_only import refuse_when_read_only

TOPICS_PER_REQUEST = 200
_SET, _DELETE = 0, 1
# Source: org.apache.kafka.clients.admin.ConfigEntry.ConfigSource.
_DYNAMIC_TOPIC, _DYNAMIC_BROKER = 1, 2


class ResourceType(IntEnum):
    """What has settings. Source: org.apache.kafka.common.config.ConfigResource.Type."""

    TOPIC = 2
    BROKER = 4


class Resource(NamedTuple):
    """A topic by its name, or a broker by its id as text."""

    type: ResourceType
    name: str


@dataclass(frozen=True, slots=True)
class Setting:
    """The effective value of a setting; `is_own`: it is set on this resource itself, not inherited."""

    value: str | None
    is_own: bool


async def read_settings(
    cluster: RawCluster, resource: Resource, names: Collection[str]
) -> dict[str, Setting]:
    """Return these settings of a topic; raises `ClusterFault`. Those of a broker knows that broker alone."""
    return await cluster.ask_any(lambda connection: read_settings_at(connection, resource, names))


async def read_settings_at(
    connection: BrokerConnection, resource: Resource, names: Collection[str]
) -> dict[str, Setting]:
    """Return these settings as one broker has them, see `read_settings`; raises `ClusterFault`."""
    found = (await _settings_at(connection, [resource], names)).get(resource.name, {})
    if isinstance(found, ClusterFault):
        raise found
    return found


async def read_topic_settings(
    cluster: RawCluster, topics: Collection[str], names: Collection[str]
) -> dict[str, dict[str, Setting] | ClusterFault]:
    """Return these settings of each topic, or why they could not be read; raises `ClusterFault`."""
    found: dict[str, dict[str, Setting] | ClusterFault] = {}
    resources = [Resource(ResourceType.TOPIC, topic) for topic in sorted(set(topics))]
    for at in range(0, len(resources), TOPICS_PER_REQUEST):
        piece = resources[at : at + TOPICS_PER_REQUEST]
        found |= await cluster.ask_any(partial(_settings_at, resources=piece, names=names))
    return found


async def _settings_at(
    connection: BrokerConnection, resources: Sequence[Resource], names: Collection[str]
) -> dict[str, dict[str, Setting] | ClusterFault]:
    request = DescribeConfigsRequest(
        resources=tuple(
            DescribeConfigsResource(
                resource_type=int8(resource.type),
                resource_name=resource.name,
                configuration_keys=tuple(sorted(names)),
            )
            for resource in resources
        )
    )
    answer = await connection.request(DESCRIBE_CONFIGS, request)
    by_name = {resource.name: resource for resource in resources}
    found: dict[str, dict[str, Setting] | ClusterFault] = {}
    for result in answer.results:
        resource = by_name.get(result.resource_name)
        if resource is None:
            continue
        where = Where(connection.cluster, None, f"Reading settings of {_name(resource)}")
        fault = _fault(int(result.error_code), result.error_message, where, "DESCRIBE_CONFIGS")
        found[resource.name] = fault or {
            one.name: Setting(one.value, one.config_source in (_DYNAMIC_TOPIC, _DYNAMIC_BROKER))
            for one in result.configs
        }
    return found


async def change_settings(
    cluster: RawCluster, resource: Resource, wanted: Mapping[str, str | None]
) -> None:
    """Set some settings of a resource, and delete those that are None; all or none of them.

    Raises `ClusterFault`, `ReadOnly`.
    """
    refuse_when_read_only(cluster.alias, f"Changing settings of {_name(resource)}")
    request = IncrementalAlterConfigsRequest(
        resources=(
            AlterConfigsResource(
                resource_type=int8(resource.type),
                resource_name=resource.name,
                configs=tuple(
                    AlterableConfig(
                        name=name,
                        config_operation=int8(_DELETE if value is None else _SET),
                        value=value,
                    )
                    for name, value in wanted.items()
                ),
            ),
        ),
        validate_only=False,
    )

    async def send(connection: BrokerConnection) -> None:
        answer = await connection.request(INCREMENTAL_ALTER_CONFIGS, request)
        for one in answer.responses:
            where = Where(connection.cluster, None, f"Changing settings of {_name(resource)}")
            _raise(int(one.error_code), one.error_message, where, "ALTER_CONFIGS")

    await cluster.ask_any(send)


def _name(resource: Resource) -> str:
    return f"{resource.type.name.lower()} {resource.name}"


def _raise(error: int, said: str | None, where: Where, right: str) -> None:
    fault = _fault(error, said, where, right)
    if fault is not None:
        raise fault


def _fault(error: int, said: str | None, where: Where, right: str) -> ClusterFault | None:
    fault = answer_fault(error, where, said)
    if isinstance(fault, Denied):
        fault.hint = f"It needs the operation {right} on it."
    return fault
