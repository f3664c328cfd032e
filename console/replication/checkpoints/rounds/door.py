"""What the round of checkpoints asks of clusters and of the archive; tests put fakes in their place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from console.replication.flows.models import ReplicationFlow
from jobs.cluster.admin import offsets
from jobs.cluster.admin.groups import read_committed_offsets
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import CommittedOffset, OffsetRange, TopicPartition
from jobs.replication.checkpoints.follow import CheckpointsRead, follow_checkpoints
from jobs.replication.flow.selection import policy_of
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.translation.translator import SourceEnd, Translator

TIMEOUT_S = 10.0

# The answers of a flow's archived offset syncs; without any, a translator that knows nothing.
OpenTranslator = Callable[[ReplicationFlow], Translator]


class CheckpointDoor(Protocol):
    """Questions to the clusters of a flow; every one may raise `ClusterFault`."""

    def checkpoints(self, flow: FlowSpec, before: CheckpointsRead) -> CheckpointsRead:
        """Return the checkpoints as they stand, having read what is new."""
        ...

    def commits(
        self, flow: FlowSpec, groups: Collection[str]
    ) -> Mapping[str, Mapping[TopicPartition, CommittedOffset]]:
        """Return committed offsets of groups on the source; a group that could not be read is absent."""
        ...

    def ends(
        self, flow: FlowSpec, remote: Mapping[TopicPartition, TopicPartition]
    ) -> Mapping[TopicPartition, SourceEnd]:
        """Return where both sides end, by source partition; `remote` names the target's. Unknown: absent."""
        ...


class KafkaDoor:
    """The real clusters; every question opens its own client and closes it."""

    def checkpoints(self, flow: FlowSpec, before: CheckpointsRead) -> CheckpointsRead:
        """Read the new records of the topic of checkpoints on the target."""
        topic = policy_of(flow).checkpoints_topic(flow.source.alias)
        with ClusterClient(flow.target, timeout_s=TIMEOUT_S) as client:
            return follow_checkpoints(client, topic, before)

    def commits(
        self, flow: FlowSpec, groups: Collection[str]
    ) -> Mapping[str, Mapping[TopicPartition, CommittedOffset]]:
        """Ask each group's coordinator."""
        with ClusterClient(flow.source, timeout_s=TIMEOUT_S) as client:
            return read_committed_offsets(client, groups)

    def ends(
        self, flow: FlowSpec, remote: Mapping[TopicPartition, TopicPartition]
    ) -> Mapping[TopicPartition, SourceEnd]:
        """Ask ListOffsets of the target, then of the source, in this order (see `SourceEnd`)."""
        with ClusterClient(flow.target, timeout_s=TIMEOUT_S) as client:
            there = _ends(client, set(remote.values()))
        with ClusterClient(flow.source, timeout_s=TIMEOUT_S) as client:
            here = _ends(client, set(remote))
        return {
            where: _source_end(here[where], there[copy])
            for where, copy in remote.items()
            if where in here and copy in there
        }


def _ends(
    client: ClusterClient, partitions: set[TopicPartition]
) -> dict[TopicPartition, OffsetRange]:
    found = offsets.read_offset_ranges(client, partitions, with_timestamps=False)
    return {w: r for w, r in found.items() if r.end_offset is not None and not r.error}


def _source_end(here: OffsetRange, there: OffsetRange) -> SourceEnd:
    return SourceEnd(
        here.end_offset or 0,
        there.end_offset or 0,
        None,
        here.log_start_offset,
        there.log_start_offset,
        here.high_watermark,
        there.high_watermark,
    )


KAFKA: CheckpointDoor = KafkaDoor()
