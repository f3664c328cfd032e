"""Wait until every broker knows what one of them was told: each reads the metadata log in its own time."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.metadata_propagation import topic_everywhere
from tests.waiting import eventually


def wait_until_known(connection, name: str, partitions: int | None = None) -> None:
    """Wait until all brokers that answer know a topic, its leaders and, when told, its partitions."""
    # In a thread of its own, because a test may be running in a loop already.
    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(
            eventually, lambda: asyncio.run(_is_known(connection, name, partitions)), 30
        )
        found.result()


async def _is_known(connection, name: str, partitions: int | None) -> bool:
    async with RawCluster(connection, client_id="live-test") as cluster:
        try:
            found = (await topic_everywhere(cluster, name)).values()
        except ClusterFault:
            return False
    return bool(found) and all(_has_leaders(topic, partitions) for topic in found)


def _has_leaders(topic, partitions: int | None) -> bool:
    known = topic.partitions.values()
    return (
        topic.error is None
        and (len(known) == partitions if partitions else bool(known))
        and all(partition.leader is not None for partition in known)
    )
