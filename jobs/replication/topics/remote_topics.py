"""Remote topics: made on the target like the source's, grown with them, never deleted, never shrunk."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from jobs.cluster.admin.brokers import describe_cluster
from jobs.cluster.admin.configs import ConfigValue, describe_topic_configs, read_topic_configs
from jobs.cluster.admin.topics import create_partitions, create_topics, describe_topics, is_missing
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicDescription
from jobs.cluster.errors import ClusterFault
from jobs.replication.copy.positions import positions_topic
from jobs.replication.flow.selection import policy_of
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.topics.changes import (
    Creation,
    Growth,
    TopicChange,
    plan_creation,
    plan_growth,
)
from jobs.replication.topics.fan_in import keeps_name, refuse_existing_topics

logger = logging.getLogger(__name__)

# How a broker refuses a setting that it does not know or allow; the topic is then made without.
_BAD_CONFIG = "INVALID_CONFIG"
_CLEANUP_POLICY = "cleanup.policy"
_BY_HAND = "or make the topic on the target beforehand."
# What to do about a topic that the target refuses for good.
_REMEDIES = {
    _BAD_CONFIG: f"Leave the setting out with the flow's config_properties_exclude, {_BY_HAND}",
    "POLICY_VIOLATION": f"Ask who keeps the target's create.topic.policy.class.name, {_BY_HAND}",
    "INVALID_TOPIC_EXCEPTION": (
        "Kafka takes names of at most 249 letters, digits, '.', '_' and '-': give the source a shorter "
        "alias, keep the names with another naming policy, or exclude the topic."
    ),
    "INVALID_REPLICATION_FACTOR": (
        "Give the flow a replication_factor that the target's brokers can hold, or start more brokers, "
        f"{_BY_HAND}"
    ),
}


@dataclass(frozen=True, slots=True)
class RemoteTopic:
    """Where a source topic goes.

    `partitions` is how many the remote topic has, 0 when it does not exist or must not be written.
    `problem` is a sentence for a person; partitions below `partitions` can be copied in spite of it.
    `is_retriable`: it may go away without a change by a person.
    `changes` are what was just done to it, `findings` what a person should know about that.
    """

    topic: str
    remote_topic: str
    partitions: int
    problem: str | None = None
    is_retriable: bool = False
    changes: tuple[TopicChange, ...] = ()
    findings: tuple[str, ...] = ()


@dataclass(slots=True)
class _Round:
    """What is found out and done about the remote topics, by the name of the remote topic."""

    names: dict[str, str]
    there: dict[str, TopicDescription]
    refusals: dict[str, str] = field(default_factory=dict)
    faults: dict[str, ClusterFault] = field(default_factory=dict)
    created: dict[str, Creation] = field(default_factory=dict)
    grown: dict[str, Growth] = field(default_factory=dict)

    def partitions(self, name: str) -> int:
        there = len(self.there[name].partitions)
        return max(there, self.grown[name].after) if name in self.grown else there


def ensure_remote_topics(
    source: ClusterClient,
    target: ClusterClient,
    spec: FlowSpec,
    topics: Sequence[TopicDescription],
    copied: Collection[str] | None = None,
) -> list[RemoteTopic]:
    """Make the remote topics that are missing and grow those that are too small; return all, in order.

    `copied` are the source topics that have a position: a topic of the target that keeps its name
    and is not among them is looked at before it is written. None: not known, nothing is refused.
    What cannot be created has a `problem`. Raises `ClusterFault` when a cluster does not answer
    at all.
    """
    names = remote_names(spec, topics)
    found = _Round(names, describe_remote_topics(target, names.values()))
    _create(source, target, spec, topics, found)
    if copied is not None:
        first = [t.name for t in topics if t.name in names and t.name not in copied]
        kept = [found.there[t] for t in first if keeps_name(spec, t) and t not in found.created]
        found.refusals = refuse_existing_topics(target, spec, [t for t in kept if not t.error])
    _grow(source, target, spec, topics, found)
    return [_judge(topic, found) for topic in topics]


def remote_names(spec: FlowSpec, topics: Sequence[TopicDescription]) -> dict[str, str]:
    """Return the name of the remote topic of each topic whose partitions are known."""
    policy = policy_of(spec)
    return {
        t.name: policy.format_remote_topic(spec.source.alias, t.name)
        for t in topics
        if t.partitions
    }


def describe_remote_topics(
    target: ClusterClient, names: Collection[str]
) -> dict[str, TopicDescription]:
    """Return the topics of the target by name; one that is not there has an error."""
    return {topic.name: topic for topic in describe_topics(target, set(names))} if names else {}


def plan_creations(
    source: ClusterClient, target: ClusterClient, spec: FlowSpec, topics: Sequence[TopicDescription]
) -> dict[str, Creation]:
    """Return how these source topics are made on the target, by the name of the remote topic."""
    names = remote_names(spec, topics)
    brokers = max(len(describe_cluster(target).brokers), 1)
    configs = describe_topic_configs(source, [topic.name for topic in topics])
    known = known_settings(target, positions_topic(spec.source.alias))
    planned = (
        plan_creation(spec, t, names[t.name], _known(configs[t.name]), brokers, known)
        for t in topics
    )
    return {creation.remote_topic: creation for creation in planned}


def known_settings(target: ClusterClient, topic: str) -> frozenset[str] | None:
    """Return which settings of topics the target's version of Kafka knows, by one of its topics.

    None: it is not there, or the principal may not DESCRIBE_CONFIGS of it.
    """
    found = describe_topic_configs(target, [topic])[topic]
    return frozenset(found) if isinstance(found, dict) else None


def create_remote_topics(
    target: ClusterClient, creations: Sequence[Creation]
) -> tuple[dict[str, Creation], dict[str, ClusterFault]]:
    """Make topics; return what exists now and why the others do not, by the name of the remote topic.

    A target that refuses a setting gets the topic without those that copies can do without; the sync
    of settings tells which one it was.
    """
    answers = create_topics(target, {c.remote_topic: c.spec() for c in creations})
    faults = {name: fault for name, fault in answers.items() if fault}
    plain = {
        c.remote_topic: c.spec_of_needed()
        for c in creations
        if c.remote_topic in faults and _BAD_CONFIG in faults[c.remote_topic].message
    }
    answers |= create_topics(target, plain) if plain else {}
    faults = {name: fault for name, fault in answers.items() if fault}
    return {c.remote_topic: c for c in creations if c.remote_topic not in faults}, faults


def _known(configs: dict[str, ConfigValue] | ClusterFault) -> Mapping[str, ConfigValue]:
    return {} if isinstance(configs, ClusterFault) else configs


def _create(
    source: ClusterClient,
    target: ClusterClient,
    spec: FlowSpec,
    topics: Sequence[TopicDescription],
    found: _Round,
) -> None:
    missing = [t for t in topics if t.name in found.names and _is_missing(t, found)]
    if not missing:
        return
    planned = plan_creations(source, target, spec, missing)
    found.created, faults = create_remote_topics(target, list(planned.values()))
    found.faults |= faults
    found.there |= _after_creation(target, missing, found)
    _log(spec, [creation.change() for creation in found.created.values()])


def _is_missing(topic: TopicDescription, found: _Round) -> bool:
    return is_missing(found.there[found.names[topic.name]])


def _after_creation(
    target: ClusterClient, missing: Sequence[TopicDescription], found: _Round
) -> dict[str, TopicDescription]:
    """Describe new topics again: somebody else may have made one of them with other partitions.

    A broker may not know a topic that was made a moment ago; then it is as it was requested.
    """
    made = {found.names[t.name]: t for t in missing if found.names[t.name] in found.created}
    seen = describe_remote_topics(target, made.keys())
    return {name: made[name] if is_missing(seen[name]) else seen[name] for name in made}


def _grow(
    source: ClusterClient,
    target: ClusterClient,
    spec: FlowSpec,
    topics: Sequence[TopicDescription],
    found: _Round,
) -> None:
    short = [t for t in topics if t.name in found.names and _is_short(t, found)]
    if not short or not spec.grow_partitions:
        return
    growths = plan_growths(source, spec, short, found.there)
    found.grown, faults = grow_remote_topics(target, growths)
    found.faults |= faults
    _log(spec, [growth.change() for growth in found.grown.values()])


def _is_short(topic: TopicDescription, found: _Round) -> bool:
    name = found.names[topic.name]
    if name in found.refusals or found.there[name].error:
        return False
    return len(found.there[name].partitions) < len(topic.partitions)


def plan_growths(
    source: ClusterClient,
    spec: FlowSpec,
    topics: Sequence[TopicDescription],
    there: Mapping[str, TopicDescription],
) -> list[Growth]:
    """Return how the remote topics of these source topics grow."""
    names = remote_names(spec, topics)
    policies = read_topic_configs(source, list(names), [_CLEANUP_POLICY])
    planned = (
        plan_growth(
            spec,
            topic.name,
            names[topic.name],
            (len(topic.partitions), len(there[names[topic.name]].partitions)),
            policies.get(topic.name, {}).get(_CLEANUP_POLICY, ""),
        )
        for topic in topics
    )
    return [growth for growth in planned if growth]


def grow_remote_topics(
    target: ClusterClient, growths: Sequence[Growth]
) -> tuple[dict[str, Growth], dict[str, ClusterFault]]:
    """Add the partitions; return what grew and why the others did not, by the name of the remote topic.

    A topic that somebody else has grown meanwhile has grown.
    """
    answers = create_partitions(target, {g.remote_topic: g.after for g in growths})
    faults = {name: fault for name, fault in answers.items() if fault}
    seen = describe_remote_topics(target, faults.keys())
    after = {g.remote_topic: g.after for g in growths}
    faults = {n: f for n, f in faults.items() if len(seen[n].partitions) < after[n]}
    return {g.remote_topic: g for g in growths if g.remote_topic not in faults}, faults


def _judge(topic: TopicDescription, found: _Round) -> RemoteTopic:
    name = found.names.get(topic.name)
    if name is None:
        said = f" ({topic.error})" if topic.error else ""
        return RemoteTopic(topic.name, "", 0, f"The source does not tell its partitions{said}.")
    if name in found.refusals:
        return RemoteTopic(topic.name, name, 0, found.refusals[name])
    remote, fault = found.there[name], found.faults.get(name)
    if fault is not None and is_missing(remote):
        hint = _REMEDIES.get(getattr(fault, "error", ""), fault.hint)
        problem = f"Target topic {name} could not be made: {fault.message} {hint}"
        return RemoteTopic(topic.name, name, 0, problem, is_retriable=fault.retriable)
    if remote.error is not None:
        hints = [hint for error, hint in _REMEDIES.items() if error in remote.error]
        problem = " ".join([f"Target topic {name} cannot be described: {remote.error}", *hints])
        return RemoteTopic(topic.name, name, 0, problem)
    have, want = found.partitions(name), len(topic.partitions)
    done = [d[name] for d in (found.created, found.grown) if name in d]
    return RemoteTopic(
        topic.name,
        name,
        have,
        _too_few(topic.name, name, (have, want), fault),
        is_retriable=fault is not None and fault.retriable,
        changes=tuple(step.change() for step in done),
        findings=found.grown[name].warnings if name in found.grown else (),
    )


def _too_few(
    topic: str, name: str, counts: tuple[int, int], fault: ClusterFault | None
) -> str | None:
    have, want = counts
    if have >= want:
        return None
    why = f" They could not be added: {fault.message} {fault.hint}" if fault else ""
    return (
        f"Target topic {name} has {have} partitions and {topic} has {want}, so the partitions from "
        f"{have} on have no place.{why} Add partitions to the target topic: "
        f"kafka-topics.sh --alter --topic {name} --partitions {want}"
    )


def _log(spec: FlowSpec, changes: Sequence[TopicChange]) -> None:
    for change in changes:
        logger.info("remote topic changed flow=%s %s", spec.name, change)
