"""Ask both clusters of a flow for what silent failures are seen by. Changes nothing.

Every part is asked by itself: one that does not answer, or for which no time is left, is not known, and the
others are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.admin.topics import list_topic_names
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.replication.checkpoints.topic import (
    MISCONFIGURED_CONVERTER,
    CheckpointTopic,
    read_checkpoint_topic,
)
from jobs.replication.copy.positions import read_positions
from jobs.replication.findings.connect_topics import (
    SOURCE_CONNECTOR,
    Configs,
    Statuses,
    read_configs,
    read_statuses,
)
from jobs.replication.findings.heartbeat_topics import HeartbeatsSeen, read_heartbeats
from jobs.replication.findings.loop_failures import returned_topics
from jobs.replication.findings.snapshot import (
    CheckpointsSnapshot,
    ConnectorStatus,
    HeartbeatsSnapshot,
    OffsetSyncsSnapshot,
)
from jobs.replication.flow.internal_topics import syncs_place
from jobs.replication.flow.selection import group_filter_of, policy_of
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.offset_syncs.tail import SyncTail, read_sync_tail
from jobs.wire.timestamps import utc_time
from jobs.wire.topics.connect_records import StatusKey

T = TypeVar("T")
NO_TIME = "no time was left for it"


@dataclass(slots=True)
class WireAnswers:
    """What the clusters said; None where they did not, with the reason in `faults` by part.

    `remote_ends` are ends of remote partitions by source partition, read after `tail`; `remote_ends_then`
    where they ended at the flow's last commit, `position_records` how many records tell that. `copied_back`
    are topics that another MirrorMaker 2 copies back under the same name.
    """

    statuses: Mapping[StatusKey, ConnectorStatus] | None = None
    configs: Configs | None = None
    heartbeats: HeartbeatsSnapshot | None = None
    syncs: OffsetSyncsSnapshot | None = None
    tail: SyncTail | None = None
    remote_ends: Mapping[TopicPartition, int] | None = None
    remote_ends_then: Mapping[TopicPartition, int] = field(default_factory=dict)
    position_records: int | None = None
    checkpoints: CheckpointsSnapshot | None = None
    checkpoint_topic: CheckpointTopic | None = None
    wrapped: Mapping[str, int] | None = None
    copied_back: Mapping[str, str] | None = None
    returned: tuple[str, ...] | None = None
    faults: dict[str, str] = field(default_factory=dict)


def read_wire(
    source: ClusterClient,
    target: ClusterClient,
    flow: FlowSpec,
    partitions: Collection[TopicPartition],
    known: Mapping[str, object],
    *,
    budget_s: float,
) -> WireAnswers:
    """Ask for everything within a budget of seconds; `known` is the tail of the last look, as JSON values."""
    return _Reading(source, target, flow, time.monotonic() + budget_s).read(partitions, known)


class _Reading:
    """One look at both clusters."""

    def __init__(
        self, source: ClusterClient, target: ClusterClient, flow: FlowSpec, until: float
    ) -> None:
        self.source, self.target, self.flow, self.until = source, target, flow, until
        self.answers = WireAnswers()

    def read(
        self, partitions: Collection[TopicPartition], known: Mapping[str, object]
    ) -> WireAnswers:
        found, flow = self.answers, self.flow
        if flow.is_watched:
            self._part("states", lambda: read_statuses(self.target, flow.source.alias), self._say)
            self._part(
                "settings", lambda: read_configs(self.target, flow.source.alias), self._config
            )
        found.syncs = self._syncs(known)
        self._part("remote ends", lambda: self._remote_ends(partitions), self._ended)
        self._part(
            "heartbeats", lambda: read_heartbeats(self.source, self.target, flow), self._beats
        )
        self._part("checkpoints", self._read_checkpoints, self._checkpoints)
        self._part("loops", self._loops, lambda _: None)
        return found

    def _part(self, part: str, ask: Callable[[], T], take: Callable[[T], None]) -> None:
        if time.monotonic() >= self.until:
            self.answers.faults[part] = NO_TIME
            return
        try:
            take(ask())
        except ClusterFault as fault:
            self.answers.faults[part] = str(fault)

    def _say(self, statuses: Statuses | None) -> None:
        self.answers.statuses = {} if statuses is None else statuses.said

    def _config(self, configs: Configs | None) -> None:
        self.answers.configs = configs

    def _syncs(self, known: Mapping[str, object]) -> OffsetSyncsSnapshot | None:
        topic, on_source = syncs_place(self.flow)
        client = self.source if on_source else self.target
        cluster = client.connection.alias
        is_off = self._setting("emit.offset-syncs.enabled") == "false"
        if topic is None or is_off:
            return OffsetSyncsSnapshot(topic or "", cluster, is_enabled=False)
        if time.monotonic() >= self.until:
            self.answers.faults["syncs"] = NO_TIME
            return None
        try:
            tail = read_sync_tail(client, SyncTail.from_mapping(known, topic))
        except ClusterFault as fault:
            self.answers.faults["syncs"] = str(fault)
            return (
                None if fault.retriable else OffsetSyncsSnapshot(topic, cluster, error=str(fault))
            )
        if tail is None:
            elsewhere = self._is_elsewhere(on_source=on_source)
            return OffsetSyncsSnapshot(topic, cluster, exists=False, is_elsewhere=elsewhere)
        self.answers.tail = tail
        return OffsetSyncsSnapshot(
            topic, cluster, partitions=len(tail.newest), refused=tail.refused
        )

    def _is_elsewhere(self, *, on_source: bool) -> bool:
        policy, flow = policy_of(self.flow), self.flow
        client = self.target if on_source else self.source
        alias = flow.source.alias if on_source else flow.target.alias
        try:
            return policy.offset_syncs_topic(alias) in list_topic_names(client)
        except ClusterFault:
            return False

    def _setting(self, name: str) -> str | None:
        configs = self.answers.configs
        return None if configs is None else configs.setting(SOURCE_CONNECTOR, name)

    def _remote_ends(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        policy, alias = policy_of(self.flow), self.flow.source.alias
        remote = {
            w: TopicPartition(policy.format_remote_topic(alias, w.topic), w.partition)
            for w in partitions
        }
        if not self.flow.is_watched:
            positions = read_positions(self.target, alias)
            self.answers.remote_ends_then = positions.remote_ends()
            self.answers.position_records = positions.records
        ranges = read_offset_ranges(self.target, list(remote.values()), with_timestamps=False)
        ends = {where: ranges[there].high_watermark for where, there in remote.items()}
        return {where: end for where, end in ends.items() if end is not None}

    def _ended(self, ends: Mapping[TopicPartition, int]) -> None:
        self.answers.remote_ends = ends

    def _beats(self, seen: HeartbeatsSeen) -> None:
        self.answers.heartbeats = seen.snapshot
        self.answers.wrapped = {**(self.answers.wrapped or {}), **seen.wrapped}

    def _read_checkpoints(self) -> CheckpointTopic:
        topic = policy_of(self.flow).checkpoints_topic(self.flow.source.alias)
        wanted = group_filter_of(self.flow)
        return read_checkpoint_topic(self.target, topic, wants=wanted.accepts)

    def _checkpoints(self, found: CheckpointTopic) -> None:
        times = [kept.timestamp_ms for kept in found.checkpoints.values() if kept.timestamp_ms]
        newest = max(filter(None, map(utc_time, times)), default=None)
        self.answers.checkpoint_topic = found
        self.answers.checkpoints = CheckpointsSnapshot(found.topic, found.exists, newest)
        wrapped = {found.topic: found.refused[MISCONFIGURED_CONVERTER]}
        self.answers.wrapped = {**(self.answers.wrapped or {}), **wrapped}

    def _loops(self) -> None:
        source, target = self.flow.source.alias, self.flow.target.alias
        policy = policy_of(self.flow)
        names = list_topic_names(self.target), frozenset(list_topic_names(self.source))
        returned = returned_topics(policy, source, target, *names)
        self.answers.returned = tuple(returned)
        self.answers.copied_back = self._copied_back()

    def _copied_back(self) -> dict[str, str]:
        """Return topics that a MirrorMaker 2 of the way back copies here under their own name."""
        back = read_configs(self.source, self.flow.target.alias)
        policy = back and back.setting(SOURCE_CONNECTOR, "replication.policy.class")
        if not policy or "IdentityReplicationPolicy" not in policy:
            return {}
        mine, alias = policy_of(self.flow), self.flow.source.alias
        positions = read_positions(self.source, self.flow.target.alias)
        how = (
            f"MirrorMaker 2 from {self.flow.target.alias} to {alias} has copied it with "
            "IdentityReplicationPolicy."
        )
        topics = {where.topic for where in positions}
        there = {where.topic for where in read_positions(self.target, alias)}
        return {t: how for t in topics & there if mine.format_remote_topic(alias, t) == t}
