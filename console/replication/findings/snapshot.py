"""The snapshot of a flow for the rules: rows of the console, and what the clusters just said."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from console.clusters import queries as clusters
from console.clusters.models import Cluster, Group, GroupOffset
from console.frame.errors import ActionRefused
from console.replication.failover.queries import groups_failed_over
from console.replication.flows.models import FlowPartition, FlowRound, ReplicationFlow
from console.replication.measurement.measure import Measured
from console.replication.measurement.store import as_measured
from console.runs.models import RunState
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, InvalidFields
from jobs.replication.checkpoints.group_reading import read_groups
from jobs.replication.copy.contract import CopyState
from jobs.replication.copy.positions import positions_topic
from jobs.replication.findings.reading import WireAnswers, read_wire
from jobs.replication.findings.snapshot import (
    FlowSnapshot,
    GroupSnapshot,
    OffsetSyncsSnapshot,
    PartitionSnapshot,
    TopicSnapshot,
)
from jobs.replication.flow.lag import LagStatus
from jobs.replication.flow.selection import group_filter_of, policy_of, should_replicate
from jobs.replication.flow.spec import FlowSpec, HeartbeatsTo, IsolationLevel, OnRecreated
from jobs.replication.topics.drift import DriftReport, read_drift
from jobs.replication.translation.translator import Translator

TranslatorOf = Callable[[ReplicationFlow], Translator]

# Groups whose offsets are queried again in one check: those that seem to be ahead on the target.
MOST_GROUPS = 200
# From so long after its start on, a run sends heartbeats and moves what there is to copy.
STEADY_AFTER = timedelta(minutes=2)
# States that need no finding: paused by a user, failed with a reason, or deleted.
_RESTS = {CopyState.PAUSED, CopyState.STOPPED, CopyState.FAILED}

TIMEOUT_S = 10.0


def ask_wire(
    flow: FlowSpec,
    partitions: Collection[TopicPartition],
    known: Mapping[str, Any],
    budget_s: float,
) -> WireAnswers:
    """Return what the topics of MirrorMaker 2 say, and where remote partitions end."""
    with _both(flow) as (source, target):
        return read_wire(source, target, flow, partitions, known, budget_s=budget_s)


def ask_groups(flow: FlowSpec, groups: Collection[str]) -> list[GroupSnapshot]:
    """Return the offsets of groups on both sides, those of the target read before the source's."""
    with _both(flow) as (source, target):
        return read_groups(source, target, flow, groups)


def ask_drift(flow: FlowSpec) -> DriftReport:
    """Return how topics, settings and ACLs of both sides differ."""
    with _both(flow) as (source, target):
        return read_drift(source, target, flow)


@contextmanager
def _both(flow: FlowSpec) -> Iterator[tuple[ClusterClient, ClusterClient]]:
    with (
        ClusterClient(flow.source, timeout_s=TIMEOUT_S) as source,
        ClusterClient(flow.target, timeout_s=TIMEOUT_S) as target,
    ):
        yield source, target


@dataclass(frozen=True, slots=True)
class FlowQueries:
    """The queries of a check on both clusters of a flow; each may raise `ClusterFault`."""

    wire: Callable[
        [FlowSpec, Collection[TopicPartition], Mapping[str, Any], float], WireAnswers
    ] = ask_wire
    groups: Callable[[FlowSpec, Collection[str]], list[GroupSnapshot]] = ask_groups
    drift: Callable[[FlowSpec], DriftReport] = ask_drift


KAFKA = FlowQueries()


def measured(flow: ReplicationFlow) -> list[Measured]:
    """Return the partitions of a flow as they were last measured; one query."""
    return [as_measured(row) for row in FlowPartition.objects.filter(flow=flow)]


def take_snapshot(
    flow: ReplicationFlow,
    spec: FlowSpec,
    wire: WireAnswers,
    now: datetime,
    kafka: FlowQueries,
    translator_of: TranslatorOf,
) -> FlowSnapshot:
    """Return everything that is known of a flow now; a constant number of queries."""
    rows = measured(flow)
    partitions = _partitions(flow, spec, rows, wire)
    is_asked = flow.is_watched or flow.is_wanted
    return FlowSnapshot(
        flow.name,
        flow.source.alias,
        flow.target.alias,
        now,
        is_watched=flow.is_watched,
        should_move=flow.is_watched or _runs_steadily(flow, now),
        set_apart_at=flow.set_apart_at,
        source_cluster_id=_id_of(flow.source),
        target_cluster_id=_id_of(flow.target),
        heartbeats_wanted=flow.is_watched or spec.heartbeats is not HeartbeatsTo.NONE,
        topics=_topics(flow, spec, {row.topic for row in rows}),
        partitions=partitions,
        statuses=wire.statuses,
        heartbeats=wire.heartbeats,
        syncs=_syncs(flow, wire, rows),
        checkpoints=wire.checkpoints,
        groups=_groups(flow, spec, wire, kafka, translator_of) if is_asked else None,
        copied_back=_copied_back(flow, spec, wire, {row.topic for row in rows}),
        returned=wire.returned,
        wrapped=wire.wrapped,
        positions_topic=positions_topic(flow.source.alias),
        position_records=wire.position_records,
    )


