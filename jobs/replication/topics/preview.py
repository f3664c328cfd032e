"""What a flow would do with every topic of its source, before it is started."""

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
from jobs.replication.copy.positions import positions_topic, read_positions
from jobs.replication.findings.selection_findings import SelectionFinding, find_selection_findings
from jobs.replication.flow.selection import explain_topic, policy_of
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.topics.creation import Creation, plan_creation
from jobs.replication.topics.existing import refuse_existing_topics
from jobs.replication.topics.fan_in import keeps_name
from jobs.replication.topics.growth import plan_growth

# Source: org.apache.kafka.common.internals.Topic.MAX_NAME_LENGTH.
LONGEST_NAME = 249
_MIN_ISR = "min.insync.replicas"


@dataclass(frozen=True, slots=True)
class PreviewInput:
    """What is known of both clusters; what nobody asked for is empty or None.

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
        """Return JSON values."""
        values = asdict(self)
        if self.creates is not None:
            del values["creates"]["needed"]  # part of its `configs`
        return values


def preview_topics(flow: FlowSpec, known: PreviewInput) -> list[TopicPreview]:
    """Return the preview of every topic, in the order given. Pure."""
    surprises = find_selection_findings(flow, known.topics, frozenset(known.target or ()))
    if known.target is None:  # whether a name on the source came from there cannot be told
        surprises = []
    return [_preview(flow, known, topic, surprises) for topic in known.topics]


def read_preview(
    source: ClusterClient, target: ClusterClient, flow: FlowSpec
) -> list[TopicPreview]:
    """Ask both clusters and return the preview; changes nothing, raises `ClusterFault`."""
    return preview_topics(flow, read_known(source, target, flow))


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
