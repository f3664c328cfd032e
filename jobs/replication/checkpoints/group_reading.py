"""Where the groups of a flow stand on both sides, asked in the order in which the answers can be compared."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from jobs.cluster.admin.groups import describe_groups, read_committed_offsets
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
from jobs.replication.naming.mirror_maker import rename_topic

_QUIET = frozenset({"EMPTY", "DEAD"})


def read_groups(
    source: ClusterClient, target: ClusterClient, flow: FlowSpec, groups: Collection[str]
) -> list[GroupSnapshot]:
    """Return where each group stands on the partitions that it has on both sides; raises `ClusterFault`.

    The target's offsets are asked for first: a group that goes on in between is then further on the source,
    and never seems to be ahead on the target. The checkpoints are read last, for the same reason.
    """
    on_target = read_committed_offsets(target, groups)
    described = describe_groups(target, groups)
    on_source = read_committed_offsets(source, groups)
    topic = policy_of(flow).checkpoints_topic(flow.source.alias)
    wanted = frozenset(groups)
    checkpoints = read_checkpoint_topic(target, topic, wants=lambda group: group in wanted)
    return [
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


def _of_group(
    flow: FlowSpec,
    group: str,
    source: Mapping[TopicPartition, CommittedOffset],
    target: Mapping[TopicPartition, CommittedOffset],
    described: GroupDescription | None,
    checkpoints: CheckpointTopic,
) -> Iterator[GroupSnapshot]:
    policy = policy_of(flow)
    for where, committed in source.items():
        if not should_replicate(flow, where.topic):
            continue
        name = rename_topic(
            policy, where.topic, source_alias=flow.source.alias, target_alias=flow.target.alias
        )
        remote = TopicPartition(name, where.partition)
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
