"""Sync of ACLs from a source topic to its remote topic. Pure.

Source: MirrorSourceConnector.syncTopicAcls, shouldReplicateAcl and targetAclBinding of Kafka 4.3.1.
Nothing is ever deleted. Unlike there, the literal name `*`, which means every topic, is not renamed
to a topic that does not exist (and, with names that stay, not opened on the target).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from jobs.cluster.admin.acls import AclBinding
from jobs.replication.topics.changes import ACL, TopicNote

TOPIC, GROUP = "TOPIC", "GROUP"
LITERAL, PREFIXED = "LITERAL", "PREFIXED"
ALLOW, READ, WRITE, ALL = "ALLOW", "READ", "WRITE", "ALL"
EVERY_TOPIC = "*"


@dataclass(frozen=True, slots=True)
class AclPlan:
    """Bindings to be made on the target, and what is not synced and why."""

    missing: tuple[AclBinding, ...] = ()
    notes: tuple[TopicNote, ...] = ()


def target_acl(binding: AclBinding, remote_topic: str) -> AclBinding | None:
    """Return the binding for the remote topic; None when it has none there.

    Only the flow may write into a remote topic, so ALLOW WRITE is dropped and ALLOW ALL
    becomes ALLOW READ.
    """
    if binding.permission == ALLOW and binding.operation == WRITE:
        return None
    is_all = binding.permission == ALLOW and binding.operation == ALL
    return replace(binding, name=remote_topic, operation=READ if is_all else binding.operation)


def plan_acls(
    source: Sequence[AclBinding], target: Iterable[AclBinding], remotes: Mapping[str, str]
) -> AclPlan:
    """Return what is missing on the target for these topics (source name -> remote name)."""
    there = set(target)
    wanted = [
        target_acl(binding, remotes[binding.name])
        for binding in source
        if _is_of_topic(binding, remotes)
    ]
    missing = sorted({binding for binding in wanted if binding and binding not in there})
    return AclPlan(tuple(missing), tuple(_not_synced(source, remotes)))


def _is_of_topic(binding: AclBinding, remotes: Mapping[str, str]) -> bool:
    return (
        binding.resource_type == TOPIC
        and binding.pattern_type == LITERAL
        and binding.name in remotes
    )


def _not_synced(source: Sequence[AclBinding], remotes: Mapping[str, str]) -> Iterable[TopicNote]:
    writes = Counter(b.name for b in source if _is_of_topic(b, remotes) and not target_acl(b, "x"))
    for topic, count in sorted(writes.items()):
        yield TopicNote(
            remotes[topic],
            ACL,
            f"{count} ALLOW WRITE of {topic} not synced: only the flow writes into a remote topic.",
        )
    for binding in source:
        covered = _covered(binding, remotes)
        if covered:
            yield TopicNote(
                "", ACL, f"{binding} on {_named(binding)} not synced: it covers {covered}."
            )
    groups = sum(binding.resource_type == GROUP for binding in source)
    if groups:
        yield TopicNote(
            "",
            ACL,
            f"{groups} ACLs of consumer groups not synced: consumers that fail over need them on the "
            "target.",
        )


def _covered(binding: AclBinding, remotes: Mapping[str, str]) -> str:
    """Return which replicated topics a pattern covers; empty when none, or it names one topic."""
    if binding.resource_type != TOPIC:
        return ""
    if binding.pattern_type == LITERAL:
        return "every topic" if binding.name == EVERY_TOPIC else ""
    topics = sorted(topic for topic in remotes if topic.startswith(binding.name))
    first = ", ".join(topics[:3])
    return f"{first} and {len(topics) - 3} more" if len(topics) > 3 else first  # noqa: PLR2004


def _named(binding: AclBinding) -> str:
    if binding.pattern_type == PREFIXED:
        return f"names that begin with {binding.name}"
    return "every name"
