"""Plan of the next topic sync (dry run). Read-only."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jobs.cluster.admin.acls import AclBinding, describe_acls
from jobs.cluster.admin.configs import ConfigValue, describe_topic_configs
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicDescription
from jobs.cluster.errors import ClusterFault
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.topics.acl_sync import GROUP, TOPIC, AclPlan, plan_acls
from jobs.replication.topics.changes import (
    ACL,
    PARTITIONS,
    Growth,
    TopicChange,
    TopicNote,
    plan_growth,
)
from jobs.replication.topics.config_sync import (
    ConfigDifference,
    Reason,
    Verdict,
    compare_configs,
    overrides_of,
)
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

    A topic is absent from the settings when it was not requested; `acls` is None when not requested.
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


Overrides = Mapping[str, Mapping[str, str]]

# Differences that stay and that a person might not expect.
_TOLD = frozenset({Reason.TARGET_ONLY, Reason.NOT_ON_TARGET, Reason.NOT_ON_SOURCE})
_NO_AUTHORIZER = "The {} cluster has no authorizer, so no ACL is synced."


@dataclass(frozen=True, slots=True)
class TopicPlan:
    """Growths, settings (by remote topic) and ACLs to be made; what is left as it is, and why.

    `failures` are what could not be found out. `overrides` are what the source of each remote topic
    itself sets: the `copied` of the next plan.
    """

    growths: tuple[Growth, ...] = ()
    configs: Mapping[str, tuple[ConfigDifference, ...]] = field(default_factory=dict)
    acls: tuple[AclBinding, ...] = ()
    notes: tuple[TopicNote, ...] = ()
    failures: tuple[TopicNote, ...] = ()
    overrides: Overrides = field(default_factory=dict)

    def changes(self) -> list[TopicChange]:
        """Return every change, in the order in which it is made."""
        return [
            *(growth.change() for growth in self.growths),
            *(config_change(n, d) for n, found in self.configs.items() for d in found),
            *map(acl_change, self.acls),
        ]

    def lines(self) -> list[str]:
        planned = [str(change) for change in self.changes()] or ["No changes."]
        left = [f"note: {note}" for note in self.notes]
        return [*planned, *left, *(f"failed: {failure}" for failure in self.failures)]

    def to_mapping(self) -> dict[str, Any]:
        return {
            "changes": [change.to_mapping() for change in self.changes()],
            "notes": [note.to_mapping() for note in self.notes],
            "failures": [failure.to_mapping() for failure in self.failures],
        }


def plan_topics(flow: FlowSpec, state: TopicsState, copied: Overrides | None = None) -> TopicPlan:
    """Return what the sync does with this state of both clusters.

    `copied` are the `overrides` of the plan before, see `compare_configs`.
    """
    configs, notes, failures = _plan_configs(flow, state, copied or {})
    growths = _growths(flow, state)
    acls = _plan_acls(state) if flow.sync_acls else AclPlan()
    grown = [TopicNote(g.remote_topic, PARTITIONS, w) for g in growths for w in g.warnings]
    return TopicPlan(
        tuple(growths),
        configs,
        acls.missing,
        (*_not_there(state), *grown, *notes, *acls.notes),
        (*state.faults, *failures),
        _overrides(state),
    )


def config_change(remote_topic: str, found: ConfigDifference) -> TopicChange:
    """Return a difference that is to be removed as a change."""
    alteration = found.alteration()
    after = alteration.value if alteration else found.target_value
    return TopicChange(remote_topic, found.key, found.target_value, after, found.reason.value)


def acl_change(binding: AclBinding) -> TopicChange:
    """Return a binding that is to be made as a change."""
    return TopicChange(binding.name, ACL, None, str(binding), "The source topic has this ACL.")


def _overrides(state: TopicsState) -> Overrides:
    found = {remote.name: state.source_configs.get(topic.name) for topic, remote in state.pairs()}
    return {name: overrides_of(c) for name, c in found.items() if isinstance(c, dict)}


def _growths(flow: FlowSpec, state: TopicsState) -> list[Growth]:
    planned = (
        plan_growth(
            flow,
            topic.name,
            remote.name,
            (len(topic.partitions), len(remote.partitions)),
            _cleanup_policy(state, topic.name),
        )
        for topic, remote in state.pairs()
    )
    return [growth for growth in planned if growth]


def _cleanup_policy(state: TopicsState, topic: str) -> str:
    configs = state.source_configs.get(topic, {})
    if isinstance(configs, ClusterFault) or "cleanup.policy" not in configs:
        return ""
    return configs["cleanup.policy"].value or ""


def _plan_configs(
    flow: FlowSpec, state: TopicsState, copied: Overrides
) -> tuple[dict[str, tuple[ConfigDifference, ...]], list[TopicNote], list[TopicNote]]:
    planned: dict[str, tuple[ConfigDifference, ...]] = {}
    notes: list[TopicNote] = []
    failures: list[TopicNote] = []
    for topic, remote in state.pairs() if flow.sync_configs else ():
        both = state.source_configs.get(topic.name), state.target_configs.get(remote.name)
        failures += [_fault(remote.name, one) for one in both if isinstance(one, ClusterFault)]
        source, target = both
        if isinstance(source, dict) and isinstance(target, dict):
            found = compare_configs(flow, source, target, copied.get(remote.name))
            notes += _kept(remote.name, found)
            changing = tuple(one for one in found if one.verdict is not Verdict.KEEP)
            planned |= {remote.name: changing} if changing else {}
    return planned, notes, failures


def _fault(topic: str, fault: ClusterFault) -> TopicNote:
    return TopicNote(topic, "", f"{fault} {fault.hint}")


def _kept(topic: str, found: Iterable[ConfigDifference]) -> Iterable[TopicNote]:
    """Tell what stays although a person might not expect it, and what MirrorMaker 2 would delete."""
    for one in found:
        if one.reason in _TOLD:
            mm2 = " MirrorMaker 2 would delete it." if one.mm2_deletes else ""
            text = f"{one.target_value} ({one.source_value} on the source). {one.reason.value}{mm2}"
            yield TopicNote(topic, one.key, text)
    quiet = [o for o in found if o.mm2_deletes and o.reason in (Reason.SAME_AS_DEFAULT, Reason.OWN)]
    if quiet:
        named = ", ".join(f"{one.key}={one.target_value}" for one in quiet)
        text = f"MirrorMaker 2 would also delete {named}: kept, they make copies like the source."
        yield TopicNote(topic, "", text)


def _plan_acls(state: TopicsState) -> AclPlan:
    if state.acls is None:
        return AclPlan()
    if state.acls.source is None:
        return AclPlan((), (TopicNote("", ACL, _NO_AUTHORIZER.format("source")),))
    if state.acls.target is None:
        return AclPlan((), (TopicNote("", ACL, _NO_AUTHORIZER.format("target")),))
    remotes = {topic.name: remote.name for topic, remote in state.pairs()}
    return plan_acls(state.acls.source, state.acls.target, remotes)


def _not_there(state: TopicsState) -> Iterable[TopicNote]:
    for name, remote in state.remotes.items():
        if remote.error is not None:
            yield TopicNote(name, "", f"There is nothing to sync yet: {remote.error}")
