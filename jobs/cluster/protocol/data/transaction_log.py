"""Transactions as `__transaction_state` has them, for brokers that do not list or describe them (before 3.0).

A partition's leader is the coordinator of its transactional ids, so the log is as new as what it answered:
it answers when the high watermark has passed the record, and a leader that has just been elected answers
no end of the log before its high watermark has passed everything of the leader before it
(OFFSET_NOT_AVAILABLE, KIP-207). PrepareCommit and PrepareAbort are written before markers are sent,
CompleteCommit and CompleteAbort when the last one was answered (TransactionMarkerChannelManager).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, NotAuthorized, TimedOut
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.committed_batches import CommittedBatch, read_committed_batches
from jobs.cluster.protocol.data.offsets import LATEST, list_offsets
from jobs.cluster.protocol.errors import Denied, LeaderMoved, TopicUnknown
from jobs.cluster.protocol.metadata import PartitionMetadata, TopicMetadata
from jobs.cluster.protocol.transport.connection_pool import COORDINATOR
from jobs.wire.errors import RecordFormatError
from jobs.wire.topics.transaction_state import (
    decode_transaction_key,
    decode_transaction_value,
    partition_of,
)

STATE_TOPIC = "__transaction_state"
_PARTITION_BYTES = 1 << 20


@dataclass(slots=True)
class TransactionTail:
    """How far a partition was read, in which leader epoch, and the value of the last record of each id.

    After an election everything is read again: an unclean one may have cut the log.
    """

    leader: PartitionMetadata
    position: int = 0
    values: dict[str, bytes] = field(default_factory=dict)

    def take(self, batch: CommittedBatch | None, position: int) -> None:
        """Take a batch, unless a question at the same time has; raises `RecordFormatError`."""
        if position <= self.position:
            return
        for record in batch.records() if batch is not None else ():
            name = decode_transaction_key(record.key)
            if record.value is None:
                self.values.pop(name, None)
            else:
                self.values[name] = record.value
        self.position = position


async def read_transactions(
    cluster: RawCluster,
    transactional_id: str | None = None,
    *,
    leader: int | None = None,
    budget_s: float,
) -> Mapping[str, Mapping[str, Any]]:
    """Return the last record of each id; of one id's partition alone, read from this leader alone.

    What was read before is kept with the cluster, and only the tail is read again. Raises `ClusterFault`:
    `Denied` without READ on the topic, `LeaderMoved` while coordinators move, and `TimedOut` when nothing
    came for `budget_s`: a log of many records takes longer.
    """
    topic = await _topic(cluster, is_there=transactional_id is not None)
    numbers: Collection[int] = topic.partitions
    if transactional_id is not None:
        numbers = [partition_of(transactional_id, len(topic.partitions))]
    tails = {
        TopicPartition(STATE_TOPIC, number): _tail(cluster, topic.partitions[number])
        for number in numbers
    }
    await _read_to_end(cluster, tails, budget_s)
    now = await cluster.metadata([STATE_TOPIC])
    for where, tail in tails.items():
        # Questions carry the leader epoch, so that all answers are of one leader if it is the same now.
        if now.partition(where) != tail.leader or leader not in (None, tail.leader.leader):
            raise LeaderMoved(f"Reading {where}: its leader moved.", cluster=cluster.alias)
    values = {name: value for tail in tails.values() for name, value in tail.values.items()}
    names = values.keys() if transactional_id is None else values.keys() & {transactional_id}
    try:
        return {name: decode_transaction_value(name, values[name]) for name in names}
    except RecordFormatError as error:
        text = f"{STATE_TOPIC} cannot be read: {error}"
        raise ClusterFault(text, cluster=cluster.alias) from None


async def _topic(cluster: RawCluster, *, is_there: bool) -> TopicMetadata:
    """Return the topic, without partitions where no broker knows it; raises `ClusterFault`."""
    metadata = await cluster.metadata([STATE_TOPIC])
    topic = metadata.topics[STATE_TOPIC]
    if isinstance(topic.error, TopicUnknown):
        metadata = await cluster.metadata([STATE_TOPIC], newer_than=metadata)
        topic = metadata.topics[STATE_TOPIC]
    if topic.error is None:
        return topic
    if is_there or not isinstance(topic.error, TopicUnknown) or not metadata.brokers:
        raise _fault(topic.error)
    # A broker that has just been started knows no topic.
    for broker in metadata.brokers:
        connection = await cluster.connection_to(broker, COORDINATOR)
        told = await cluster.metadata_from(connection, [STATE_TOPIC])
        if not isinstance(told.topics[STATE_TOPIC].error, TopicUnknown):
            raise topic.error
    return topic


def _tail(cluster: RawCluster, leader: PartitionMetadata) -> TransactionTail:
    known = cluster.transaction_tails.get(leader.partition)
    if known is None or known.leader != leader:
        known = cluster.transaction_tails[leader.partition] = TransactionTail(leader)
    return known


async def _read_to_end(
    cluster: RawCluster, tails: Mapping[TopicPartition, TransactionTail], budget_s: float
) -> None:
    moments = dict.fromkeys(tails, LATEST)
    listed = await list_offsets(cluster, moments, read_committed=False, budget_s=budget_s)
    ends: dict[TopicPartition, int] = {}
    for where, one in listed.items():
        if isinstance(one, ClusterFault):
            raise _fault(one)
        ends[where] = one.offset or 0

    def take(where: TopicPartition, batch: CommittedBatch | None, position: int) -> bool:
        tails[where].take(batch, position)
        return position >= ends[where]

    while starts := {w: tail.position for w, tail in tails.items() if tail.position < ends[w]}:
        unread = await read_committed_batches(
            cluster, starts, take, budget_s=budget_s, partition_bytes=_PARTITION_BYTES
        )
        for fault in unread.values():
            if fault is not None:
                raise _fault(fault)
        if all(tails[where].position == start for where, start in starts.items()):
            text = f"Reading {next(iter(starts))}: nothing came within {budget_s:g} s."
            raise TimedOut(text, cluster=cluster.alias)


def _fault(fault: ClusterFault) -> ClusterFault:
    if not isinstance(fault, NotAuthorized):
        return fault
    return Denied(
        f"{fault.message.rstrip('.')}, and brokers before Kafka 3.0 tell of transactions nowhere else.",
        cluster=fault.cluster,
        hint=f"Give the principal READ on the topic {STATE_TOPIC}, or let the flow copy with "
        "delivery at_least_once, which needs no transactions.",
    )
