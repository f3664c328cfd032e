"""Checks both clusters before a flow copies, and creates the remote topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from jobs.cluster.admin import offsets, topics
from jobs.cluster.admin.brokers import describe_cluster
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import OffsetRange, TopicDescription, TopicPartition
from jobs.replication.copy.positions import read_positions
from jobs.replication.flow.internal_topics import ensure_internal_topics
from jobs.replication.flow.plan import FlowPlan, Known, RemotePlace, plan_flow
from jobs.replication.flow.selection import select_topics
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.topics.remote_topics import RemoteTopic, ensure_remote_topics


@dataclass(frozen=True, slots=True)
class Preflight:
    """The plan and what it rests on; `remotes` tell what was just done to the remote topics."""

    plan: FlowPlan
    topics: tuple[TopicDescription, ...]
    places: Mapping[str, RemotePlace]
    ranges: Mapping[TopicPartition, OffsetRange]
    remotes: tuple[RemoteTopic, ...] = ()

    def copied_topics(self) -> list[TopicDescription]:
        """Return the topics with a remote topic that the flow may write."""
        return [t for t in self.topics if t.name in self.places and self.places[t.name].partitions]

    def ends(self) -> dict[tuple[str, int], int]:
        """Return the end offset of each partition at the time of the survey."""
        return {(tp.topic, tp.partition): r.end_offset or 0 for tp, r in self.ranges.items()}


def preflight_flow(
    flow: FlowSpec, source: ClusterClient, target: ClusterClient, known: Known
) -> Preflight:
    """Describe, create what is missing on the target, and plan.

    Positions are read from the target cluster, which is where they are true. Raises `ClusterFault`
    when a whole cluster cannot answer, or is not the one that was registered.
    """
    describe_cluster(source)
    describe_cluster(target)
    selected = tuple(select_topics(flow, topics.describe_topics(source)))
    ensure_internal_topics(source, target, flow)
    positions = read_positions(target, flow.source.alias)
    copied = {where.topic for where in positions}
    remotes = tuple(ensure_remote_topics(source, target, flow, selected, copied))
    places = {
        one.topic: RemotePlace(one.remote_topic, one.partitions, one.problem, one.is_retriable)
        for one in remotes
    }
    ranges = offsets.read_offset_ranges(source, _partitions(selected), with_timestamps=False)
    known = replace(known, positions=positions, remote_ends=positions.remote_ends())
    return Preflight(plan_flow(selected, places, ranges, known), selected, places, ranges, remotes)


def _partitions(described: Sequence[TopicDescription]) -> list[TopicPartition]:
    return [TopicPartition(t.name, p.partition) for t in described for p in t.partitions]
