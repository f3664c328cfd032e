"""Reads the snapshot of a flow for its findings from both clusters. Read-only.

Every part is queried separately: one that does not answer, or for which no time is left, is not known, and
the others are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from jobs import limits
from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.admin.topics import list_topic_names
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, Refused
from jobs.cluster.topic_reader import TopicRecord, read_topic_from
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
from jobs.wire.errors import RecordFormatError
from jobs.wire.mirror_records import decode_offset_sync
from jobs.wire.topics.connect_records import StatusKey
from jobs.wire.values import utc_time

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


# What one look reads at most: the topic is compacted, but may not have been for days.
MOST_RECORDS = 200_000
PARTITION = 0


@dataclass(slots=True)
class SyncTail:
    """The newest sync of each source partition; `next_offset` is where the next look resumes.

    `refused` counts records that are no offset syncs. Invariant: all records from the first look's beginning
    to `next_offset` have been taken.
    """

    topic: str
    next_offset: int = 0
    newest: dict[TopicPartition, tuple[int, int]] = field(default_factory=dict)
    refused: int = 0

    def take(self, key: bytes | None, value: bytes | None) -> None:
        """Take the next record of the topic."""
        try:
            sync = decode_offset_sync(key, value)
        except RecordFormatError:
            self.refused += 1
            return
        where = TopicPartition(sync.topic, sync.partition)
        if not limits.may_exist(*where, {}):
            self.refused += 1
            return
        self.newest[where] = sync.upstream_offset, sync.downstream_offset

    def to_mapping(self) -> dict[str, Any]:
        return {
            "topic": self.topic,
            "next_offset": self.next_offset,
            "newest": [[*where, *sync] for where, sync in self.newest.items()],
            "refused": self.refused,
        }

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any], topic: str) -> SyncTail:
        """Read what `to_mapping` wrote; of another topic, nothing is known."""
        if values.get("topic") != topic:
            return cls(topic)
        newest = {TopicPartition(t, p): (u, d) for t, p, u, d in values["newest"]}
        return cls(topic, values["next_offset"], newest, values["refused"])


def read_sync_tail(client: ClusterClient, known: SyncTail) -> SyncTail | None:
    """Return the tail after reading on to the end of the topic; None when the topic does not exist.

    A topic that ends before the last look's end was made again: everything known is forgotten. Raises
    `ClusterFault`.
    """
    found = read_offset_ranges(
        client, [where := TopicPartition(known.topic, PARTITION)], with_timestamps=False
    )[where]
    start, end = found.log_start_offset, found.high_watermark
    if start is None or end is None:
        return _read(client, SyncTail(known.topic), 0)
    if end < known.next_offset:
        known = SyncTail(known.topic)
    begin = max(start, known.next_offset, end - MOST_RECORDS)
    return _read(client, known, begin)


def _read(client: ClusterClient, known: SyncTail, begin: int) -> SyncTail | None:
    """Read into a copy: what is known stays as it is when reading fails."""
    tail = SyncTail(known.topic, known.next_offset, dict(known.newest), known.refused)

    def take(record: TopicRecord) -> None:
        tail.take(record.key, record.value)
        if len(tail.newest) > limits.SYNCS:
            raise Refused(
                f"{known.topic} names more than {limits.SYNCS:,} partitions.",
                cluster=client.connection.alias,
                hint="Check which principals may write to it: only MirrorMaker 2 and crosslog should.",
            )

    ends = read_topic_from(client, known.topic, {PARTITION: begin}, take)
    if ends is None:
        return None
    if PARTITION not in ends:
        problem = f"{known.topic} has no partition {PARTITION}."
        raise ClusterFault(problem, cluster=client.connection.alias)
    tail.next_offset = ends[PARTITION]
    return tail
