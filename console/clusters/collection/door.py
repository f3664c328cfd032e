"""What a collection round asks of a cluster; tests use a fake of it in place of Kafka."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from jobs.cluster.admin import brokers, configs, groups, offsets, topics
from jobs.cluster.admin.configs import ConfigValue
from jobs.cluster.admin.groups import GroupListing, GroupOffsets, SharesRead
from jobs.cluster.admin.reassignments import Reassignment, list_reassignments
from jobs.cluster.capabilities.reader import read_versions
from jobs.cluster.capabilities.verdicts import ClusterVersions
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import (
    ClusterDescription,
    GroupDescription,
    OffsetRange,
    OpenTransaction,
    TopicDescription,
    TopicPartition,
)
from jobs.cluster.errors import ClusterFault

# The whole budget of one question; a round asks a handful of them.
TIMEOUT_S = 10.0


class ClusterDoor(Protocol):
    """Questions to one cluster, bounded in time; every one may raise `ClusterFault`."""

    def describe_cluster(self) -> ClusterDescription: ...

    def read_versions(self) -> ClusterVersions: ...

    def describe_topics(self) -> list[TopicDescription]: ...

    def list_reassignments(self) -> dict[TopicPartition, Reassignment]: ...

    def read_topic_configs(
        self, names: Collection[str], keys: Collection[str]
    ) -> dict[str, dict[str, ConfigValue]]: ...

    def read_offset_ranges(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, OffsetRange]: ...

    def read_open_transactions(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, OpenTransaction | ClusterFault | None]: ...

    def read_timestamp_at(
        self, offsets_of: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int | None]: ...

    def list_groups(self) -> GroupListing: ...

    def describe_groups(self, ids: Collection[str]) -> dict[str, GroupDescription]: ...

    def read_group_offsets(self, ids: Collection[str]) -> GroupOffsets: ...

    def read_shares(self, ids: Collection[str]) -> SharesRead: ...


OpenDoor = Callable[[Connection], AbstractContextManager[ClusterDoor]]


class KafkaDoor:
    """The real cluster: `jobs.cluster` with one client for all questions of a round."""

    def __init__(self, client: ClusterClient) -> None:
        self.client = client

    def describe_cluster(self) -> ClusterDescription:
        return brokers.describe_cluster(self.client)

    def read_versions(self) -> ClusterVersions:
        return read_versions(self.client)

    def describe_topics(self) -> list[TopicDescription]:
        return topics.describe_topics(self.client)

    def list_reassignments(self) -> dict[TopicPartition, Reassignment]:
        return self.client.ask("Listing reassignments", list_reassignments)

    def read_topic_configs(
        self, names: Collection[str], keys: Collection[str]
    ) -> dict[str, dict[str, ConfigValue]]:
        answers = configs.describe_topic_configs(self.client, names, keys)
        return {
            name: {k: v for k, v in answer.items() if v.value is not None}
            for name, answer in answers.items()
            if not isinstance(answer, ClusterFault)
        }

    def read_offset_ranges(
        self, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, OffsetRange]:
        return offsets.read_offset_ranges(self.client, partitions, with_timestamps=True)

    def read_open_transactions(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, OpenTransaction | ClusterFault | None]:
        return offsets.read_open_transactions(self.client, partitions)

    def read_timestamp_at(
        self, offsets_of: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int | None]:
        return offsets.read_timestamp_at(self.client, offsets_of)

    def list_groups(self) -> GroupListing:
        return groups.list_groups(self.client, every_type=True)

    def describe_groups(self, ids: Collection[str]) -> dict[str, GroupDescription]:
        return groups.describe_groups(self.client, ids)

    def read_group_offsets(self, ids: Collection[str]) -> GroupOffsets:
        return groups.read_group_offsets(self.client, ids)

    def read_shares(self, ids: Collection[str]) -> SharesRead:
        return groups.read_shares(self.client, ids)


@contextmanager
def open_kafka(connection: Connection) -> Iterator[ClusterDoor]:
    """Open the real cluster and close it."""
    with ClusterClient(connection, timeout_s=TIMEOUT_S) as client:
        yield KafkaDoor(client)
