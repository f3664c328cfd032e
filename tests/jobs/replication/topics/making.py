"""Topics, settings and flows as values, for tests of what happens to remote topics."""

from collections.abc import Mapping
from typing import Any

from jobs.cluster.admin.configs import ConfigSource, ConfigValue
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import PartitionDescription, TopicDescription
from jobs.replication.flow.spec import FlowSpec

EAST = Connection("east", "127.0.0.1:9092")
WEST = Connection("west", "127.0.0.1:9192")
MISSING = "Describing topics: Unknown topic or partition (UNKNOWN_TOPIC_OR_PART)."


def flow(**settings: Any) -> FlowSpec:
    return FlowSpec("f", EAST, WEST, **settings)


def topic(name: str, partitions: int = 1, *, replicas: int = 1, error: str | None = None):
    described = tuple(
        PartitionDescription(p, 1, tuple(range(1, replicas + 1)), (1,)) for p in range(partitions)
    )
    return TopicDescription(name, "id", False, described, error)


def missing(name: str) -> TopicDescription:
    return topic(name, 0, error=MISSING)


def override(value: str) -> ConfigValue:
    return ConfigValue(value, ConfigSource.DYNAMIC_TOPIC_CONFIG)


def default(value: str) -> ConfigValue:
    return ConfigValue(value, ConfigSource.DEFAULT_CONFIG)


def static(value: str) -> ConfigValue:
    return ConfigValue(value, ConfigSource.STATIC_BROKER_CONFIG)


def dynamic_broker(value: str) -> ConfigValue:
    return ConfigValue(value, ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG)


def defaults(values: Mapping[str, str]) -> dict[str, ConfigValue]:
    return {key: default(value) for key, value in values.items()}
