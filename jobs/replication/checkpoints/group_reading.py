"""Committed offsets of a flow's groups on both sides, read in an order that keeps them comparable."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from jobs.cluster.admin.groups import describe_groups, read_committed_offsets
from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import CommittedOffset, GroupDescription, TopicPartition
from jobs.replication.checkpoints.topic import (
    CheckpointTopic,
    GroupPartition,
    read_checkpoint_topic,
)
from jobs.replication.findings.snapshot import GroupSnapshot
from jobs.replication.flow.selection import policy_of, should_replicate
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.naming.mirror_client import rename_topic

_QUIET = frozenset({"EMPTY", "DEAD"})


def read_groups(
    source: ClusterClient, target: ClusterClient, flow: FlowSpec, groups: Collection[str]
) -> list[GroupSnapshot]:
    """Return the offsets of each group on the partitions that it has on both sides; raises `ClusterFault`.

    The target's offsets are requested first: a group that commits in between is then ahead on the source,
    and never seems to be ahead on the target. The checkpoints are read after them, for the same reason, and
    the ends of partitions last: a commit above one is of no record that is there.
    """
    on_target = read_committed_offsets(target, groups)
    described = describe_groups(target, groups)
    on_source = read_committed_offsets(source, groups)
    topic = policy_of(flow).checkpoints_topic(flow.source.alias)
    wanted = frozenset(groups)
    checkpoints = read_checkpoint_topic(target, topic, wants=lambda group: group in wanted)
    found = [
        picture
        for group in sorted(wanted)
        for picture in _of_group(
            flow,
            group,
            on_source.get(group, {}),
            on_target.get(group, {}),
            described.get(group),
            checkpoints,
        )
    ]
    here = _ends(source, {one.where for one in found})
    there = _ends(target, {remote_of(flow, one.where) for one in found})
    return [
        replace(one, end=here.get(one.where), target_end=there.get(remote_of(flow, one.where)))
        for one in found
    ]


def remote_of(flow: FlowSpec, where: TopicPartition) -> TopicPartition:
    """Return the partition of the target that a source partition is copied to."""
    name = rename_topic(
        policy_of(flow), where.topic, source_alias=flow.source.alias, target_alias=flow.target.alias
    )
    return TopicPartition(name, where.partition)


def _ends(
    client: ClusterClient, partitions: set[TopicPartition]
) -> dict[TopicPartition, int | None]:
    found = read_offset_ranges(client, partitions, with_timestamps=False)
    return {where: ranges.high_watermark for where, ranges in found.items()}


def _of_group(
    flow: FlowSpec,
    group: str,
    source: Mapping[TopicPartition, CommittedOffset],
    target: Mapping[TopicPartition, CommittedOffset],
    described: GroupDescription | None,
    checkpoints: CheckpointTopic,
) -> Iterator[GroupSnapshot]:
    for where, committed in source.items():
        if not should_replicate(flow, where.topic):
            continue
        remote = remote_of(flow, where)
        kept = checkpoints.checkpoints.get(GroupPartition(group, remote))
        there = target.get(remote)
        yield GroupSnapshot(
            group,
            where,
            committed.offset,
            there.offset if there else None,
            is_active_on_target=_is_active(described),
            checkpoint=(kept.checkpoint.upstream_offset, kept.checkpoint.downstream_offset)
            if kept
            else None,
        )


def _is_active(described: GroupDescription | None) -> bool:
    """A group whose state is not known counts as active: nothing is said of it."""
    if described is None or described.error:
        return True
    return described.state.upper() not in _QUIET
