"""Remote topics with two writers, or with records of another writer.

IdentityReplicationPolicy's names do not tell where records came from, so two sources, or a source and
local producers, would be mixed in one topic without a way back. MirrorMaker 2 does that silently.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from jobs.cluster.admin.configs import describe_topic_configs
from jobs.cluster.admin.offsets import read_offset_ranges
from jobs.cluster.admin.topics import list_topic_names
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicDescription, TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.replication.copy.positions import positions_topic, read_positions
from jobs.replication.flow.selection import explain_topic, policy_of
from jobs.replication.flow.spec import FlowSpec, OnExisting, PolicyName
from jobs.replication.policy import DefaultReplicationPolicy, ReplicationPolicy
from jobs.replication.topics.config_sync import OWN_CONFIGS, Configs


@dataclass(frozen=True, slots=True)
class Existing:
    """A topic of the target that has its source topic's name and no position of this flow's source.

    `end_offset` is the highest of its partitions, None when the target did not tell.
    `other_sources` are aliases with positions for a topic of this name and no topic of their own.
    """

    remote_topic: str
    end_offset: int | None
    is_made_by_crosslog: bool = False
    other_sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Writer:
    """A flow that writes a remote topic."""

    flow: str
    source_alias: str
    topic: str


@dataclass(frozen=True, slots=True)
class Collision:
    """A remote topic with two writers or more."""

    remote_topic: str
    writers: tuple[Writer, ...]

    def __str__(self) -> str:
        named = [f"{w.flow} (from {w.topic} on {w.source_alias})" for w in self.writers]
        return (
            f"{self.remote_topic} is written by {' and '.join(named)}: their records would be mixed. "
            "Choose other remote topic names for one of them, or exclude the topic from it."
        )


def refuse_existing(flow: FlowSpec, existing: Existing) -> str | None:
    """Return why a flow must not write into a topic that is there already; None when it may."""
    if flow.on_existing is OnExisting.APPEND or existing.end_offset == 0:
        return None
    name = existing.remote_topic
    if existing.end_offset is None:
        return f"The target did not answer whether topic {name} holds records; it is queried again."
    source = flow.source.alias
    tail = (
        f"No record is replicated into {name}. Use the default policy (names with the source's alias), "
        "exclude the topic, or set on_existing to append if you want this."
    )
    if existing.other_sources:
        others = ", ".join(existing.other_sources)
        return (
            f"Target topic {name} is written by a flow from {others} (see "
            f"{positions_topic(existing.other_sources[0])}), which keeps names as this flow does, so "
            f"records of {source} would be mixed with its records. {tail}"
        )
    if existing.is_made_by_crosslog:
        return None  # a flow that was killed before its first commit
    return (
        f"Target topic {name} was there before, was written up to offset {existing.end_offset}, and "
        f"{positions_topic(source)} has no position for it, so records of {source} would be mixed with "
        f"those of its producers, or copied twice. {tail}"
    )


def mixed_sources(flow: FlowSpec, remote_topic: str, others: Sequence[str]) -> str:
    """Tell that a remote topic that this flow writes is written by flows from other sources, too."""
    return (
        f"Target topic {remote_topic} is written by this flow and by one from {', '.join(others)} (see "
        f"{positions_topic(others[0])}): records of {flow.source.alias} are mixed with theirs. Stop one "
        "of them, and choose other remote topic names for it."
    )


def keeps_name(flow: FlowSpec, topic: str) -> bool:
    """Return whether the remote topic is called like its source topic."""
    return (
        flow.policy is PolicyName.IDENTITY
        and policy_of(flow).format_remote_topic(flow.source.alias, topic) == topic
    )


def sources_of_name(
    topic: str,
    positions: Mapping[str, Collection[str]],
    names: Collection[str],
    policy: ReplicationPolicy,
) -> tuple[str, ...]:
    """Return the aliases that copied a topic of this name without a topic of their own on the target.

    `positions` are the topics with positions by source alias, `names` the topics of the target, `policy`
    the one by which the others may have named them.
    """
    return tuple(
        sorted(
            alias
            for alias, topics in positions.items()
            if topic in topics and policy.format_remote_topic(alias, topic) not in names
        )
    )


def find_collisions(
    flows: Iterable[FlowSpec], topics: Mapping[str, Collection[TopicDescription]]
) -> list[Collision]:
    """Return the remote topics that several of these flows write, by target and name.

    `topics` are those of each source, by alias. Two flows collide also when they copy the same topic
    of one source.
    """
    writers: dict[tuple[str, str], list[Writer]] = defaultdict(list)
    for flow in flows:
        alias = flow.source.alias
        policy = policy_of(flow)
        for topic in topics.get(alias, ()):
            if explain_topic(flow, topic).selected:
                remote = policy.format_remote_topic(alias, topic.name)
                writer = Writer(flow.name, alias, topic.name)
                writers[flow.target.alias, remote].append(writer)
    return [
        Collision(remote, tuple(found))
        for (_, remote), found in sorted(writers.items())
        if len(found) > 1
    ]


_POSITIONS_TOPIC = re.compile(r"mm2-offsets\.(.+)\.internal")


def refuse_existing_topics(
    target: ClusterClient, flow: FlowSpec, existing: Sequence[TopicDescription]
) -> dict[str, str]:
    """Return why the flow must not write into these topics of the target, by name; raises `ClusterFault`.

    `existing` are those that have their source topic's name and no position of the flow's source.
    """
    if flow.on_existing is OnExisting.APPEND or not existing:
        return {}
    ends = read_end_offsets(target, existing)
    written = [topic.name for topic in existing if ends[topic.name] != 0]
    if not written:
        return {}
    configs = describe_topic_configs(target, written)
    others = read_other_sources(target, flow, written)
    refusals = {
        name: refuse_existing(
            flow, Existing(name, ends[name], _is_ours(configs.get(name)), others[name])
        )
        for name in written
    }
    return {name: refusal for name, refusal in refusals.items() if refusal}


def read_end_offsets(
    client: ClusterClient, topics: Sequence[TopicDescription]
) -> dict[str, int | None]:
    """Return how far each topic was written, None when one of its partitions did not tell."""
    where = {t.name: [TopicPartition(t.name, p.partition) for p in t.partitions] for t in topics}
    asked = [partition for partitions in where.values() for partition in partitions]
    ranges = read_offset_ranges(client, asked, with_timestamps=False)
    ends = {name: [ranges[p].high_watermark for p in found] for name, found in where.items()}
    return {
        name: None if None in found else max((end or 0 for end in found), default=0)
        for name, found in ends.items()
    }


def read_other_sources(
    target: ClusterClient, flow: FlowSpec, topics: Collection[str]
) -> Mapping[str, tuple[str, ...]]:
    """Return which other sources have copied topics of these names without renaming them."""
    names = frozenset(list_topic_names(target))
    found = (_POSITIONS_TOPIC.fullmatch(name) for name in sorted(names))
    aliases = [match[1] for match in found if match and match[1] != flow.source.alias]
    positions = {
        alias: {where.topic for where in read_positions(target, alias)} for alias in aliases
    }
    return {
        t: sources_of_name(t, positions, names, DefaultReplicationPolicy(flow.separator))
        for t in topics
    }


def _is_ours(configs: Configs | ClusterFault | None) -> bool:
    """Return whether a topic has what crosslog sets on every remote topic that it makes."""
    if configs is None or isinstance(configs, ClusterFault):
        return False
    return all(
        key in configs and configs[key].is_override and configs[key].value == value
        for key, value in OWN_CONFIGS.items()
    )
