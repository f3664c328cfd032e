"""What a collection round requests of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial

from jobs.cluster.admin import brokers, configs, groups, log_dirs, offsets, topics
from jobs.cluster.admin.configs import ConfigValue
from jobs.cluster.admin.groups import GroupListing, GroupOffsets, SharesRead
from jobs.cluster.admin.log_dirs import BrokerLogs
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

# The whole budget of one request; a round has a handful of them.
TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class ClusterRequests:
    """Requests to one cluster over one connection, bounded in time; each may raise `ClusterFault`."""

    describe_cluster: Callable[[], ClusterDescription]
    read_versions: Callable[[], ClusterVersions]
    read_log_dirs: Callable[[Collection[int]], Mapping[int, BrokerLogs | ClusterFault]]
    describe_topics: Callable[[], list[TopicDescription]]
    list_reassignments: Callable[[], dict[TopicPartition, Reassignment]]
    read_topic_configs: Callable[
        [Collection[str], Collection[str]], dict[str, dict[str, ConfigValue]]
    ]
    read_offset_ranges: Callable[[Collection[TopicPartition]], dict[TopicPartition, OffsetRange]]
    read_open_transactions: Callable[
        [Collection[TopicPartition]], Mapping[TopicPartition, OpenTransaction | ClusterFault | None]
    ]
    read_timestamp_at: Callable[[Mapping[TopicPartition, int]], dict[TopicPartition, int | None]]
    list_groups: Callable[[], GroupListing]
    describe_groups: Callable[[Collection[str]], dict[str, GroupDescription]]
    read_group_offsets: Callable[[Collection[str]], GroupOffsets]
    read_shares: Callable[[Collection[str]], SharesRead]


OpenCluster = Callable[[Connection], AbstractContextManager[ClusterRequests]]


@contextmanager
def open_cluster(connection: Connection) -> Iterator[ClusterRequests]:
    """Open the real cluster and close it."""
    with ClusterClient(connection, timeout_s=TIMEOUT_S) as client:
        yield ClusterRequests(
            partial(brokers.describe_cluster, client),
            partial(read_versions, client),
            partial(log_dirs.read_log_dirs, client),
            partial(topics.describe_topics, client),
            partial(client.ask, "Listing reassignments", list_reassignments),
            partial(_read_topic_configs, client),
            partial(offsets.read_offset_ranges, client, with_timestamps=True),
            partial(offsets.read_open_transactions, client),
            partial(offsets.read_timestamp_at, client),
            partial(groups.list_groups, client, every_type=True),
            partial(groups.describe_groups, client),
            partial(groups.read_group_offsets, client),
            partial(groups.read_shares, client),
        )


def _read_topic_configs(
    client: ClusterClient, names: Collection[str], keys: Collection[str]
) -> dict[str, dict[str, ConfigValue]]:
    answers = configs.describe_topic_configs(client, names, keys)
    return {
        name: {k: v for k, v in answer.items() if v.value is not None}
        for name, answer in answers.items()
        if not isinstance(answer, ClusterFault)
    }
