"""Topics that a flow excludes or renames unexpectedly. Pure.

Source: the traps of DefaultReplicationPolicy, IdentityReplicationPolicy and DefaultTopicFilter: names
decide what a topic is, and applications choose names without knowing that.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from jobs.cluster.descriptions import TopicDescription
from jobs.replication.flow.selection import explain_topic, is_recursion, policy_of, topic_filter_of
from jobs.replication.flow.spec import DEFAULT_TOPICS_EXCLUDE, FlowSpec, PolicyName
from jobs.replication.policy import ReplicationPolicy

# What Kafka, Connect and MirrorMaker 2 themselves call their topics.
_KNOWN_INTERNAL = re.compile(
    r"__(consumer_offsets|transaction_state|share_group_state|cluster_metadata|remote_log_metadata)"
    r"|mm2-(configs|offsets|status|offset-syncs)[._-].*internal"
    r"|.*checkpoints.internal"
)


@dataclass(frozen=True, slots=True)
class SelectionFinding:
    """A topic of the source and a sentence about what happens to it and why."""

    topic: str
    text: str


def find_selection_findings(
    flow: FlowSpec, topics: Sequence[TopicDescription], target_names: Collection[str]
) -> list[SelectionFinding]:
    """Return the surprises among the topics of the source; `target_names` are the target's topics."""
    policy = policy_of(flow)
    found = [(topic.name, _surprise(flow, policy, topic, target_names)) for topic in topics]
    return [SelectionFinding(name, text) for name, text in found if text]


def _surprise(
    flow: FlowSpec, policy: ReplicationPolicy, topic: TopicDescription, on_target: Collection[str]
) -> str:
    name = topic.name
    if topic.is_internal or _KNOWN_INTERNAL.fullmatch(name):
        return ""
    if flow.is_watched and name != policy.heartbeats_topic() and policy.is_heartbeats_topic(name):
        return _taken_for_heartbeats(flow, policy, name)
    if topic_filter_of(flow).including(name) is None:
        return ""
    if explain_topic(flow, topic).selected:
        return _renamed(flow, policy, name)
    return _left_out(flow, policy, name, on_target)


def _left_out(
    flow: FlowSpec, policy: ReplicationPolicy, name: str, on_target: Collection[str]
) -> str:
    if policy.is_internal_topic(name):
        return (
            "Excluded: its name begins with __ or a dot, or ends with internal, as Kafka's internal topics "
            "do. No pattern can change that."
        )
    excluded_by = topic_filter_of(flow).excluding(name)
    if excluded_by is not None:
        is_default = excluded_by in DEFAULT_TOPICS_EXCLUDE
        return f"Excluded by MirrorMaker 2's default pattern {excluded_by}." if is_default else ""
    return _cycle(flow, policy, name, on_target)


def _taken_for_heartbeats(flow: FlowSpec, policy: ReplicationPolicy, name: str) -> str:
    """Tell of a topic that MirrorMaker 2 copies whatever the patterns say, unless it is one of its own."""
    if topic_filter_of(flow).accepts(name) or policy.topic_source(name) == flow.target.alias:
        return ""
    return (
        "Replicated although no pattern selects it: MirrorMaker 2 takes its name for heartbeats, which it "
        "always replicates (heartbeats.replication.enabled)."
    )


def _renamed(flow: FlowSpec, policy: ReplicationPolicy, name: str) -> str:
    remote = policy.format_remote_topic(flow.source.alias, name)
    if flow.policy is not PolicyName.IDENTITY or name in (remote, policy.heartbeats_topic()):
        return ""
    return (
        f"Named {remote} on the target although names are kept: IdentityReplicationPolicy takes every name "
        "that ends in heartbeats for MirrorMaker 2's."
    )


def _cycle(flow: FlowSpec, policy: ReplicationPolicy, name: str, on_target: Collection[str]) -> str:
    """Tell of a local topic whose name only looks as if it came from one of the two clusters."""
    source, upstream = policy.topic_source(name), policy.upstream_topic(name)
    if source == flow.target.alias and upstream not in on_target:
        return (
            f"Excluded: its name is that of a remote topic from {source}, but {source} has no topic "
            f"{upstream}. If it is a local topic, rename it, or choose another separator for the flow."
        )
    if source == flow.source.alias and is_recursion(flow, name):
        return (
            f"Excluded: its name is that of a remote topic from {source}. Either another program uses the "
            f"alias {source} for another cluster, or it is a local topic."
        )
    return ""
