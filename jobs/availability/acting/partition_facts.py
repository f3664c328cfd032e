"""A partition at this moment, for an actor: replicas, ISR, high watermark, and how far each replica is."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from jobs.availability.acting.cluster_connections import ClusterConnections
from jobs.availability.promotion.advice import Evidence
from jobs.cluster.admin.brokers import RegisteredBroker, list_brokers
from jobs.cluster.admin.log_dirs import describe_replica_logs
from jobs.cluster.admin.partitions import PartitionReplicas, describe_partitions
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.offsets import LATEST, list_offsets, replica_end_offsets
from jobs.cluster.protocol.transport.connection_pool import COORDINATOR

_ANSWER_S = 3.0
_BUDGET_S = 3.0


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """One partition now.

    `ends` are the offsets after the last record of each replica that told it, `sizes` the bytes on its disk.
    `high_watermark` is None without a leader.
    """

    known: PartitionReplicas
    high_watermark: int | None = None
    ends: Mapping[int, int] = field(default_factory=dict)
    sizes: Mapping[int, int] = field(default_factory=dict)

    @property
    def leader_end(self) -> int | None:
        """The end of the leader's log."""
        return self.ends.get(self.known.leader) if self.known.leader is not None else None

    @property
    def leader_size(self) -> int | None:
        """The bytes of the leader's log."""
        return self.sizes.get(self.known.leader) if self.known.leader is not None else None

    def lag(self, broker_id: int) -> int | None:
        """Return how many records a replica is behind the leader's end; None: one of the two is not known."""
        end = self.leader_end
        if end is None or broker_id not in self.ends:
            return None
        return max(0, end - self.ends[broker_id])

    def evidence(self, observer: int | None, now_ms: int) -> Evidence:
        """Return what the guard looks at just before acting."""
        return Evidence(
            at_ms=now_ms,
            leader=self.known.leader,
            leader_epoch=self.known.leader_epoch,
            high_watermark=self.high_watermark,
            log_end_offset=self.leader_end,
            isr=self.known.isr,
            observer_lag_records=self.lag(observer) if observer is not None else None,
        )

    def to_mapping(self) -> dict[str, Any]:
        return {
            **asdict(self.known),
            "high_watermark": self.high_watermark,
            "ends": {str(one): end for one, end in self.ends.items()},
            "sizes": {str(one): size for one, size in self.sizes.items()},
        }


def read_evidence(
    connections: ClusterConnections, where: TopicPartition, observer: int | None, now_ms: int
) -> Evidence:
    """Return the evidence that `promotion.preconditions` needs of a partition; raises `ClusterFault`.

    Not to be called inside a running event loop.
    """

    async def read() -> Evidence:
        async with connections.cluster() as cluster:
            facts = await read_partitions(cluster, [where])
        return facts[where].evidence(observer, now_ms)

    return asyncio.run(read())


async def read_partitions(
    cluster: RawCluster, wanted: Collection[TopicPartition]
) -> dict[TopicPartition, PartitionFacts]:
    """Return these partitions with what their replicas tell; raises `ClusterFault` for a missing topic.

    A replica that does not answer is left out of `ends` and `sizes`.
    """
    known = await describe_partitions(cluster, {where.topic for where in wanted})
    found = {where: known[where] for where in wanted if where in known}
    marks, (ends, sizes) = await asyncio.gather(_marks(cluster, found), _replicas(cluster, found))
    return {
        where: PartitionFacts(
            one,
            marks.get(where),
            {broker: told[where] for broker, told in ends.items() if where in told},
            {broker: told[where] for broker, told in sizes.items() if where in told},
        )
        for where, one in found.items()
    }


async def _marks(
    cluster: RawCluster, found: Mapping[TopicPartition, PartitionReplicas]
) -> dict[TopicPartition, int]:
    asked = {where: LATEST for where, one in found.items() if one.leader is not None}
    if not asked:
        return {}
    answers = await list_offsets(cluster, asked, read_committed=False, budget_s=_BUDGET_S)
    return {
        where: one.offset
        for where, one in answers.items()
        if not isinstance(one, ClusterFault) and one.offset is not None
    }


_Told = dict[int, dict[TopicPartition, int]]


async def _replicas(
    cluster: RawCluster, found: Mapping[TopicPartition, PartitionReplicas]
) -> tuple[_Told, _Told]:
    brokers = await list_brokers(cluster)
    wanted: dict[int, list[TopicPartition]] = {}
    for where, one in found.items():
        for broker in one.replicas:
            wanted.setdefault(broker, []).append(where)
    asked = [(brokers[number], places) for number, places in wanted.items() if number in brokers]
    told = await asyncio.gather(*(_ask(cluster, *one) for one in asked))
    numbers = [broker.broker_id for broker, _ in asked]
    ends = dict(zip(numbers, (one[0] for one in told), strict=True))
    sizes = dict(zip(numbers, (one[1] for one in told), strict=True))
    return ends, sizes


async def _ask(
    cluster: RawCluster, broker: RegisteredBroker, places: Collection[TopicPartition]
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    ends: dict[TopicPartition, int] = {}
    sizes: dict[TopicPartition, int] = {}
    try:
        async with asyncio.timeout(_ANSWER_S):
            connection = await cluster.connection_at(broker.server, COORDINATOR)
            told = await replica_end_offsets(connection, places)
            ends = {where: end for where, end in told.items() if isinstance(end, int)}
            logs = await describe_replica_logs(connection, places)
            sizes = {where: one.size_bytes for where, one in logs.replicas.items()}
    except (ClusterFault, TimeoutError):
        pass
    return ends, sizes
