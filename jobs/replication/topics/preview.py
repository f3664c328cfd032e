"""Preview of a flow: its effect on every source topic, with warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from jobs.cluster.admin.brokers import describe_cluster
from jobs.cluster.admin.configs import ConfigValue, describe_topic_configs
from jobs.cluster.admin.topics import describe_topics
from jobs.cluster.capabilities.reader import read_versions
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicDescription
from jobs.cluster.errors import InvalidFields
from jobs.replication.copy.positions import positions_topic, read_positions
from jobs.replication.findings.selection_findings import SelectionFinding, find_selection_findings
from jobs.replication.flow.selection import explain_topic, is_cycle, is_recursion, policy_of
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.naming.topology import sources_of
from jobs.replication.policy import DefaultReplicationPolicy
from jobs.replication.topics.changes import Creation, plan_creation, plan_growth
from jobs.replication.topics.fan_in import keeps_name, refuse_existing_topics

# Source: org.apache.kafka.common.internals.Topic.MAX_NAME_LENGTH.
LONGEST_NAME = 249
_MIN_ISR = "min.insync.replicas"


@dataclass(frozen=True, slots=True)
class PreviewInput:
    """What is known of both clusters; what was not requested is empty or None.

    `target` are the topics of the target by name, None when not known. `configs` are those of source
    topics, `brokers` the number of the target's live brokers, `refused` the target's topics that the
    flow must not write, with the reason, `settings` those that its version of Kafka knows. `min_isr` is what
    a topic of the target gets that does not set it, `limits_min_isr` whether its brokers ask for no more than
    there are replicas.
    """

    topics: Sequence[TopicDescription]
    target: Mapping[str, TopicDescription] | None = None
    configs: Mapping[str, Mapping[str, ConfigValue]] = field(default_factory=dict)
    brokers: int | None = None
    refused: Mapping[str, str] = field(default_factory=dict)
    settings: frozenset[str] | None = None
    min_isr: int | None = None
    limits_min_isr: bool | None = None


@dataclass(frozen=True, slots=True)
class TopicPreview:
    """What a flow would do with one topic.

    `reason` is why it is selected or not. `creates` is the remote topic that would be made, None when
    it is there; `grows` is (partitions now, partitions then). `warnings` are sentences for a person.
    """

    topic: str
    partitions: int
    is_selected: bool
    reason: str
    remote_topic: str = ""
    creates: Creation | None = None
    grows: tuple[int, int] | None = None
    warnings: tuple[str, ...] = ()

    def to_mapping(self) -> dict[str, Any]:
        values = asdict(self)
        if self.creates is not None:
            del values["creates"]["needed"]  # part of its `configs`
        return values


def preview_topics(flow: FlowSpec, known: PreviewInput) -> list[TopicPreview]:
    """Return the preview of every topic, in the order given. Pure."""
    surprises = find_selection_findings(flow, known.topics, frozenset(known.target or ()))
    if known.target is None:  # it is not known whether a name on the source came from there
        surprises = []
    return [_preview(flow, known, topic, surprises) for topic in known.topics]


def read_known(source: ClusterClient, target: ClusterClient, flow: FlowSpec) -> PreviewInput:
    """Ask both clusters for what a preview needs; changes nothing, raises `ClusterFault`."""
    topics = describe_topics(source)
    there = {topic.name: topic for topic in describe_topics(target)}
    selected = [topic for topic in topics if explain_topic(flow, topic).selected]
    configs = describe_topic_configs(source, [topic.name for topic in selected])
    sample = _sample(target, flow, there)
    least = sample.get(_MIN_ISR)
    return PreviewInput(
        topics,
        there,
        {name: found for name, found in configs.items() if isinstance(found, dict)},
        len(describe_cluster(target).brokers),
        _refused(target, flow, selected, there),
        frozenset(sample) or None,
        int(least.value) if least and least.value and not least.is_override else None,
        read_versions(target).limits_min_isr,
    )


def _sample(
    target: ClusterClient, flow: FlowSpec, there: Mapping[str, TopicDescription]
) -> Mapping[str, ConfigValue]:
    own = positions_topic(flow.source.alias)
    sample = own if own in there else next(iter(there), None)
    found = describe_topic_configs(target, [sample])[sample] if sample else {}
    return found if isinstance(found, dict) else {}


def _refused(
    target: ClusterClient,
    flow: FlowSpec,
    selected: Sequence[TopicDescription],
    there: Mapping[str, TopicDescription],
) -> dict[str, str]:
    kept = [there[t.name] for t in selected if keeps_name(flow, t.name) and t.name in there]
    if not kept:
        return {}
    copied = {where.topic for where in read_positions(target, flow.source.alias)}
    return refuse_existing_topics(
        target, flow, [topic for topic in kept if topic.name not in copied]
    )


def _preview(
    flow: FlowSpec,
    known: PreviewInput,
    topic: TopicDescription,
    surprises: Sequence[SelectionFinding],
) -> TopicPreview:
    verdict = explain_topic(flow, topic)
    warnings = tuple(surprise.text for surprise in surprises if surprise.topic == topic.name)
    count = len(topic.partitions)
    if not verdict.selected:
        return TopicPreview(topic.name, count, False, verdict.reason, warnings=warnings)  # noqa: FBT003
    name = policy_of(flow).format_remote_topic(flow.source.alias, topic.name)
    if name in known.refused:
        warnings = (*warnings, known.refused[name])
    if len(name) > LONGEST_NAME:
        warnings = (*warnings, f"{name} has {len(name)} letters; Kafka allows {LONGEST_NAME}.")
    creates, grows, told = _remote(flow, known, topic, name)
    return TopicPreview(
        topic.name,
        count,
        is_selected=True,
        reason=verdict.reason,
        remote_topic=name,
        creates=creates,
        grows=grows,
        warnings=(*warnings, *told),
    )


def _refused_writes(flow: FlowSpec, known: PreviewInput, made: Creation) -> Iterator[str]:
    """Yield a warning where brokers before Kafka 3.7 would refuse every write; see `effective_min_isr`."""
    factor, least = made.replication_factor, made.configs.get(_MIN_ISR) or known.min_isr
    if factor is None or least is None or factor >= int(least) or known.limits_min_isr:
        return
    is_old = known.limits_min_isr is False
    yield (
        f"{made.remote_topic} would have replication factor {factor} and {_MIN_ISR} {least}: "
        f"{'' if is_old else 'where '}{flow.target.alias} has brokers before Kafka 3.7, "
        f"{'and they' if is_old else 'they'} refuse every write to it. Give the flow a replication_factor of "
        f"{least} or more, or set {_MIN_ISR} of the topic to {factor}."
    )


def _remote(
    flow: FlowSpec, known: PreviewInput, topic: TopicDescription, name: str
) -> tuple[Creation | None, tuple[int, int] | None, tuple[str, ...]]:
    configs = known.configs.get(topic.name, {})
    if known.target is None or name in known.refused or not topic.partitions:
        return None, None, ()
    if name not in known.target:
        made = plan_creation(flow, topic, name, configs, known.brokers, known.settings)
        return made, None, tuple(_refused_writes(flow, known, made))
    counts = len(topic.partitions), len(known.target[name].partitions)
    policy = configs.get("cleanup.policy")
    growth = plan_growth(flow, topic.name, name, counts, (policy and policy.value) or "")
    return (
        None,
        (growth.before, growth.after) if growth else None,
        growth.warnings if growth else (),
    )


SELECTS_NOTHING = "selects_nothing"
_MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Caution:
    """Something hardly wanted: the flow is made only when its name was typed again."""

    code: str
    text: str


def find_cautions(
    flow: FlowSpec, known: PreviewInput, previews: Sequence[TopicPreview]
) -> list[Caution]:
    """Return what is hardly wanted, as far as the topics of both clusters are known.

    Of a flow that MirrorMaker 2 copies only whether it selects anything: crosslog writes nothing there.
    """
    found = list(_selects_nothing(flow, known, previews))
    if not flow.is_watched:
        found += [*_copies_back(flow, previews), *_single_replicas(flow, known, previews)]
    return found


def refuse_unconfirmed(flow: FlowSpec, cautions: Sequence[Caution], confirmed: str) -> None:
    """Raise `InvalidFields` at `confirm` for cautions, unless the flow's name was typed again."""
    if cautions and confirmed != flow.name:
        told = " ".join(caution.text for caution in cautions)
        raise InvalidFields({"confirm": f"{told} If that is wanted, confirm it: {flow.name}"})


