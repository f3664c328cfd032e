"""Ask every broker of a cluster what it offers, and whether topics have ids."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from jobs.cluster.capabilities.releases import Mode
from jobs.cluster.capabilities.verdicts import ClusterVersions, Verdict, in_words
from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import ClusterFault, TimedOut
from jobs.cluster.protocol.cluster import RawCluster, most_telling
from jobs.cluster.protocol.transport.apis import METADATA as METADATA_API
from jobs.cluster.protocol.transport.apis import BrokerVersions, versions_call
from jobs.cluster.protocol.transport.connection_pool import METADATA


def read_versions(client: ClusterClient) -> ClusterVersions:
    """Return what each live broker offers; one that does not answer is silent. Raises `ClusterFault`."""
    return client.ask("Reading the brokers' versions", ask_versions)


def findings_of(versions: ClusterVersions) -> list[str]:
    """Return what a check tells: versions that differ or contradict themselves, and what lacks."""
    judged = versions.judge()
    kafka = versions.text[:1].upper() + versions.text[1:]
    if versions.mode in {Mode.ZOOKEEPER, Mode.MIGRATION}:
        kafka += f" with {versions.mode}"
    is_one = len({one.text for one in versions.releases.values()}) == 1 and not versions.silent
    found = [] if is_one else [f"{kafka}."]
    if lacks := in_words(judged, Verdict.LACKS):
        found.append(f"{kafka if is_one else 'The cluster'} does not have: {lacks}.")
    if others := in_words(judged, Verdict.ANOTHER_WAY):
        found.append(f"Works another way, see Kafka version and capabilities: {others}.")
    return found + versions.contradictions()


async def ask_versions(cluster: RawCluster) -> ClusterVersions:
    """Likewise."""
    known = await cluster.metadata()
    answers = await asyncio.gather(*(_versions(cluster, broker) for broker in known.brokers))
    found = dict(zip(known.brokers, answers, strict=True))
    told = {i: one for i, one in found.items() if isinstance(one, BrokerVersions)}
    silent = {i: one for i, one in found.items() if isinstance(one, ClusterFault)}
    if not told and silent:
        raise most_telling(list(silent.values()), cluster.alias)
    versions = ClusterVersions(
        told, {i: one.message for i, one in silent.items()}, has_topic_ids=True
    )
    if versions.mode is Mode.KRAFT:
        return versions
    return replace(versions, has_topic_ids=await _has_topic_ids(cluster, told.values()))


async def _has_topic_ids(cluster: RawCluster, brokers: Iterable[BrokerVersions]) -> bool | None:
    """Ids are given at an inter.broker.protocol.version that no range tells, and told since Metadata 10."""
    newest = METADATA_API.speaks.versions[0]
    if any(one.best(METADATA_API.speaks) != newest for one in brokers):
        return None
    topics = await cluster.ask_any(lambda connection: cluster.metadata_from(connection, None))
    ids = [one.topic_id is not None for one in topics.topics.values() if one.error is None]
    return all(ids) if ids else None


async def _versions(cluster: RawCluster, broker_id: int) -> BrokerVersions | ClusterFault:
    try:
        async with asyncio.timeout(cluster.timing.metadata_timeout_s):
            connection = await cluster.connection_to(broker_id, METADATA)
            # Connections are kept, and features may be finalized meanwhile.
            answer = await connection.ask(versions_call())
            return connection.versions if answer.error else answer
    except TimeoutError:
        return TimedOut(f"Broker {broker_id} did not answer in time.", cluster=cluster.alias)
    except ClusterFault as fault:
        return fault
