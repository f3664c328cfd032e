"""How far replicas are behind their leaders: the ends of their logs, asked of the brokers themselves.

DescribeLogDirs does not tell it: its `offset_lag` is 0 for a follower however far behind it is
(measured on Kafka 4.3.1, see `log_dirs`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, TimedOut
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.offsets import replica_end_offsets

CLIENT_ID = "crosslog-replica-lag"
# For each of two requests to a broker, and for the metadata before them.
ANSWER_S = 5.0
_LANE = "replica-lag"
_DOING = "Reading the ends of replicas"


@dataclass(frozen=True, slots=True)
class ReplicaLags:
    """Records that replicas lack, by partition and broker; `faults` are brokers that did not answer."""

    lags: Mapping[tuple[TopicPartition, int], int] = field(default_factory=dict)
    faults: Mapping[int, ClusterFault] = field(default_factory=dict)


def read_replica_lags(
    connection: Connection,
    behind: Mapping[int, Collection[TopicPartition]],
    leaders: Mapping[TopicPartition, int],
) -> ReplicaLags:
    """Return the lags of the replicas of `behind` (by broker); `leaders` lead these partitions.

    One request to each broker: to those behind first, then to the leaders, so that a lag is never too small.
    What no broker answered for is left out. Raises `ClusterFault` when the cluster does not answer at all.
    """
    client = ClusterClient(connection, timeout_s=3 * ANSWER_S, client_id=CLIENT_ID)
    return client.ask(_DOING, lambda cluster: _read(cluster, behind, leaders))


async def _read(
    cluster: RawCluster,
    behind: Mapping[int, Collection[TopicPartition]],
    leaders: Mapping[TopicPartition, int],
) -> ReplicaLags:
    await cluster.metadata()
    ends, faults = await _ends(cluster, behind)
    led: dict[int, set[TopicPartition]] = {}
    for where, _ in ends:
        if where in leaders:
            led.setdefault(leaders[where], set()).add(where)
    of_leaders, more = await _ends(cluster, led)
    lags = {
        (where, broker): max(of_leaders[where, leaders[where]] - end, 0)
        for (where, broker), end in ends.items()
        if where in leaders and (where, leaders[where]) in of_leaders
    }
    return ReplicaLags(lags, {**more, **faults})


async def _ends(
    cluster: RawCluster, asked: Mapping[int, Collection[TopicPartition]]
) -> tuple[dict[tuple[TopicPartition, int], int], dict[int, ClusterFault]]:
    """Ask each broker for the ends of its logs, all at once."""
    ends: dict[tuple[TopicPartition, int], int] = {}
    faults: dict[int, ClusterFault] = {}

    async def ask(broker: int) -> None:
        try:
            async with asyncio.timeout(ANSWER_S):
                connection = await cluster.connection_to(broker, _LANE)
                found = await replica_end_offsets(connection, asked[broker])
        except TimeoutError:
            text = f"{_DOING}: broker {broker} did not answer within {ANSWER_S:g} s."
            faults[broker] = TimedOut(text, cluster=cluster.alias)
            return
        except ClusterFault as fault:
            faults[broker] = fault
            return
        for where, end in found.items():
            if isinstance(end, int):
                ends[where, broker] = end

    await asyncio.gather(*(ask(broker) for broker in asked))
    return ends, faults
