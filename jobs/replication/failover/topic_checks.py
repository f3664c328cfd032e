"""Pre-checks of a topic and of its counterpart on the destination. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from jobs.cluster.admin.configs import ConfigValue
from jobs.cluster.descriptions import TopicDescription
from jobs.replication.failover.evidence import Evidence
from jobs.replication.failover.model import Check, CheckState, TopicPlan

PASSED, UNKNOWN = CheckState.PASSED, CheckState.UNKNOWN
WARNING, FAILED = CheckState.WARNING, CheckState.FAILED
Configs = Mapping[str, ConfigValue]
UNLIMITED = -1


def plan_topic(found: Evidence, topic: str, there: str) -> TopicPlan:
    """Return what is known of a topic and its counterpart."""
    here, remote = found.origin.topics.get(topic), found.destination.topics.get(there)
    checks = [_exists(found, there, remote)]
    if remote is not None and not remote.error:
        checks += [_partitions(found, topic, here, remote), *_settings(found, topic, there)]
    return TopicPlan(topic, there, _id(here), _id(remote), tuple(checks))


def _id(topic: TopicDescription | None) -> str:
    return (topic.topic_id or "") if topic else ""


def _exists(found: Evidence, there: str, remote: TopicDescription | None) -> Check:
    alias = found.destination.alias
    if remote is not None and not remote.error:
        return Check("topic_exists", PASSED, f"{there} is on {alias}.", f"topic id {_id(remote)}")
    why = remote.error if remote and remote.error else "It was not described."
    return Check(
        "topic_exists",
        FAILED,
        f"{there} is not on {alias}.",
        why,
        "Start the flow and wait until it has replicated the topic.",
    )


def _partitions(
    found: Evidence, topic: str, here: TopicDescription | None, remote: TopicDescription
) -> Check:
    there = len(remote.partitions)
    if here is None or not here.partitions:
        text = f"How many partitions {topic} has on {found.origin.alias} is not known."
        return Check("partitions", UNKNOWN, text, f"{there} on {found.destination.alias}")
    count = len(here.partitions)
    evidence = f"{count} on {found.origin.alias}, {there} on {found.destination.alias}"
    if count == there:
        return Check("partitions", PASSED, "Both have the same number of partitions.", evidence)
    if there < count:
        text = (
            f"{remote.name} has fewer partitions than {topic}: offsets of the rest cannot be set."
        )
        return Check("partitions", FAILED, text, evidence, "Let the flow add partitions.")
    text = f"{remote.name} has more partitions than {topic}: keys may be in other partitions."
    return Check(
        "partitions", WARNING, text, evidence, "Check consumers that rely on the order by key."
    )


def _settings(found: Evidence, topic: str, there: str) -> Iterator[Check]:
    here, remote = found.origin.configs.get(topic), found.destination.configs.get(there)
    if here is None or remote is None:
        side = found.origin.alias if here is None else found.destination.alias
        text = (
            f"The configuration of {topic if here is None else there} on {side} could not be read."
        )
        yield Check("settings", UNKNOWN, text, "", "Give the account DescribeConfigs on the topic.")
        return
    differing = [one for rule in _RULES if (one := rule(here, remote)) is not None]
    yield from differing
    if not differing:
        yield Check("settings", PASSED, "The configs that matter to consumers are equal.")


def _retention(key: str, unit: str) -> Callable[[Configs, Configs], Check | None]:
    def rule(here: Configs, remote: Configs) -> Check | None:
        if not _deletes(here) or not _deletes(remote):
            return None
        kept, there = _number(here, key), _number(remote, key)
        if kept is None or there is None or there == UNLIMITED or there >= kept != UNLIMITED:
            return None
        before = "no limit" if kept == UNLIMITED else f"{kept} {unit}"
        evidence = f"{key}: {before} on the origin, {there} {unit} on the destination"
        text = "Retention is shorter on the destination: a group that lags may lose records."
        return Check(key, WARNING, text, evidence, f"Raise {key} there before moving slow groups.")

    return rule


def _cleanup(here: Configs, remote: Configs) -> Check | None:
    mine, theirs = _words(here), _words(remote)
    if mine == theirs:
        return None
    mine_text, theirs_text = ",".join(sorted(mine)), ",".join(sorted(theirs))
    evidence = f"cleanup.policy: {mine_text} on the origin, {theirs_text} on the destination"
    text = "The cleanup policy differs on the destination."
    return Check("cleanup.policy", WARNING, text, evidence, "Set the same cleanup.policy on both.")


def _insync(here: Configs, remote: Configs) -> Check | None:
    mine, theirs = _number(here, "min.insync.replicas"), _number(remote, "min.insync.replicas")
    if mine is None or theirs is None or theirs >= mine:
        return None
    evidence = f"min.insync.replicas: {mine} on the origin, {theirs} on the destination"
    text = f"min.insync.replicas is {theirs} on the destination, {mine} on the origin."
    return Check("min.insync.replicas", WARNING, text, evidence, "Raise it before producers move.")


def _size(here: Configs, remote: Configs) -> Check | None:
    mine, theirs = _number(here, "max.message.bytes"), _number(remote, "max.message.bytes")
    if mine is None or theirs is None or theirs >= mine:
        return None
    evidence = f"max.message.bytes: {mine} on the origin, {theirs} on the destination"
    text = "The destination accepts only smaller record batches."
    return Check("max.message.bytes", WARNING, text, evidence, "Raise it before producers move.")


_RULES: tuple[Callable[[Configs, Configs], Check | None], ...] = (
    _retention("retention.ms", "ms"),
    _retention("retention.bytes", "bytes"),
    _cleanup,
    _insync,
    _size,
)


def _words(configs: Configs) -> frozenset[str]:
    entry = configs.get("cleanup.policy")
    return frozenset((entry.value if entry and entry.value else "delete").split(","))


def _deletes(configs: Configs) -> bool:
    return "delete" in _words(configs)


def _number(configs: Configs, key: str) -> int | None:
    entry = configs.get(key)
    text = entry.value if entry else None
    return int(text) if text is not None and text.lstrip("-").isdecimal() else None
