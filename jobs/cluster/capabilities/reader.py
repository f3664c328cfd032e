"""Ask every broker of a cluster what it offers, and whether topics have ids."""

from __future__ import annotations

import asyncio

from jobs.cluster.capabilities.releases import Mode
from jobs.cluster.capabilities.verdicts import ClusterVersions, Verdict, in_words
from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.transport.connection_pool import METADATA
from jobs.cluster.protocol.transport.versions import BrokerVersions, versions_call


def read_versions(client: ClusterClient) -> ClusterVersions:
    """Return what each live broker offers; one that does not answer is silent. Raises `ClusterFault`."""
    return client.ask("Reading the brokers' versions", ask_versions)


def findings_of(versions: ClusterVersions) -> list[str]:
    """Return what a check tells: versions that differ or contradict themselves, and what lacks."""
    judged = versions.judge()
    kafka = versions.text[:1].upper() + versions.text[1:]
    kafka += f" with {versions.mode}" if versions.mode is not Mode.KRAFT else ""
    found = []
    if lacks := in_words(judged, Verdict.LACKS):
        found.append(f"{kafka} does not have: {lacks}.")
    elif len({one.text for one in versions.releases.values()}) > 1 or versions.silent:
        found.append(f"{kafka}.")
    if others := in_words(judged, Verdict.ANOTHER_WAY):
        found.append(f"Works another way, see Kafka version and capabilities: {others}.")
    return found + versions.contradictions()


async def ask_versions(cluster: RawCluster) -> ClusterVersions:
    """Likewise."""
    known = await cluster.metadata()
    answers = await asyncio.gather(*(_versions(cluster, broker) for broker in known.brokers))
    found = dict(zip(known.brokers, answers, strict=True))
    versions = ClusterVersions(
        {i: one for i, one in found.items() if isinstance(one, BrokerVersions)},
        {i: one for i, one in found.items() if isinstance(one, str)},
        has_topic_ids=True,
    )
    if versions.mode is Mode.KRAFT:
        return versions
    # Ids are given at an inter.broker.protocol.version that no range tells.
    topics = await cluster.ask_any(lambda connection: cluster.metadata_from(connection, None))
    ids = [one.topic_id is not None for one in topics.topics.values() if one.error is None]
    return ClusterVersions(versions.brokers, versions.silent, all(ids) if ids else None)


async def _versions(cluster: RawCluster, broker_id: int) -> BrokerVersions | str:
    try:
        async with asyncio.timeout(cluster.timing.metadata_timeout_s):
            connection = await cluster.connection_to(broker_id, METADATA)
            # Connections are kept, and features may be finalized meanwhile.
            answer = await connection.ask(versions_call())
            return connection.versions if answer.error else answer
    except TimeoutError:
        return f"Broker {broker_id} did not answer in time."
    except ClusterFault as fault:
        return fault.message