def _runs_steadily(flow: ReplicationFlow, now: datetime) -> bool:
    """A run that is coming up, or that failed, says so itself."""
    run = flow.run
    if not flow.is_wanted or run is None or run.started_at is None:
        return False
    return run.state == RunState.RUNNING and now - run.started_at >= STEADY_AFTER


def _id_of(cluster: Cluster) -> str:
    return cluster.seen_cluster_id or cluster.cluster_id


def _partitions(
    flow: ReplicationFlow, spec: FlowSpec, rows: list[Measured], wire: WireAnswers
) -> list[PartitionSnapshot] | None:
    """Return the partitions as last measured; None while they cannot be measured."""
    if flow.measured_at is None or _is_measured_badly(flow):
        return None
    newest = wire.tail.newest if wire.tail else {}
    ends = wire.remote_ends or {}
    # Records of open transactions are copied: positions may lie behind the last stable offset.
    is_uncommitted = spec.isolation_level is IsolationLevel.READ_UNCOMMITTED
    return [
        PartitionSnapshot(
            row.where,
            row.position,
            row.log_start_offset,
            None if is_uncommitted else row.end_offset,
            _data_end(row),
            remote_end=ends.get(row.where),
            remote_end_then=wire.remote_ends_then.get(row.where),
            last_sync=newest.get(row.where),
            rests=row.state in _RESTS,
        )
        for row in rows
    ]


def _is_measured_badly(flow: ReplicationFlow) -> bool:
    return FlowRound.objects.filter(flow=flow).exclude(failing_since=None).exists()


def _data_end(row: Measured) -> int | None:
    """The lag counts records: markers behind the last one are none."""
    if row.position is None or row.lag is None:
        return None
    return max(row.position, row.log_start_offset or 0) + row.lag


def _topics(flow: ReplicationFlow, spec: FlowSpec, names: Collection[str]) -> list[TopicSnapshot]:
    policy, alias = policy_of(spec), spec.source.alias
    remote = {name: policy.format_remote_topic(alias, name) for name in names}
    source_ids = _topic_ids(flow.source, remote.keys())
    target_ids = _topic_ids(flow.target, remote.values())
    stops = not flow.is_watched and flow.on_recreated == OnRecreated.STOP
    return [
        TopicSnapshot(
            name,
            there,
            source_ids.get(name, ""),
            target_ids.get(there, ""),
            flow.topic_ids.get(name, "") if stops else "",
        )
        for name, there in sorted(remote.items())
    ]


def _topic_ids(cluster: Cluster, names: Collection[str]) -> dict[str, str]:
    wanted = set(names)
    rows = clusters.list_topics(cluster).values_list("name", "topic_id")
    return {name: topic_id for name, topic_id in rows if name in wanted}


def _syncs(
    flow: ReplicationFlow, wire: WireAnswers, rows: list[Measured]
) -> OffsetSyncsSnapshot | None:
    """A flow of crosslog that has copied nothing yet has no topic of offset syncs: nothing is wrong."""
    has_copied = any(row.position for row in rows)
    return wire.syncs if flow.is_watched or has_copied else None


def _groups(
    flow: ReplicationFlow,
    spec: FlowSpec,
    wire: WireAnswers,
    kafka: FlowQueries,
    translator_of: TranslatorOf,
) -> list[GroupSnapshot] | None:
    """Return groups with checkpoints; those that seem to be ahead on the target as they are just now."""
    if wire.checkpoint_topic is None:
        return None
    translator = _translator(flow, wire, translator_of)
    moved = _failed_over(flow)
    found = [
        replace(_proved(one, translator), is_failed_over=one.group in moved)
        for one in _stored_groups(flow, spec, wire)
    ]
    doubtful = sorted(
        {one.group for one in found if _seems_ahead(one)} | _seem_beyond_end(flow, spec)
    )[:MOST_GROUPS]
    if not doubtful:
        return [replace(one, target_committed=None) for one in found]
    try:
        asked = [
            replace(_proved(one, translator), is_failed_over=one.group in moved)
            for one in kafka.groups(spec, doubtful)
        ]
    except ClusterFault as fault:
        wire.faults["groups"] = str(fault)
        return None
    rest = [replace(one, target_committed=None) for one in found if one.group not in doubtful]
    return [*rest, *asked]


