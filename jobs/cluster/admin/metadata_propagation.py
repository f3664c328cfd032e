"""Whether all brokers know a topic: each reads the metadata log in its own time."""

from __future__ import annotations

import asyncio

from jobs.cluster.admin.brokers import list_brokers
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.metadata import TopicMetadata
from jobs.cluster.protocol.transport.connection_pool import METADATA
from jobs.cluster.protocol.transport.transport_faults import Server


async def topic_everywhere(cluster: RawCluster, topic: str) -> dict[int, TopicMetadata]:
    """Return a topic as each broker that answers knows it, by the broker's id; fenced ones, too.

    A topic that a broker does not know has an `error`. Raises `ClusterFault` when no broker reports the
    list of brokers.
    """
    servers = await _servers(cluster)
    answers = await asyncio.gather(*(_topic_at(cluster, one, topic) for one in servers.values()))
    return {id_: found for id_, found in zip(servers, answers, strict=True) if found is not None}


async def is_led_everywhere(cluster: RawCluster, topic: str) -> bool:
    """Say whether every broker that answers knows a topic and a leader of each partition.

    False when no broker answers. Raises `ClusterFault` as `topic_everywhere`.
    """
    found = (await topic_everywhere(cluster, topic)).values()
    return bool(found) and all(
        one.error is None
        and one.partitions
        and all(part.leader is not None for part in one.partitions.values())
        for one in found
    )


async def _servers(cluster: RawCluster) -> dict[int, Server]:
    try:
        return {id_: one.server for id_, one in (await list_brokers(cluster)).items()}
    except ClusterFault:
        # Before Kafka 4.1, or without the right: those that the metadata names, which are not fenced.
        brokers = (await cluster.metadata()).brokers
    return {id_: Server(one.host, one.port, id_) for id_, one in brokers.items()}


async def _topic_at(cluster: RawCluster, server: Server, topic: str) -> TopicMetadata | None:
    try:
        connection = await cluster.connection_at(server, METADATA)
        found = await cluster.metadata_from(connection, [topic])
    except ClusterFault:
        return None
    return found.topics.get(topic, TopicMetadata(topic, None, {}))
