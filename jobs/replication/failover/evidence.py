"""Evidence of a plan: the answers of both clusters, and the routes from topic to topic. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from jobs.cluster.admin.acls import AclBinding
from jobs.cluster.admin.configs import ConfigValue
from jobs.cluster.descriptions import (
    CommittedOffset,
    GroupDescription,
    OffsetRange,
    TopicDescription,
    TopicPartition,
)
from jobs.replication.flow.selection import policy_of, should_replicate
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.translation.translator import Translator

Committed = Mapping[TopicPartition, CommittedOffset]


class Way(StrEnum):
    """Along a flow, or against it."""

    FORWARD = "forward"
    BACK = "back"


@dataclass(frozen=True, slots=True)
class Leg:
    """A flow between the two clusters, seen from a group that moves along it or against it.

    `positions` are the next source offsets to be copied, `copied_ends` the offsets behind the last record
    that was copied until then (by source partition); both may lack partitions. `read_at_ms` is up to when
    its offset syncs are known, None: not known.
    """

    flow: FlowSpec
    way: Way
    translation: Translator
    positions: Mapping[TopicPartition, int] = field(default_factory=dict)
    copied_ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    read_at_ms: int | None = None

    def counterpart(self, topic: str) -> str | None:
        """Return what a topic of the origin is called on the destination; None: this flow is no way."""
        policy, source = policy_of(self.flow), self.flow.source.alias
        if self.way is Way.FORWARD:
            wanted = should_replicate(self.flow, topic)
            return policy.format_remote_topic(source, topic) if wanted else None
        upstream = policy.upstream_topic(topic) if policy.topic_source(topic) == source else None
        return upstream if upstream and should_replicate(self.flow, upstream) else None

    def source_of(self, origin: TopicPartition, destination: TopicPartition) -> TopicPartition:
        """Return the partition by its name on the flow's source."""
        return origin if self.way is Way.FORWARD else destination


@dataclass(frozen=True, slots=True)
class Side:
    """What one cluster said.

    `fault` is why it could not be asked; then the rest is what was known before. `committed` holds groups
    with their offsets, `committed_at_ms` is when they were so. A topic that is not there has an error in
    `topics`. `data_ends` are the offsets behind the last record, for partitions where only a few offsets
    (maybe markers of transactions) separate it from the end. Settings are absent where they could not be
    read. `acls` is None without an authorizer, a sentence when they may not be read.
    """

    alias: str
    cluster_id: str = ""
    fault: str = ""
    committed_at_ms: int = 0
    committed_from: str = "the group's own commits"
    groups: Mapping[str, GroupDescription] = field(default_factory=dict)
    committed: Mapping[str, Committed] = field(default_factory=dict)
    topics: Mapping[str, TopicDescription] = field(default_factory=dict)
    topic_names: frozenset[str] = frozenset()
    ranges: Mapping[TopicPartition, OffsetRange] = field(default_factory=dict)
    data_ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    configs: Mapping[str, Mapping[str, ConfigValue]] = field(default_factory=dict)
    acls: Sequence[AclBinding] | str | None = None

    def range_of(self, where: TopicPartition) -> OffsetRange:
        """Return the offsets of a partition; without any when unknown."""
        return self.ranges.get(where, OffsetRange(error="not asked"))

    def is_beyond_end(self, where: TopicPartition, committed: int | None) -> bool:
        """Whether a commit is beyond the end of its partition: ends are read after commits."""
        end = self.range_of(where).high_watermark
        return committed is not None and end is not None and committed > end


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that a plan rests on.

    The destination's offsets were read before the origin's, which makes "the group has read everything" a
    proof; positions of flows towards the destination before both, of those from there after both.
    `time_behind_ms` is how far the flow is behind by record timestamps, None: not known.
    """

    read_at_ms: int
    origin: Side
    destination: Side
    legs: tuple[Leg, ...]
    time_behind_ms: int | None = None

    def way(self, topic: str) -> tuple[Leg, str] | None:
        """Return the first flow that joins a topic of the origin with one there, and that one's name."""
        for leg in self.legs:
            there = leg.counterpart(topic)
            if there is not None:
                return leg, there
        return None
