"""What both clusters say about replicated topics: partitions, settings, ACLs. Only reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from jobs.cluster.admin.acls import AclBinding, describe_acls
from jobs.cluster.admin.configs import ConfigValue, describe_topic_configs
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicDescription
from jobs.cluster.errors import ClusterFault
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.topics.acl_sync import GROUP, TOPIC
from jobs.replication.topics.changes import ACL, TopicNote
from jobs.replication.topics.remote_topics import describe_remote_topics, remote_names

# What can be asked for.
CONFIGS, ACLS = "configs", "acls"
ConfigsOrFault = dict[str, ConfigValue] | ClusterFault


@dataclass(frozen=True, slots=True)
class AclsState:
    """The bindings of both clusters; None where a cluster has no authorizer."""

    source: Sequence[AclBinding] | None
    target: Sequence[AclBinding] | None


@dataclass(frozen=True, slots=True)
class TopicsState:
    """Source topics, their remote topics by name (with an error when not there), settings and ACLs.

    A topic is absent from the settings when nobody asked; `acls` is None when nobody asked.
    `faults` say what could not be read.
    """

    topics: tuple[TopicDescription, ...]
    names: Mapping[str, str]
    remotes: Mapping[str, TopicDescription]
    source_configs: Mapping[str, ConfigsOrFault] = field(default_factory=dict)
    target_configs: Mapping[str, ConfigsOrFault] = field(default_factory=dict)
    acls: AclsState | None = None
    faults: tuple[TopicNote, ...] = ()

    def pairs(self) -> list[tuple[TopicDescription, TopicDescription]]:
        """Return the source topics that have a remote topic, each with it."""
        found = [
            (t, self.remotes[self.names[t.name]])
            for t in self.topics
            if t.name in self.names and self.names[t.name] in self.remotes
        ]
        return [(topic, remote) for topic, remote in found if remote.error is None]


def read_topics_state(
    source: ClusterClient,
    target: ClusterClient,
    flow: FlowSpec,
    topics: Sequence[TopicDescription],
    *,
    parts: Collection[str],
) -> TopicsState:
    """Ask both clusters; `parts` are some of `CONFIGS` and `ACLS`. What fails is in `faults`."""
    names = remote_names(flow, topics)
    faults: list[TopicNote] = []
    remotes: dict[str, TopicDescription] = {}
    source_configs: dict[str, ConfigsOrFault] = {}
    target_configs: dict[str, ConfigsOrFault] = {}
    acls = None
    try:
        remotes = describe_remote_topics(target, names.values())
        there = [name for name, remote in remotes.items() if remote.error is None]
        if CONFIGS in parts and there:
            source_configs = describe_topic_configs(source, names.keys())
            target_configs = describe_topic_configs(target, there)
    except ClusterFault as fault:
        faults.append(TopicNote("", "", f"{fault} {fault.hint}"))
    if ACLS in parts:
        acls = _read_acls(source, target, faults)
    return TopicsState(
        tuple(topics), names, remotes, source_configs, target_configs, acls, tuple(faults)
    )


def _read_acls(
    source: ClusterClient, target: ClusterClient, faults: list[TopicNote]
) -> AclsState | None:
    try:
        on_source = describe_acls(source, (TOPIC, GROUP))
        return AclsState(on_source, describe_acls(target) if on_source is not None else None)
    except ClusterFault as fault:
        faults.append(TopicNote("", ACL, f"{fault} {fault.hint}"))
        return None
