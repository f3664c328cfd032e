"""The flows into a cluster, derived from its topic names.

Source: org.apache.kafka.connect.mirror.MirrorClient. Pure: the caller lists the topics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jobs.replication.policy import ReplicationPolicy

NOT_UPSTREAM = -1


def heartbeat_topics(policy: ReplicationPolicy, topics: Iterable[str]) -> list[str]:
    """Return the topics of heartbeats, the local one included."""
    return [topic for topic in topics if policy.is_heartbeats_topic(topic)]


def checkpoint_topics(policy: ReplicationPolicy, topics: Iterable[str]) -> list[str]:
    return [topic for topic in topics if policy.is_checkpoints_topic(topic)]


def remote_topics(
    policy: ReplicationPolicy, topics: Iterable[str], source: str | None = None
) -> list[str]:
    """Return the topics that came from another cluster, without internal ones.

    `source`: only those that came directly from that cluster.
    """
    found = []
    for topic in topics:
        came_from = None if policy.is_internal_topic(topic) else policy.topic_source(topic)
        if came_from is not None and source in (None, came_from):
            found.append(topic)
    return found


def count_hops(policy: ReplicationPolicy, topic: str, source_alias: str) -> int:
    """Return over how many flows a topic came from this cluster; -1 when it did not."""
    for hops, source in enumerate(sources_of(policy, topic), start=1):
        if source == source_alias:
            return hops
    return NOT_UPSTREAM


def replication_hops(policy: ReplicationPolicy, topics: Iterable[str], source_alias: str) -> int:
    """Return the least number of flows from a cluster to here, by heartbeats; -1 when there are none."""
    counts = [count_hops(policy, t, source_alias) for t in heartbeat_topics(policy, topics)]
    return min((count for count in counts if count != NOT_UPSTREAM), default=NOT_UPSTREAM)


def upstream_clusters(policy: ReplicationPolicy, topics: Iterable[str]) -> set[str]:
    """Return the aliases of all clusters whose heartbeats arrive here, over any number of hops."""
    return {
        source for topic in heartbeat_topics(policy, topics) for source in sources_of(policy, topic)
    }


def sources_of(policy: ReplicationPolicy, topic: str) -> Iterator[str]:
    """Yield the clusters that a topic came through, nearest first; ends before one comes twice."""
    seen: set[str] = set()
    source = policy.topic_source(topic)
    while source is not None and source not in seen:
        yield source
        seen.add(source)
        upstream = policy.upstream_topic(topic)
        if upstream is None:
            return
        topic, source = upstream, policy.topic_source(upstream)
