"""Selection of a flow's topics and groups, with the reasons for the others.

Source: shouldReplicateTopic and isCycle of MirrorSourceConnector, DefaultTopicFilter and
DefaultGroupFilter of org.apache.kafka.connect.mirror.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.cluster.descriptions import TopicDescription
from jobs.patterns.matching import matcher_of
from jobs.replication.flow.spec import FlowSpec, HeartbeatsTo, PolicyName
from jobs.replication.naming.custom_policy import CustomReplicationPolicy
from jobs.replication.naming.topology import sources_of
from jobs.replication.policy import (
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    ReplicationPolicy,
)


@dataclass(frozen=True, slots=True)
class NameFilter:
    """Regular expressions over whole names; what is excluded is never included.

    Without any pattern to include, nothing passes. The patterns were checked before (`pattern_problem`).
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def accepts(self, name: str) -> bool:
        """Return whether this name passes."""
        return self.including(name) is not None and self.excluding(name) is None

    def including(self, name: str) -> str | None:
        """Return the first pattern that includes a name, None when there is none."""
        return _first_match(self.include, name)

    def excluding(self, name: str) -> str | None:
        """Return the first pattern that excludes a name, None when there is none."""
        return _first_match(self.exclude, name)


class TopicFilter(NameFilter):
    """Which topics a person wants."""


class GroupFilter(NameFilter):
    """Which consumer groups a person wants."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Whether a topic is replicated; `reason` is a sentence for a person, for both answers."""

    selected: bool
    reason: str


def policy_of(spec: FlowSpec) -> ReplicationPolicy:
    """Return the policy that names the remote topics of a flow."""
    if spec.policy is PolicyName.IDENTITY:
        return IdentityReplicationPolicy(spec.source.alias, spec.separator)
    if spec.custom_policy is not None:
        return CustomReplicationPolicy(spec.custom_policy)
    return DefaultReplicationPolicy(spec.separator)


def topic_filter_of(spec: FlowSpec) -> TopicFilter:
    """Return the topics that a flow's patterns name."""
    return TopicFilter(spec.topics, spec.topics_exclude)


def group_filter_of(spec: FlowSpec) -> GroupFilter:
    """Return the groups that a flow's patterns name."""
    return GroupFilter(spec.groups, spec.groups_exclude)


def is_cycle(policy: ReplicationPolicy, topic: str, target_alias: str) -> bool:
    """Return whether a topic came from the target, over any number of hops."""
    source = policy.topic_source(topic)
    while source is not None:
        if source == target_alias:
            return True
        upstream = policy.upstream_topic(topic)
        if upstream is None or upstream == topic:
            return False
        topic, source = upstream, policy.topic_source(upstream)
    return False


def is_recursion(spec: FlowSpec, topic: str) -> bool:
    """Return whether a topic of the source came from the source itself, over other clusters or none.

    That happens when two programs call the same cluster differently: each takes the other's copies
    for new topics, and names grow without end. Source: KAFKA-9914 (apache/kafka#22079), which leaves
    IdentityReplicationPolicy as it was.
    """
    if spec.policy is PolicyName.IDENTITY:
        return False
    return spec.source.alias in sources_of(policy_of(spec), topic)


def replicates_topic(
    policy: ReplicationPolicy,
    wanted: TopicFilter,
    topic: str,
    *,
    target_alias: str,
    heartbeats_replication_enabled: bool,
) -> bool:
    """Return MirrorMaker 2's answer: heartbeats need no filter when their replication is enabled."""
    is_wanted = wanted.accepts(topic) or (
        heartbeats_replication_enabled and policy.is_heartbeats_topic(topic)
    )
    return (
        is_wanted
        and not policy.is_internal_topic(topic)
        and not is_cycle(policy, topic, target_alias)
    )


def should_replicate(spec: FlowSpec, topic: str) -> bool:
    """Return whether a topic of this name is one of a flow's topics.

    Heartbeats that the flow's patterns do not name are copied beside them, see `copies_heartbeats`.
    Unlike MirrorMaker 2 up to 4.3, a topic that came from the source itself is not taken, see
    `is_recursion`.
    """
    return _replicates(spec, topic, heartbeats=False)


def copies_heartbeats(spec: FlowSpec, topic: str) -> bool:
    """Return whether a topic of this name holds heartbeats that are copied beside the flow's topics."""
    return (
        spec.heartbeats is not HeartbeatsTo.NONE
        and not should_replicate(spec, topic)
        and _replicates(spec, topic, heartbeats=True)
    )


def _replicates(spec: FlowSpec, topic: str, *, heartbeats: bool) -> bool:
    return not is_recursion(spec, topic) and replicates_topic(
        policy_of(spec),
        topic_filter_of(spec),
        topic,
        target_alias=spec.target.alias,
        heartbeats_replication_enabled=heartbeats,
    )


def explain_topic(spec: FlowSpec, topic: TopicDescription) -> Selection:
    """Return whether a flow replicates a topic, with the reason."""
    policy, wanted, name = policy_of(spec), topic_filter_of(spec), topic.name
    if topic.is_internal or policy.is_internal_topic(name):
        return Selection(
            selected=False,
            reason="It is an internal topic of Kafka, Connect or a replication flow.",
        )
    pattern = wanted.including(name)
    if pattern is None:
        return Selection(selected=False, reason="No pattern of the flow's topics matches it.")
    excluded_by = wanted.excluding(name)
    if excluded_by is not None:
        return Selection(selected=False, reason=f"It is excluded by the pattern {excluded_by}")
    if is_cycle(policy, name, spec.target.alias):
        return Selection(
            selected=False,
            reason=f"It is a remote topic from {spec.target.alias}: copying it back would be a cycle.",
        )
    if is_recursion(spec, name):
        return Selection(
            selected=False,
            reason=f"It is a remote topic from {spec.source.alias} itself: "
            "its copy would be copied again and again.",
        )
    return Selection(selected=True, reason=f"It matches the pattern {pattern}")


def select_topics(
    spec: FlowSpec, descriptions: Sequence[TopicDescription]
) -> list[TopicDescription]:
    """Return the topics that a flow replicates, in the order given."""
    return [topic for topic in descriptions if explain_topic(spec, topic).selected]


def _first_match(patterns: tuple[str, ...], name: str) -> str | None:
    place = matcher_of(patterns).first(name)
    return None if place is None else patterns[place]
