"""The topics that a flow keeps for itself and for MirrorMaker 2's readers, made when they are missing."""

from __future__ import annotations

import logging
from collections.abc import Collection

from jobs.cluster.admin.brokers import describe_cluster
from jobs.cluster.admin.topics import NewTopicSpec, create_topics, describe_topics, is_missing
from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import ClusterFault
from jobs.replication.copy.positions import SEGMENT_BYTES, positions_topic
from jobs.replication.flow.selection import policy_of
from jobs.replication.flow.spec import FlowSpec, HeartbeatsTo, SyncsLocation

logger = logging.getLogger(__name__)

# Connect's default for offset.storage.partitions.
POSITIONS_PARTITIONS = 25
HIGHEST_REPLICATION_FACTOR = 3
_COMPACTED = {"cleanup.policy": "compact"}
_POSITIONS = {**_COMPACTED, "segment.bytes": str(SEGMENT_BYTES)}


def ensure_internal_topics(source: ClusterClient, target: ClusterClient, flow: FlowSpec) -> None:
    """Make the topics of positions, offset syncs, checkpoints and heartbeats; raises `ClusterFault`.

    A source that does not allow a topic of heartbeats does not keep a flow from copying.
    """
    syncs, on_source = syncs_place(flow)
    heartbeats = policy_of(flow).heartbeats_topic()
    ensure_positions_topic(target, flow.source.alias)
    on_target = {}
    if syncs is not None and not on_source:
        on_target[syncs] = (1, _COMPACTED)
    if flow.heartbeats is not HeartbeatsTo.NONE:
        on_target[heartbeats] = (1, _COMPACTED)
    if flow.emit_checkpoints_interval_s and syncs is not None:
        on_target[policy_of(flow).checkpoints_topic(flow.source.alias)] = (1, _COMPACTED)
    _ensure(target, on_target)
    there = {}
    if syncs is not None and on_source:
        there[syncs] = (1, _COMPACTED)
    _ensure(source, there)
    if flow.heartbeats is HeartbeatsTo.BOTH:
        try:
            ensure_heartbeats_topics(source, [heartbeats])
        except ClusterFault as fault:
            logger.warning(
                "no heartbeats on %s flow=%s error=%s", flow.source.alias, flow.name, fault
            )


def ensure_heartbeats_topics(client: ClusterClient, names: Collection[str]) -> None:
    """Make topics of heartbeats where they are missing; raises `ClusterFault`."""
    _ensure(client, dict.fromkeys(names, (1, _COMPACTED)))


def ensure_positions_topic(target: ClusterClient, source_alias: str) -> None:
    """Make the topic of positions on the target if it is missing; raises `ClusterFault`."""
    _ensure(target, {positions_topic(source_alias): (POSITIONS_PARTITIONS, _POSITIONS)})


def ensure_checkpoints_topic(target: ClusterClient, flow: FlowSpec) -> str:
    """Make the topic of checkpoints if it is missing; returns its name. Raises `ClusterFault`."""
    topic = policy_of(flow).checkpoints_topic(flow.source.alias)
    _ensure(target, {topic: (1, _COMPACTED)})
    return topic


def syncs_place(flow: FlowSpec) -> tuple[str | None, bool]:
    """Return the topic of a flow's offset syncs (None: none are kept), and whether it is on the source.

    It is named after the other cluster. Source: MirrorSourceConfig.offsetSyncsTopic (KIP-716).
    """
    policy = policy_of(flow)
    match flow.offset_syncs:
        case SyncsLocation.TARGET:
            return policy.offset_syncs_topic(flow.source.alias), False
        case SyncsLocation.SOURCE:
            return policy.offset_syncs_topic(flow.target.alias), True
    return None, False


def _ensure(client: ClusterClient, wanted: dict[str, tuple[int, dict[str, str]]]) -> None:
    if not wanted:
        return
    missing = [topic.name for topic in describe_topics(client, set(wanted)) if is_missing(topic)]
    if not missing:
        return
    factor = min(HIGHEST_REPLICATION_FACTOR, max(len(describe_cluster(client).brokers), 1))
    specs = {name: NewTopicSpec(wanted[name][0], factor, wanted[name][1]) for name in missing}
    for fault in create_topics(client, specs).values():
        if fault is not None:
            raise fault
