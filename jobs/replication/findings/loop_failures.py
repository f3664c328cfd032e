"""Replication cycles: records that return to their own cluster. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from jobs.checks.check import check
from jobs.findings import Finding
from jobs.replication.findings.checks import of
from jobs.replication.findings.codes import Code
from jobs.replication.findings.snapshot import FlowSnapshot
from jobs.replication.policy import IdentityReplicationPolicy, ReplicationPolicy
from jobs.severity import Severity

# A name has at most 249 characters, so no chain is longer; this ends the strangest separators.
_MOST_HOPS = 125


@check(*of(Code.SAME_CLUSTER, Code.LOOP))
def find_loops(snapshot: FlowSnapshot) -> Iterator[Finding]:
    """Yield a flow to itself, topics that are copied back under their name, and copies that came home."""
    cluster_id = snapshot.source_cluster_id
    if cluster_id and cluster_id == snapshot.target_cluster_id:
        yield Finding(
            Code.SAME_CLUSTER,
            Severity.CRITICAL,
            f"{snapshot.source} and {snapshot.target} are the same cluster: the flow replicates a cluster "
            "into itself.",
            "Correct the bootstrap servers of one of the two.",
            evidence={"cluster_id": cluster_id},
        )
    for topic, how in sorted((snapshot.copied_back or {}).items()):
        yield Finding(
            Code.LOOP,
            Severity.CRITICAL,
            f"{topic} is copied from {snapshot.source} to {snapshot.target} and back under the same name: "
            f"its records are replicated in a loop. {how}",
            "Stop one of the two directions now, then exclude the topic from it: unchanged names "
            "(IdentityReplicationPolicy) do not show where a record comes from.",
            subject=topic,
            topic=topic,
            evidence={"known_by": how},
        )
    for topic in sorted(snapshot.returned or ()):
        yield Finding(
            Code.LOOP,
            Severity.CRITICAL,
            f"{topic} on {snapshot.target} is a copy of a copy of its own topic: a replication cycle.",
            "Two programs use different aliases for one cluster, or a flow has no cycle protection: use one "
            "alias per cluster everywhere, exclude the topic, and delete it.",
            subject=topic,
            topic=topic,
            evidence={"remote_topic": topic},
        )


def returned_topics(
    policy: ReplicationPolicy,
    source_alias: str,
    target_alias: str,
    target_topics: Iterable[str],
    source_topics: Collection[str],
) -> list[str]:
    """Return topics of the target that this flow copied and that began there, or passed the source twice.

    A local topic whose name only looks so is recognised by the source: it has no such topic.
    """
    if isinstance(policy, IdentityReplicationPolicy):
        return []
    return [
        topic
        for topic in target_topics
        if policy.topic_source(topic) == source_alias
        and not policy.is_internal_topic(topic)
        and policy.upstream_topic(topic) in source_topics
        and _comes_home(list(chain_of(policy, topic)), source_alias, target_alias)
    ]


def chain_of(policy: ReplicationPolicy, topic: str) -> Iterator[str]:
    """Yield the clusters that a topic came through, nearest first, those twice that it passed twice."""
    for _ in range(_MOST_HOPS):
        source, upstream = policy.topic_source(topic), policy.upstream_topic(topic)
        if source is None or upstream is None or upstream == topic:
            return
        yield source
        topic = upstream


def _comes_home(chain: list[str], source_alias: str, target_alias: str) -> bool:
    return target_alias in chain or source_alias in chain[1:]
