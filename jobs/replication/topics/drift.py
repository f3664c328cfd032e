"""In what remote topics differ from their source topics, what the next sync does about it, and what is
unexpected in a flow. Changes nothing; only `read_drift` asks the clusters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from jobs.cluster.admin.acls import AclBinding
from jobs.cluster.admin.topics import describe_topics, list_topic_names
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicDescription
from jobs.replication.copy.positions import read_positions
from jobs.replication.findings.selection_findings import SelectionFinding, find_selection_findings
from jobs.replication.flow.selection import select_topics
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.topics.acl_sync import LITERAL, TOPIC, plan_acls
from jobs.replication.topics.changes import TopicNote
from jobs.replication.topics.config_sync import ConfigDifference, Reason, Verdict, compare_configs
from jobs.replication.topics.fan_in import (
    keeps_name,
    mixed_sources,
    read_other_sources,
    refuse_existing_topics,
)
from jobs.replication.topics.plan import (
    ACLS,
    CONFIGS,
    AclsState,
    TopicsState,
    plan_topics,
    read_topics_state,
)

# Differences that a person should look at.
_DRIFT = frozenset(
    {
        Reason.CHANGED,
        Reason.TAKEN_BACK,
        Reason.TOLD_TO_DELETE,
        Reason.TARGET_ONLY,
        Reason.NOT_ON_TARGET,
    }
)


@dataclass(frozen=True, slots=True)
class ConfigDrift:
    """A setting that differs.

    `next_sync` is `set`, `delete` or `keep`; `mm2_deletes`: MirrorMaker 2's next sync would delete it.
    `is_drift` is false for what two clusters may well have differently: excluded settings, those of
    broker files, defaults.
    """

    key: str
    source: str | None
    source_from: str | None
    target: str | None
    target_from: str | None
    next_sync: str
    why: str
    mm2_deletes: bool
    is_drift: bool


@dataclass(frozen=True, slots=True)
class AclDrift:
    """ACLs of the source topic that its remote topic lacks, and those that only the remote topic has."""

    missing: tuple[str, ...] = ()
    only_on_target: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicDrift:
    """One replicated topic on both sides.

    `problem` is why nothing is copied, or nothing can be compared. `acls` is None when they are not
    known.
    """

    topic: str
    remote_topic: str
    partitions: int
    remote_partitions: int
    replication_factor: int
    remote_replication_factor: int
    configs: tuple[ConfigDrift, ...] = ()
    acls: AclDrift | None = None
    problem: str = ""

    @property
    def is_drifted(self) -> bool:
        """Whether a person should look; another replication factor alone is no reason to."""
        has_acls = self.acls is not None and bool(self.acls.missing or self.acls.only_on_target)
        return (
            bool(self.problem)
            or self.partitions != self.remote_partitions
            or any(config.is_drift for config in self.configs)
            or has_acls
        )


@dataclass(frozen=True, slots=True)
class DriftReport:
    """All replicated topics of a flow, and what is surprising about the others.

    `refused` are remote topics that the flow must not write, with the reason. `next_changes` is what
    the next sync does. `never_synced` are sentences about ACLs that no sync ever makes on the target.
    """

    flow: str
    topics: tuple[TopicDrift, ...] = ()
    surprises: tuple[SelectionFinding, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    next_changes: tuple[str, ...] = ()
    notes: tuple[TopicNote, ...] = ()
    never_synced: tuple[str, ...] = ()

    @property
    def has_findings(self) -> bool:
        """Whether a person should look."""
        return any(t.is_drifted for t in self.topics) or bool(self.surprises or self.refused)

    def to_mapping(self) -> dict[str, Any]:
        return {
            "flow": self.flow,
            "topics": [{**asdict(t), "is_drifted": t.is_drifted} for t in self.topics],
            "surprises": [asdict(surprise) for surprise in self.surprises],
            "refused": dict(self.refused),
            "next_changes": list(self.next_changes),
            "notes": [note.to_mapping() for note in self.notes],
            "never_synced": list(self.never_synced),
        }


def compare_topics(
    flow: FlowSpec,
    state: TopicsState,
    surprises: Sequence[SelectionFinding] = (),
    refused: Mapping[str, str] | None = None,
) -> DriftReport:
    """Return the report on this state of both clusters."""
    plan = plan_topics(flow, state)
    return DriftReport(
        flow.name,
        tuple(_topic(flow, state, topic, refused or {}) for topic in state.topics),
        tuple(surprises),
        refused or {},
        tuple(str(change) for change in plan.changes() if change.topic not in (refused or {})),
        (*plan.notes, *plan.failures),
        _never_synced(state),
    )


def _never_synced(state: TopicsState) -> tuple[str, ...]:
    """Return what is said of ACLs of groups and of patterns; they are not about one topic."""
    if state.acls is None or state.acls.source is None:
        return ()
    notes = plan_acls(state.acls.source, state.acls.target or (), state.names).notes
    return tuple(note.text for note in notes if not note.topic)


def _topic(
    flow: FlowSpec, state: TopicsState, topic: TopicDescription, refused: Mapping[str, str]
) -> TopicDrift:
    name = state.names.get(topic.name, "")
    remote = state.remotes.get(name)
    drift = TopicDrift(
        topic.name,
        name,
        len(topic.partitions),
        len(remote.partitions) if remote else 0,
        _factor(topic),
        _factor(remote),
        problem=refused.get(name) or _problem(topic, remote),
    )
    if drift.problem:
        return drift
    found = _differences(flow, state, topic.name, name)
    return replace(
        drift,
        configs=tuple(_config(flow, one) for one in found),
        acls=_acls(state.acls, topic.name, name),
    )


def _factor(topic: TopicDescription | None) -> int:
    return max((len(p.replicas) for p in topic.partitions), default=0) if topic else 0


def _problem(topic: TopicDescription, remote: TopicDescription | None) -> str:
    if not topic.partitions:
        return f"The source did not answer with its partitions: {topic.error or 'no answer'}"
    if remote is None:
        return "The target did not answer."
    return f"There is no remote topic to compare with: {remote.error}" if remote.error else ""


def _differences(
    flow: FlowSpec, state: TopicsState, topic: str, remote: str
) -> list[ConfigDifference]:
    source, target = state.source_configs.get(topic), state.target_configs.get(remote)
    if not isinstance(source, dict) or not isinstance(target, dict):
        return []
    return compare_configs(flow, source, target)


def _config(flow: FlowSpec, found: ConfigDifference) -> ConfigDrift:
    return ConfigDrift(
        found.key,
        found.source_value,
        found.source.source.value if found.source else None,
        found.target_value,
        found.target.source.value if found.target else None,
        found.verdict.value if flow.sync_configs else Verdict.KEEP.value,
        found.reason.value,
        found.mm2_deletes,
        found.reason in _DRIFT,
    )


def _acls(acls: AclsState | None, topic: str, remote: str) -> AclDrift | None:
    if acls is None or acls.source is None or acls.target is None:
        return None
    missing = plan_acls(acls.source, acls.target, {topic: remote}).missing
    wanted = plan_acls(acls.source, (), {topic: remote}).missing
    extra = [b for b in _literal(acls.target, remote) if b not in wanted]
    return AclDrift(tuple(map(str, missing)), tuple(map(str, extra)))


def _literal(bindings: Iterable[AclBinding], name: str) -> list[AclBinding]:
    return [
        b for b in bindings if (b.resource_type, b.pattern_type, b.name) == (TOPIC, LITERAL, name)
    ]


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
