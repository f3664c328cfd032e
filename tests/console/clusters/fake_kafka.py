"""A cluster in memory that answers the same questions as `jobs.cluster`."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import fields, replace

from console.clusters.collection.requests import ClusterRequests
from jobs.cluster.admin.configs import ConfigValue
from jobs.cluster.admin.groups import GroupListing, GroupOffsets, SharesRead, first_offsets
from jobs.cluster.admin.log_dirs import BrokerLogs
from jobs.cluster.admin.reassignments import Reassignment
from jobs.cluster.descriptions import (
    BrokerDescription,
    ClusterDescription,
    CommittedOffset,
    GroupDescription,
    OffsetRange,
    OpenTransaction,
    PartitionDescription,
    ShareOffset,
    TopicDescription,
    TopicPartition,
)
from jobs.cluster.errors import ClusterFault, ClusterIdChanged
from tests.jobs.cluster.capabilities.recorded import recorded_cluster

CLUSTER_ID = "abcdefghijklmnopqrstuv"
MIN_ISR = {"min.insync.replicas": "2", "cleanup.policy": "delete"}


class FakeKafka:
    """Three brokers and what a test adds; `faults` maps a question's name to what it raises."""

    def __init__(self) -> None:
        self.cluster_id = CLUSTER_ID
        self.brokers = {
            i: BrokerDescription(i, f"kafka-{i}.example", 9092, f"dc-{'abc'[i - 1]}")
            for i in (1, 2, 3)
        }
        self.topics: dict[str, TopicDescription] = {}
        self.reassignments: dict[TopicPartition, Reassignment] = {}
        self.configs: dict[str, dict[str, str]] = {}
        self.ranges: dict[TopicPartition, OffsetRange] = {}
        self.groups: dict[str, GroupDescription] = {}
        self.committed: dict[str, dict[TopicPartition, CommittedOffset]] = {}
        self.open_transactions: dict[TopicPartition, OpenTransaction | ClusterFault] = {}
        self.described: dict[str, GroupDescription] = {}
        self.shares: dict[str, dict[TopicPartition, ShareOffset]] = {}
        self.share_errors: dict[str, str] = {}
        self.data_ends: dict[tuple[str, TopicPartition], int] = {}
        self.timestamps: dict[tuple[TopicPartition, int], int] = {}
        self.list_errors: tuple[str, ...] = ()
        self.versions = recorded_cluster("4.3.1-kraft", brokers=(1, 2, 3))
        self.log_dirs: dict[int, BrokerLogs | ClusterFault] = {}
        self.faults: dict[str, ClusterFault | Exception] = {}
        self.asked: list[str] = []
        self.opened = 0

    # --- what a test says about it ---

    def add_topic(self, name: str, partitions: int = 3, *, end: int = 100, newest: int = 60_000):
        """Add a healthy topic whose partitions hold offsets 0 to `end`."""
        described = tuple(
            PartitionDescription(p, leader=p % 3 + 1, replicas=(1, 2, 3), isr=(1, 2, 3))
            for p in range(partitions)
        )
        topic_id = f"id-of-{name}"[:22].ljust(22, "x")
        self.topics[name] = TopicDescription(name, topic_id, name.startswith("__"), described)
        self.configs[name] = dict(MIN_ISR)
        for p in range(partitions):
            self.set_range(name, p, 0, end, newest)

    def set_range(self, topic: str, partition: int, start: int, end: int, newest: int = 60_000):
        where = TopicPartition(topic, partition)
        self.ranges[where] = OffsetRange(start, end, end, newest)

    def set_partition(self, topic: str, partition: int, **changes):
        """Change who leads a partition, its replicas or its in-sync replicas."""
        described = self.topics[topic]
        partitions = list(described.partitions)
        partitions[partition] = replace(partitions[partition], **changes)
        self.topics[topic] = replace(described, partitions=tuple(partitions))

    def add_group(self, group_id: str, committed: dict[tuple[str, int], int | None], **fields):
        """Add a group of one member with these committed offsets."""
        known = {"state": "Stable", "type": "classic", "member_count": 1, "coordinator": 1}
        self.groups[group_id] = GroupDescription(group_id, **(known | fields))
        self.committed[group_id] = {
            TopicPartition(*where): CommittedOffset(offset) for where, offset in committed.items()
        }

    def add_share_group(self, group_id: str, offsets: dict[tuple[str, int], ShareOffset], **fields):
        """Add a share group of one member."""
        known = {"state": "Stable", "type": "share", "protocol": "share", "member_count": 1}
        self.groups[group_id] = GroupDescription(group_id, **(known | fields))
        self.shares[group_id] = {TopicPartition(*where): one for where, one in offsets.items()}

    @contextmanager
    def open(self, connection):
        """Connect, as `collect` wants it; remembers what was registered."""
        self.opened += 1
        self.connection = connection
        requests = {one.name: getattr(self, one.name) for one in fields(ClusterRequests)}
        yield ClusterRequests(**requests)

    # --- requests ---

    def describe_cluster(self):
        self._ask("describe_cluster")
        expected = self.connection.cluster_id
        if expected and expected != self.cluster_id:
            fault = ClusterIdChanged(
                f"Registered as cluster {expected}, but is now {self.cluster_id}.",
                cluster=self.connection.alias,
            )
            fault.found = self.cluster_id
            raise fault
        return ClusterDescription(self.cluster_id, tuple(self.brokers.values()))

    def read_versions(self):
        self._ask("read_versions")
        return self.versions

    def read_log_dirs(self, brokers):
        self._ask("read_log_dirs")
        whole = BrokerLogs({}, {}, {"/data": (1000, 600)})
        return {broker: self.log_dirs.get(broker, whole) for broker in brokers}

    def describe_topics(self):
        self._ask("describe_topics")
        return sorted(self.topics.values(), key=lambda topic: topic.name)

    def list_reassignments(self):
        self._ask("list_reassignments")
        return dict(self.reassignments)

    def read_topic_configs(self, names, keys):
        self._ask("read_topic_configs")
        return {
            name: {
                k: v if isinstance(v, ConfigValue) else ConfigValue(v)
                for k, v in self.configs[name].items()
                if k in keys
            }
            for name in names
            if name in self.configs
        }

    def read_offset_ranges(self, partitions):
        self._ask("read_offset_ranges")
        missing = OffsetRange(error="not there")
        return {where: self.ranges.get(where, missing) for where in partitions}

    def read_open_transactions(self, partitions):
        self._ask("read_open_transactions")
        return {where: self.open_transactions.get(where) for where in partitions}

    def read_timestamp_at(self, offsets_of):
        self._ask("read_timestamp_at")
        return {where: self.timestamps.get((where, at)) for where, at in offsets_of.items()}

    def list_groups(self):
        self._ask("list_groups")
        return GroupListing(tuple(self.groups.values()), self.list_errors)

    def describe_groups(self, ids):
        self._ask("describe_groups")
        return {group_id: self.described.get(group_id, self.groups[group_id]) for group_id in ids}

    def read_group_offsets(self, ids):
        self._ask("read_group_offsets")
        every = {i: self.committed[i] for i in ids if i in self.committed}
        committed, left_out = first_offsets(every)
        partitions = {where for offsets in committed.values() for where in offsets}
        missing = OffsetRange(error="not there")
        ranges = {where: self.ranges.get(where, missing) for where in partitions}
        return GroupOffsets(committed, ranges, self.data_ends, left_out=left_out)

    def read_shares(self, ids):
        self._ask("read_shares")
        told = {i: self.shares[i] for i in ids if i in self.shares}
        return SharesRead(told, {i: why for i, why in self.share_errors.items() if i in ids}, {})

    def _ask(self, question: str) -> None:
        self.asked.append(question)
        if question in self.faults:
            raise self.faults[question]