def _selects_nothing(
    flow: FlowSpec, known: PreviewInput, previews: Sequence[TopicPreview]
) -> Iterator[Caution]:
    """A source may have had nothing but copies so far, as one that others fail over to: that is no fault."""
    own = [topic for topic in known.topics if _is_own(flow, topic)]
    if own and not any(one.is_selected for one in previews):
        yield Caution(
            SELECTS_NOTHING,
            f"0 of {len(own)} topics of {flow.source.alias} match: no records are replicated until one does.",
        )


def _is_own(flow: FlowSpec, topic: TopicDescription) -> bool:
    policy, name = policy_of(flow), topic.name
    is_internal = topic.is_internal or policy.is_internal_topic(name)
    is_heartbeats = policy.is_heartbeats_topic(name)
    is_copy = is_cycle(policy, name, flow.target.alias) or is_recursion(flow, name)
    return not (is_internal or is_heartbeats or is_copy)


def _copies_back(flow: FlowSpec, previews: Sequence[TopicPreview]) -> Iterator[Caution]:
    """The flow's own policy protects against its own names; copies may have been named by another."""
    names = DefaultReplicationPolicy()
    back = [
        one
        for one in previews
        if one.is_selected and flow.target.alias in sources_of(names, one.topic)
    ]
    if back:
        yield Caution(
            "copies_back",
            f"{_named([one.topic for one in back])} came from {flow.target.alias}: this flow would write "
            f"the copy back there, as {back[0].remote_topic}.",
        )


def _single_replicas(
    flow: FlowSpec, known: PreviewInput, previews: Sequence[TopicPreview]
) -> Iterator[Caution]:
    if known.brokers is None or known.brokers < 2:  # noqa: PLR2004  a second replica needs a second broker
        return
    made = [one.creates for one in previews if one.creates is not None]
    single = [one.remote_topic for one in made if one.replication_factor == 1]
    if single:
        yield Caution(
            "single_replica",
            f"{_named(single)} would be made with replication factor 1 although {flow.target.alias} has "
            f"{known.brokers} brokers: a partition is offline whenever its broker is. Set the flow's "
            "replication factor.",
        )


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown
