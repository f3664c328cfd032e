"""The versions of Kafka that the room tries, and the tools that each version brought with it."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from jobs.lab.cluster import Cluster
from tests.live.kafka_tools import run

ACLS = "AclCommand"
DUMP = "DumpLogSegments"
GROUPS = "ConsumerGroupCommand"
LOG_DIRS = "LogDirsCommand"
QUORUM = "MetadataQuorumCommand"
TOPICS = "TopicCommand"


@dataclass(frozen=True)
class KafkaVersion:
    """A version with what its cluster runs on; `metadata` is its metadata.version, or its substitute."""

    kafka: str
    mode: str = "kraft"
    note: str = ""
    overrides: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        """Return the id of a test's parameter: `_split_scope` of the scheduler reads it, too."""
        parts = (self.kafka, "zookeeper" if self.has_zookeeper else "", self.note)
        return "_".join(part for part in parts if part)

    @property
    def number(self) -> tuple[int, ...]:
        return tuple(map(int, self.kafka.split(".")))

    @property
    def has_zookeeper(self) -> bool:
        return self.mode == "zookeeper"


BEHIND = {"inter.broker.protocol.version": "2.7"}
VERSIONS = (
    KafkaVersion("2.8.2", "zookeeper"),
    KafkaVersion("3.3.2"),
    KafkaVersion("3.6.2"),
    KafkaVersion("3.6.2", "zookeeper", "ibp2.7", BEHIND),
    KafkaVersion("3.9.1"),
    KafkaVersion("4.0.2"),
    KafkaVersion("4.3.1"),
)


def tool(cluster: Cluster, name: str, *arguments: str) -> str:
    """Run a tool of the cluster's own version against it; returns what it printed."""
    return run(cluster, tool_class(cluster.jvm.class_path, name), *arguments)


@cache
def tool_class(class_path: str, name: str) -> str:
    """Return where a version has the class of a tool: between 3.5 and 4.0 they moved."""
    for jar in class_path.split(os.pathsep):
        if Path(jar).name.startswith(("kafka_", "kafka-tools-")):
            with zipfile.ZipFile(jar) as content:
                for path in content.namelist():
                    if path.endswith(f"/{name}.class"):
                        return path.removesuffix(".class").replace("/", ".")
    raise AssertionError(f"no jar has {name}")


def having(
    *,
    zookeeper: bool | None = None,
    since: tuple[int, ...] = (),
    before: tuple[int, ...] = (9,),
) -> pytest.MarkDecorator:
    """Limit a test to versions: with or without a ZooKeeper, from a version on, before another one."""
    chosen = [
        one
        for one in VERSIONS
        if zookeeper in {None, one.has_zookeeper} and since <= one.number < before
    ]
    return pytest.mark.parametrize("cluster", chosen, ids=str, indirect=True, scope="session")
