"""Ask both clusters for the drift of a flow. Changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.cluster.admin.topics import describe_topics, list_topic_names
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicDescription
from jobs.replication.copy.positions import read_positions
from jobs.replication.findings.selection_findings import find_selection_findings
from jobs.replication.flow.selection import select_topics
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.topics.drift import DriftReport, compare_topics
from jobs.replication.topics.existing import read_other_sources, refuse_existing_topics
from jobs.replication.topics.fan_in import keeps_name, mixed_sources
from jobs.replication.topics.state import ACLS, CONFIGS, TopicsState, read_topics_state


def read_drift(source: ClusterClient, target: ClusterClient, flow: FlowSpec) -> DriftReport:
    """Return the drift of all topics of a flow; raises `ClusterFault` when a cluster is not there."""
    topics = describe_topics(source)
    selected = select_topics(flow, topics)
    state = read_topics_state(source, target, flow, selected, parts=(CONFIGS, ACLS))
    surprises = find_selection_findings(flow, topics, frozenset(list_topic_names(target)))
    return compare_topics(flow, state, surprises, _refused(target, flow, selected, state))


def _refused(
    target: ClusterClient,
    flow: FlowSpec,
    topics: Sequence[TopicDescription],
    state: TopicsState,
) -> dict[str, str]:
    """Return remote topics that are not this flow's alone; unlike a survey, those in use are looked at."""
    there = {remote.name: remote for topic, remote in state.pairs() if keeps_name(flow, topic.name)}
    if not there:
        return {}
    copied = {where.topic for where in read_positions(target, flow.source.alias)}
    first = [remote for name, remote in there.items() if name not in copied]
    others = read_other_sources(target, flow, [name for name in there if name in copied])
    mixed = {name: mixed_sources(flow, name, found) for name, found in others.items() if found}
    return {**mixed, **refuse_existing_topics(target, flow, first)}
