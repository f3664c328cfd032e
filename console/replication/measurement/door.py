"""The queries of a measurement on both clusters; tests use a fake."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from jobs.cluster.admin import offsets
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import OffsetRange, TopicPartition
from jobs.replication.copy.positions import read_positions
from jobs.replication.flow.spec import FlowSpec

TIMEOUT_S = 10.0


class FlowDoor(Protocol):
    """Questions to the clusters of a flow; every one may raise `ClusterFault`."""

    def positions(self, flow: FlowSpec) -> Mapping[TopicPartition, int]:
        """Return the next offset to copy per partition, from the target cluster."""
        ...

    def ranges(
        self, flow: FlowSpec, partitions: Collection[TopicPartition], *, with_timestamps: bool
    ) -> Mapping[TopicPartition, OffsetRange]: ...

    def timestamps(
        self, flow: FlowSpec, offsets_of: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        """Return the timestamp (ms) of the first source record at or after each offset."""
        ...

    def last_timestamps(
        self, flow: FlowSpec, ends: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        """Return the timestamp (ms) of the last source record before each offset; None: unknown."""
        ...

    def data_ends(
        self, flow: FlowSpec, spans: Mapping[TopicPartition, tuple[int, int]]
    ) -> Mapping[TopicPartition, int]:
        """Return the offset after the last real record of each (from, end) of the source."""
        ...


class KafkaDoor:
    """The real clusters; every question opens its own client and closes it."""

    def positions(self, flow: FlowSpec) -> Mapping[TopicPartition, int]:
        """Read the positions topic of the target to its end."""
        with ClusterClient(flow.target, timeout_s=TIMEOUT_S) as client:
            return dict(read_positions(client, flow.source.alias))

    def ranges(
        self, flow: FlowSpec, partitions: Collection[TopicPartition], *, with_timestamps: bool
    ) -> Mapping[TopicPartition, OffsetRange]:
        """Ask ListOffsets."""
        with ClusterClient(flow.source, timeout_s=TIMEOUT_S) as client:
            return offsets.read_offset_ranges(
                client, list(partitions), with_timestamps=with_timestamps
            )

    def timestamps(
        self, flow: FlowSpec, offsets_of: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        """Read one record per partition."""
        with ClusterClient(flow.source, timeout_s=TIMEOUT_S) as client:
            return offsets.read_timestamp_at(client, dict(offsets_of))

    def last_timestamps(
        self, flow: FlowSpec, ends: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        """Read the last records of each partition."""
        with ClusterClient(flow.source, timeout_s=TIMEOUT_S) as client:
            return offsets.read_last_timestamp(client, ends)

    def data_ends(
        self, flow: FlowSpec, spans: Mapping[TopicPartition, tuple[int, int]]
    ) -> Mapping[TopicPartition, int]:
        """Read the last offsets of each partition."""
        with ClusterClient(flow.source, timeout_s=TIMEOUT_S) as client:
            return offsets.read_data_end(client, dict(spans))


KAFKA: FlowDoor = KafkaDoor()
