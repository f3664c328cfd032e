"""Which transaction holds the last stable offset of a partition (DescribeProducers, API 61, KIP-664)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial

from kio.schema.describe_producers.v0.request import DescribeProducersRequest, TopicRequest

from jobs.cluster.descriptions import OpenTransaction, TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.transaction_list import describe_transaction, names_of_producers
from jobs.cluster.protocol.errors import Where, answer_fault
from jobs.cluster.protocol.leaders import ask_leaders
from jobs.cluster.protocol.metadata import PartitionMetadata
from jobs.cluster.protocol.transport.apis import DESCRIBE_PRODUCERS
from jobs.cluster.protocol.transport.primitives import by_topic, int32

_LANE = "offsets"

Found = dict[TopicPartition, OpenTransaction | ClusterFault | None]


async def find_open_transactions(
    cluster: RawCluster, partitions: Collection[TopicPartition], *, budget_s: float
) -> Found:
    """Return the oldest open transaction of each partition, None without one, or why that is not known.

    Coordinators are queried after the leaders: they know a transaction that began before while it lasts.
    Where they do not have it, leaders are queried again: it may have ended in between. Raises
    `ClusterFault` without metadata.
    """
    found: Found = dict(await ask_leaders(cluster, partitions, partial(_oldest, cluster), budget_s))
    opened = {where: one for where, one in found.items() if isinstance(one, OpenTransaction)}
    producers = sorted({one.producer_id for one in opened.values()})
    try:
        names = await names_of_producers(cluster, producers, budget_s=budget_s) if producers else {}
    except ClusterFault as unnamed:  # whose they are is not known; that the others have none, is
        return found | dict.fromkeys(opened, unnamed)
    for where, one in opened.items():
        if one.producer_id in names:
            name = names[one.producer_id]
            found[where] = await _with_coordinator(cluster, where, one, name, budget_s)
    again = [where for where, one in found.items() if _is_hanging(one)]
    if again:
        now = await ask_leaders(cluster, again, partial(_oldest, cluster), budget_s)
        for where in again:
            if now[where] != opened[where]:
                found[where] = fault if isinstance(fault := now[where], ClusterFault) else None
    return found


def _is_hanging(one: OpenTransaction | ClusterFault | None) -> bool:
    return isinstance(one, OpenTransaction) and bool(one.transactional_id) and not one.is_known


async def _oldest(
    cluster: RawCluster, leader: int, asked: Mapping[TopicPartition, PartitionMetadata]
) -> Found:
    connection = await cluster.connection_to(leader, _LANE)
    topics = tuple(
        TopicRequest(name=topic, partition_indexes=tuple(int32(one.partition) for one in own))
        for topic, own in by_topic(asked)
    )
    answer = await connection.request(DESCRIBE_PRODUCERS, DescribeProducersRequest(topics=topics))
    found: Found = {}
    for topic in answer.topics:
        for partition in topic.partitions:
            where = TopicPartition(topic.name, partition.partition_index)
            place = Where(cluster.alias, leader, "Describing producers of", where)
            opened = [
                OpenTransaction(
                    one.producer_id,
                    one.producer_epoch,
                    one.coordinator_epoch,
                    one.current_txn_start_offset,
                )
                for one in partition.active_producers
                if one.current_txn_start_offset >= 0
            ]
            found[where] = answer_fault(
                partition.error_code, place, partition.error_message
            ) or min(opened, key=lambda one: one.start_offset, default=None)
    return found


async def _with_coordinator(
    cluster: RawCluster, where: TopicPartition, one: OpenTransaction, name: str, budget_s: float
) -> OpenTransaction | ClusterFault:
    try:
        told = await describe_transaction(cluster, name, budget_s=budget_s)
    except ClusterFault as fault:
        return fault
    is_known = where in told.partitions and told.producer_id == one.producer_id
    return replace(
        one,
        transactional_id=name,
        state=told.state,
        is_known=is_known,
        started_ms=told.started_ms if is_known else None,
        timeout_ms=told.timeout_ms,
    )
