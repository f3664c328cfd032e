"""Which topics and groups a flow takes: MirrorMaker 2's filters, and why a topic is left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jobs.cluster.descriptions import TopicDescription
from jobs.replication.flow import FlowSpec, PolicyName
from jobs.replication.policy import (
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    ReplicationPolicy,
)


class NameFilter:
    """Takes a name that matches one of `include` as a whole and none of `exclude`."""

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        self._include = [re.compile(pattern) for pattern in include]
        self._exclude = [re.compile(pattern) for pattern in exclude]

    def takes(self, name: str) -> bool:
        """Return whether the name passes."""
        return self.reason_against(name) is None

    def reason_against(self, name: str) -> str | None:
        """Return why the name does not pass, None when it does."""
        for pattern in self._exclude:
            if pattern.fullmatch(name):
                return f"excluded by {pattern.pattern}"
        if any(pattern.fullmatch(name) for pattern in self._include):
            return None
        return "matches none of the patterns"


@dataclass(frozen=True, slots=True)
class Selection:
    """Whether a flow takes a topic, and the reason in words."""

    is_selected: bool
    reason: str


def policy_of(spec: FlowSpec) -> ReplicationPolicy:
    """Return the naming policy of a flow."""
    if spec.policy is PolicyName.IDENTITY:
        return IdentityReplicationPolicy(spec.source.alias, spec.separator)
    return DefaultReplicationPolicy(spec.separator)


def topic_filter(spec: FlowSpec) -> NameFilter:
    """Return the flow's filter for topics."""
    return NameFilter(spec.topics, spec.topics_exclude)


def group_filter(spec: FlowSpec) -> NameFilter:
    """Return the flow's filter for consumer groups."""
    return NameFilter(spec.groups, spec.groups_exclude)


def is_cycle(policy: ReplicationPolicy, topic: str, target_alias: str) -> bool:
    """Return whether a topic came from the target, directly or over other clusters."""
    source = policy.topic_source(topic)
    if source is None:
        return False
    if source == target_alias:
        return True
    upstream = policy.upstream_topic(topic)
    if upstream is None or upstream == topic:
        return False
    return is_cycle(policy, upstream, target_alias)


def explain_topic(spec: FlowSpec, topic: str) -> Selection:
    """Return whether the flow takes this topic of its source, and why."""
    policy = policy_of(spec)
    if policy.is_internal_topic(topic):
        return Selection(False, "internal topic of Kafka or MirrorMaker 2")  # noqa: FBT003
    if is_cycle(policy, topic, spec.target.alias):
        reason = f"comes from {spec.target.alias}: copying it back would be a cycle"
        return Selection(False, reason)  # noqa: FBT003
    if policy.is_heartbeats_topic(topic):
        return Selection(True, "heartbeats are always replicated")  # noqa: FBT003
    reason = topic_filter(spec).reason_against(topic)
    return Selection(reason is None, reason or "matches")


def select_topics(spec: FlowSpec, topics: Iterable[TopicDescription]) -> list[TopicDescription]:
    """Return the topics that the flow takes and that the source could describe."""
    return [t for t in topics if not t.error and explain_topic(spec, t.name).is_selected]