def _translator(
    flow: ReplicationFlow, wire: WireAnswers, translator_of: TranslatorOf
) -> Translator:
    """Return the translator; a damaged archive is an empty one and a fault."""
    try:
        return translator_of(flow)
    except ActionRefused as refusal:
        wire.faults["archive of offset syncs"] = refusal.message
        return Translator()


def _seems_ahead(group: GroupSnapshot) -> bool:
    """The console's rows are of different moments: they only tell where to look."""
    if group.target_committed is None or group.is_failed_over:
        return False
    proved, told = group.target_at_most, group.checkpoint
    return (proved is not None and group.target_committed > proved) or (
        proved is None and told is not None and group.target_committed > told[1]
    )


def _seem_beyond_end(flow: ReplicationFlow, spec: FlowSpec) -> set[str]:
    """Return groups of the flow with a stored commit beyond the end of its partition, on either side."""
    rows = GroupOffset.objects.filter(group__cluster__in=[flow.source_id, flow.target_id])
    rows = rows.filter(lag_status=LagStatus.AHEAD_OF_END.value).order_by()
    wanted = group_filter_of(spec)
    return set(filter(wanted.accepts, rows.values_list("group__group_id", flat=True)))


def _failed_over(flow: ReplicationFlow) -> frozenset[str]:
    """Return the groups that a plan moved to the target and that have no members on the source."""
    active = Group.objects.filter(cluster=flow.source, member_count__gt=0)
    return groups_failed_over(flow) - set(active.values_list("group_id", flat=True))


def _proved(group: GroupSnapshot, translator: Translator) -> GroupSnapshot:
    if group.committed is None:
        return group
    certificate = translator.translate(group.where, group.committed)
    return group if certificate is None else replace(group, target_at_most=certificate.hi)


def _stored_groups(
    flow: ReplicationFlow, spec: FlowSpec, wire: WireAnswers
) -> Iterator[GroupSnapshot]:
    """Yield the groups that have a checkpoint or an offset on the target, from the console's rows."""
    policy, alias = policy_of(spec), spec.source.alias
    checkpoints = wire.checkpoint_topic.checkpoints if wire.checkpoint_topic else {}
    told = {
        (key.group, *key.where): (
            kept.checkpoint.upstream_offset,
            kept.checkpoint.downstream_offset,
        )
        for key, kept in checkpoints.items()
    }
    on_target = _committed(flow.target)
    wanted = group_filter_of(spec)
    for (group, topic, number), committed in _committed(flow.source).items():
        if not (should_replicate(spec, topic) and wanted.accepts(group)):
            continue
        there = group, policy.format_remote_topic(alias, topic), number
        if there in told or there in on_target:
            where = TopicPartition(topic, number)
            yield GroupSnapshot(
                group, where, committed, on_target.get(there), checkpoint=told.get(there)
            )


def _committed(cluster: Cluster) -> dict[tuple[str, str, int], int]:
    rows = GroupOffset.objects.filter(group__cluster=cluster).exclude(committed_offset=None)
    values = rows.values_list("group__group_id", "topic", "partition", "committed_offset")
    return {(g, topic, n): offset for g, topic, n, offset in values if offset is not None}


def _copied_back(
    flow: ReplicationFlow, spec: FlowSpec, wire: WireAnswers, names: Collection[str]
) -> Mapping[str, str] | None:
    """Return topics that come back under their name, by another flow of the console or by MirrorMaker 2."""
    found = dict(wire.copied_back or {})
    policy, alias = policy_of(spec), spec.source.alias
    for other in _ways_back(flow):
        try:
            back = other.spec()
        except InvalidFields:
            continue
        for name in names:
            there = policy.format_remote_topic(alias, name)
            comes_as = policy_of(back).format_remote_topic(back.source.alias, there)
            if comes_as == name and should_replicate(back, there):
                found[name] = f"The flow {other.name} replicates it back."
    return None if wire.copied_back is None and not found else found


def _ways_back(flow: ReplicationFlow) -> list[ReplicationFlow]:
    """Return the running or monitored flows in the opposite direction."""
    rows = ReplicationFlow.objects.filter(source=flow.target_id, target=flow.source_id)
    return [
        row for row in rows.select_related("source", "target") if row.is_wanted or row.is_watched
    ]
