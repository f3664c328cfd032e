"""What brokers know of transactions: which ids a flow has, to be fenced, and where an open one wrote."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from kio.schema.describe_transactions.v0.request import DescribeTransactionsRequest
from kio.schema.list_transactions.v0.request import ListTransactionsRequest

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.coordinator import GaveUp, ask_coordinator
from jobs.cluster.protocol.data.transaction_log import STATE_TOPIC, read_transactions
from jobs.cluster.protocol.errors import Unavailable, VersionNotOffered, Where, answer_fault
from jobs.cluster.protocol.metadata import ClusterMetadata
from jobs.cluster.protocol.transport.apis import DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.connection_pool import COORDINATOR
from jobs.cluster.protocol.transport.frames import Call
from jobs.cluster.protocol.transport.primitives import (
    producer_number,
    read_bytes,
    read_count,
    read_tags,
    transactional_name,
)
from jobs.cluster.protocol.transport.timing import RetryBudget
from jobs.wire.topics.transaction_state import TRANSACTION_STATES

# What was read in that time stays read.
_READ_S = 10.0
_NOT_FOUND = "TRANSACTIONAL_ID_NOT_FOUND"
_INT16, _INT32 = struct.Struct(">h"), struct.Struct(">i")
# The timeout, the start time, producer id and epoch.
_TIMES_AND_PRODUCER = struct.Struct(">iqqh")
_ENDS = {
    "PrepareCommit": True,
    "CompleteCommit": True,
    "PrepareAbort": False,
    "PrepareEpochFence": False,
    "CompleteAbort": False,
}


class DescribedTransaction(NamedTuple):
    """The last transaction of an id, as its coordinator knows it.

    `state` is Kafka's name, `Empty` where there is none. `partitions` are those that it wrote to, empty once
    it is complete. `started_ms` is by the coordinator's clock; both are None where nothing has begun.
    """

    state: str
    partitions: frozenset[TopicPartition]
    producer_id: int = -1
    started_ms: int | None = None
    timeout_ms: int | None = None

    @property
    def is_open(self) -> bool:
        """Whether it is neither committed nor aborted yet."""
        return self.state == "Ongoing"

    @property
    def is_ending(self) -> bool:
        """Whether it is decided, and its markers are on their way."""
        return self.state.startswith("Prepare")

    @property
    def is_committed(self) -> bool | None:
        """Committed or aborted; None: undecided, or no longer known."""
        return _ENDS.get(self.state)


async def list_transactions(
    cluster: RawCluster, prefix: str, *, budget_s: float = 30.0
) -> list[str]:
    """Return the transactional ids that begin with `prefix`, whatever state they are in, sorted.

    A broker knows those that it coordinates. While coordinators move, one could be missed
    between two brokers' answers, so the list is made again until no leader of `__transaction_state`
    changed meanwhile. Ids that the principal may not DESCRIBE are not in it. Where a broker cannot list
    (before Kafka 3.0) the log of all coordinators is read instead. Raises `ClusterFault`,
    also when a broker does not answer: a list with a hole would leave a zombie alive.
    """
    listed = await _producers_by_name(cluster, (), budget_s)
    return sorted(name for name in listed if name.startswith(prefix))


async def names_of_producers(
    cluster: RawCluster, producer_ids: Sequence[int], *, budget_s: float
) -> dict[int, str]:
    """Return the transactional ids of producers, likewise; of which there is none it is absent."""
    listed = await _producers_by_name(cluster, producer_ids, budget_s)
    return {producer: name for name, producer in listed.items()}


async def _producers_by_name(
    cluster: RawCluster, producer_ids: Sequence[int], budget_s: float
) -> dict[str, int]:
    tries = RetryBudget(cluster.timing, budget_s)
    while True:
        try:
            before = await cluster.metadata([STATE_TOPIC])
            found = await _told(cluster, before, producer_ids)
            after = await cluster.metadata([STATE_TOPIC], newer_than=before)
            if _leaders(before) == _leaders(after):
                return {name: producer for told in found for name, producer in told.items()}
            last: ClusterFault | None = None
        except ClusterFault as fault:
            if not fault.retriable:
                raise
            last = fault
        if not await tries.pause():
            raise last or _unsettled(cluster)


async def describe_transaction(
    cluster: RawCluster, transactional_id: str, *, budget_s: float = 30.0
) -> DescribedTransaction:
    """Return what became of the last transaction of an id.

    Source: DescribeTransactions (API 65, KIP-664), or the log of the coordinator. Raises `ClusterFault`.
    """

    async def send(connection: BrokerConnection) -> DescribedTransaction:
        return await describe_on(cluster, connection, transactional_id)

    try:
        return await ask_coordinator(cluster, transactional_id, send, budget_s)
    except GaveUp as gave_up:
        raise gave_up.fault from None


def describes(connection: BrokerConnection) -> bool:
    """Return whether this broker describes transactions, with one request."""
    return connection.versions.best(DESCRIBE_TRANSACTIONS.speaks) is not None


async def describe_on(
    cluster: RawCluster, connection: BrokerConnection, transactional_id: str
) -> DescribedTransaction:
    """Likewise, asked of this one broker; raises what it answers where it is not the coordinator."""
    if not describes(connection):
        return await _described_in_log(cluster, connection, transactional_id)
    version = connection.version(DESCRIBE_TRANSACTIONS.speaks)
    error, told = await connection.ask(_describe_call(transactional_id, version))
    doing = f"Describing transaction {transactional_id}"
    fault = answer_fault(error, Where(connection.cluster, connection.server.broker_id, doing))
    if fault is not None and fault.error != _NOT_FOUND:
        raise fault
    return told if fault is None else DescribedTransaction("Empty", frozenset())


@lru_cache(256)  # a flow describes its own at every commit
def _describe_call(transactional_id: str, version: int) -> Call[tuple[int, DescribedTransaction]]:
    request = DescribeTransactionsRequest(transactional_ids=(transactional_name(transactional_id),))
    asked = DESCRIBE_TRANSACTIONS.call(request, version)
    return Call(asked.name, asked.key, version, asked.is_flexible, asked.body, decode_described)


def decode_described(frame: memoryview, at: int) -> tuple[tuple[int, DescribedTransaction], int]:
    """Read an answer about one transaction with its header; returns its error code and what it says.

    kio refuses the start time of a transaction that has not begun, which is -1. Raises ValueError,
    IndexError or `struct.error` for bytes that are no such answer.
    """
    _, at = read_tags(frame, at + _INT32.size)  # the header: correlation id and tagged fields
    states, at = read_count(frame, at + _INT32.size)  # after the throttle time
    if states != 1:
        raise ValueError(f"{states} transactions where one was requested")
    (error,) = _INT16.unpack_from(frame, at)
    _, at = read_bytes(frame, at + _INT16.size)  # the transactional id
    state, at = read_bytes(frame, at)
    timeout_ms, started_ms, producer_id, _ = _TIMES_AND_PRODUCER.unpack_from(frame, at)
    topics, at = read_count(frame, at + _TIMES_AND_PRODUCER.size)
    written: set[TopicPartition] = set()
    for _ in range(topics):
        at = _read_partitions(frame, at, written)
    _, at = read_tags(frame, at)
    _, at = read_tags(frame, at)
    times = (started_ms, timeout_ms) if started_ms >= 0 else (None, None)
    told = DescribedTransaction(str(state, "utf-8"), frozenset(written), producer_id, *times)
    return (error, told), at


def _read_partitions(frame: memoryview, at: int, written: set[TopicPartition]) -> int:
    topic, at = read_bytes(frame, at)
    count, at = read_count(frame, at)
    for _ in range(count):
        written.add(TopicPartition(str(topic, "utf-8"), *_INT32.unpack_from(frame, at)))
        at += _INT32.size
    _, at = read_tags(frame, at)
    return at


async def _described_in_log(
    cluster: RawCluster, connection: BrokerConnection, transactional_id: str
) -> DescribedTransaction:
    found = await read_transactions(
        cluster, transactional_id, leader=connection.server.broker_id, budget_s=_READ_S
    )
    one = found.get(transactional_id)
    if one is None:
        return DescribedTransaction("Empty", frozenset())
    started_ms = one["transactionStartTimestampMs"]
    return DescribedTransaction(
        TRANSACTION_STATES[one["transactionStatus"]],
        frozenset(
            TopicPartition(topic["topic"], number)
            for topic in one["transactionPartitions"] or ()
            for number in topic["partitionIds"]
        ),
        one["producerId"],
        *((started_ms, one["transactionTimeoutMs"]) if started_ms >= 0 else (None, None)),
    )


async def _told(
    cluster: RawCluster, metadata: ClusterMetadata, producer_ids: Sequence[int]
) -> list[dict[str, int]]:
    try:
        return await asyncio.gather(
            *(_of(cluster, broker, producer_ids) for broker in metadata.brokers)
        )
    except VersionNotOffered:
        found = await read_transactions(cluster, budget_s=_READ_S)
    listed = {name: one["producerId"] for name, one in found.items()}
    return [{n: one for n, one in listed.items() if not producer_ids or one in producer_ids}]


async def _of(cluster: RawCluster, broker_id: int, producer_ids: Sequence[int]) -> dict[str, int]:
    connection = await cluster.connection_to(broker_id, COORDINATOR)
    filters = tuple(producer_number(one) for one in producer_ids)
    request = ListTransactionsRequest(state_filters=(), producer_id_filters=filters)
    answer = await connection.request(LIST_TRANSACTIONS, request)
    fault = answer_fault(
        answer.error_code, Where(cluster.alias, broker_id, "Listing transactional ids")
    )
    if fault is not None:
        raise fault
    return {one.transactional_id: one.producer_id for one in answer.transaction_states}


def _leaders(metadata: ClusterMetadata) -> list[tuple[int, int | None, int]]:
    """Return the coordinators; [] when they are not reported, or no transaction was ever used."""
    topic = metadata.topics.get(STATE_TOPIC)
    partitions = topic.partitions.values() if topic else ()
    return sorted((p.partition, p.leader, p.leader_epoch) for p in partitions)


def _unsettled(cluster: RawCluster) -> ClusterFault:
    fault = Unavailable(
        "Listing transactional ids: coordinators moved all the time.", cluster=cluster.alias
    )
    fault.error = "COORDINATOR_NOT_AVAILABLE"
    return fault
