"""Changes of remote topics as plain values: created, partitions added, configs changed. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from jobs.cluster.admin.configs import ConfigSource, ConfigValue
from jobs.cluster.admin.topics import NewTopicSpec
from jobs.cluster.descriptions import TopicDescription
from jobs.replication.flow.selection import NameFilter
from jobs.replication.flow.spec import FlowSpec, PolicyName
from jobs.replication.topics.config_sync import OWN_CONFIGS, configs_for_creation

PARTITIONS = "partitions"
ACL = "acl"


@dataclass(frozen=True, slots=True)
class TopicChange:
    """One change of a remote topic, done or to be done.

    `key` is the name of a setting, `partitions` or `acl`; `before` and `after` are None for what was
    not there and for what is deleted.
    """

    topic: str
    key: str
    before: str | None
    after: str | None
    why: str

    def __str__(self) -> str:
        return (
            f"{self.topic} {self.key}: {_shown(self.before)} -> {_shown(self.after)} ({self.why})"
        )

    def to_mapping(self) -> dict[str, str | None]:
        return {
            "topic": self.topic,
            "key": self.key,
            "from": self.before,
            "to": self.after,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class TopicNote:
    """A sentence about a remote topic; about the flow as a whole when `topic` is empty."""

    topic: str
    key: str
    text: str

    def __str__(self) -> str:
        return f"{self.topic} {self.key}: {self.text}" if self.topic else self.text

    def to_mapping(self) -> Mapping[str, str]:
        return {"topic": self.topic, "key": self.key, "text": self.text}


def _shown(value: str | None) -> str:
    return "not set" if value is None else value or '""'


@dataclass(frozen=True, slots=True)
class Growth:
    """A remote topic with fewer partitions than its source; `warnings` are findings for a person."""

    topic: str
    remote_topic: str
    before: int
    after: int
    warnings: tuple[str, ...] = ()

    def change(self) -> TopicChange:
        """Return the growth as a change."""
        why = f"The source topic {self.topic} has {self.after} partitions."
        return TopicChange(self.remote_topic, PARTITIONS, str(self.before), str(self.after), why)


def plan_growth(
    flow: FlowSpec, topic: str, remote_topic: str, counts: tuple[int, int], cleanup_policy: str
) -> Growth | None:
    """Return how a remote topic grows; None when it has enough partitions, or the flow may not.

    Source: MirrorSourceConnector.computeAndCreateTopicPartitions: a remote topic only ever grows. Unlike
    there, a person learns where more partitions change what a key means.
    `counts` are the partitions of the source topic and of the remote topic.
    """
    wanted, there = counts
    if there >= wanted or not flow.grow_partitions:
        return None
    moved = f"{remote_topic} grows from {there} to {wanted} partitions"
    warnings = []
    if flow.policy is PolicyName.IDENTITY:
        warnings.append(
            f"{moved}: a producer that writes into it on the target sends keys to other partitions "
            "from now on, and applications with state by partition must be rebuilt."
        )
    if "compact" in cleanup_policy:
        warnings.append(
            f"{moved} and is compacted: an old value of a key may stay for ever in the partition that "
            "the key had before, here as on the source."
        )
    return Growth(topic, remote_topic, there, wanted, tuple(warnings))


# What decides whether a copied record is taken and how long it stays.
COPIED_CONFIGS = (
    "cleanup.policy",
    "max.message.bytes",
    "message.timestamp.after.max.ms",
    "message.timestamp.before.max.ms",
    "retention.bytes",
    "retention.ms",
)
_LIMITS = ("message.timestamp.after.max.ms", "message.timestamp.before.max.ms")
TOPIC = "topic"


@dataclass(frozen=True, slots=True)
class Creation:
    """A remote topic to be made.

    `replication_factor` None: the target's default. `replication_factor_from` is a sentence for a
    person. `needed` are those of `configs` without which copies would be refused or lost.
    """

    topic: str
    remote_topic: str
    partitions: int
    replication_factor: int | None
    replication_factor_from: str
    configs: Mapping[str, str]
    needed: Mapping[str, str]

    def spec(self) -> NewTopicSpec:
        """Return the topic as it is requested."""
        return NewTopicSpec(self.partitions, self.replication_factor, self.configs)

    def spec_of_needed(self) -> NewTopicSpec:
        """Return the topic for a target that refuses one of the other settings."""
        return NewTopicSpec(self.partitions, self.replication_factor, self.needed)

    def change(self) -> TopicChange:
        """Return the creation as a change."""
        factor = self.replication_factor or "the target's default"
        made = f"{self.partitions} partitions, replication factor {factor}"
        return TopicChange(
            self.remote_topic, TOPIC, None, made, f"The flow copies the source topic {self.topic}."
        )


def plan_creation(
    flow: FlowSpec,
    topic: TopicDescription,
    remote_topic: str,
    configs: Mapping[str, ConfigValue],
    brokers: int | None,
    known: Collection[str] | None = None,
) -> Creation:
    """Return the remote topic for a source topic with these settings.

    Source: MirrorSourceConnector.createNewTopics. Unlike there, the replication factor is the source's where
    the flow names none, and what decides about records is set even where the source has it by default.
    `brokers` are the target's, `known` the settings that its version of Kafka knows; None: not known.
    """
    configs = _with_limits(configs)
    if known is not None:
        configs = {key: value for key, value in configs.items() if key in known}
    factor, origin = _replication_factor(flow, topic, brokers)
    needed = _needed(flow, configs)
    return Creation(
        topic.name,
        remote_topic,
        len(topic.partitions),
        factor,
        origin,
        {**configs_for_creation(flow, configs), **needed},
        needed,
    )


def _with_limits(configs: Mapping[str, ConfigValue]) -> Mapping[str, ConfigValue]:
    """Return the settings with the limits of timestamps of Kafka 3.6 and later: one setting became two.

    Source: KIP-937; until 4.0 the old one counts where it is set and none of the new ones is.
    """
    limit = configs.get("message.timestamp.difference.max.ms")
    new = [configs[key] for key in _LIMITS if key in configs]
    is_newer = any(one.source is not ConfigSource.DEFAULT_CONFIG for one in new)
    if limit is None or is_newer or (new and limit.source is ConfigSource.DEFAULT_CONFIG):
        return configs
    return {**configs, **dict.fromkeys(_LIMITS, limit)}


def _needed(flow: FlowSpec, configs: Mapping[str, ConfigValue]) -> dict[str, str]:
    excluded = NameFilter(flow.config_properties_exclude)
    read = {key: configs[key].value for key in COPIED_CONFIGS if key in configs}
    copied = {k: v for k, v in read.items() if v is not None and not excluded.accepts(k)}
    return {**copied, **OWN_CONFIGS}


def _replication_factor(
    flow: FlowSpec, topic: TopicDescription, brokers: int | None
) -> tuple[int | None, str]:
    if flow.replication_factor is not None:
        return flow.replication_factor, "The flow's setting."
    replicas = max((len(partition.replicas) for partition in topic.partitions), default=0)
    if not replicas:
        return None, "As on the source, which did not answer."
    if brokers is not None and brokers < replicas:
        return brokers, f"The source has {replicas}, but the target only {brokers} live brokers."
    return replicas, "As on the source."
