"""The requests of a transactional producer, for both transaction protocols (KIP-98, KIP-890).

Protocol 1: `init_producer_id`, then per transaction `add_partitions_to_txn`, Produce, `end_txn`;
sequences continue from one transaction to the next. Protocol 2 (Kafka 4.0): no `add_partitions_to_txn`, and
`end_txn` returns the identity of the next transaction, in which sequences begin at 0 again.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import NamedTuple

from kio.schema.add_partitions_to_txn.v3.request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from kio.schema.add_partitions_to_txn.v3.response import AddPartitionsToTxnResponse
from kio.schema.end_txn.v5.request import EndTxnRequest
from kio.schema.init_producer_id.v5.request import InitProducerIdRequest

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.coordinator import GaveUp, ask_coordinator, ask_patiently
from jobs.cluster.protocol.errors import OutcomeUnknown, Where, answer_fault
from jobs.cluster.protocol.transport.apis import ADD_PARTITIONS_TO_TXN, END_TXN, INIT_PRODUCER_ID
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.primitives import (
    by_topic,
    duration,
    int16,
    int32,
    producer_number,
    transactional_name,
)
from jobs.cluster.read_only import refuse_when_read_only

BUDGET_S = 60.0
_LAST_OF_PROTOCOL_1 = 4
_OPERATION_NOT_ATTEMPTED = 55


class ProducerIdentity(NamedTuple):
    """Who writes: batches carry both numbers, and a broker takes only the newest epoch of an id."""

    producer_id: int
    producer_epoch: int


async def init_producer_id(
    cluster: RawCluster,
    transactional_id: str | None,
    *,
    before: ProducerIdentity | None = None,
    transaction_timeout_ms: int = 60_000,
    budget_s: float = BUDGET_S,
) -> ProducerIdentity:
    """Return a new identity; sequences begin at 0.

    With a transactional id, the producer that had it before is fenced and an open transaction is
    aborted; without one (None) the identity is for an idempotent producer. With `before`, the identity
    that the caller had, no producer is fenced: where another one has it by now, the caller gets
    `ProducerFenced` (KIP-360), and no transaction may be open. The broker aborts a
    transaction that is open for longer than `transaction_timeout_ms`. Raises `ClusterFault`, `ReadOnly`.
    """
    refuse_when_read_only(cluster.alias, "Starting a producer")
    request = InitProducerIdRequest(
        transactional_id=None if transactional_id is None else transactional_name(transactional_id),
        transaction_timeout=duration(transaction_timeout_ms),
        producer_id=producer_number(before.producer_id if before else -1),
        producer_epoch=int16(before.producer_epoch if before else -1),
    )
    doing = f"Starting the producer of {transactional_id or 'an idempotent client'}"

    async def send(connection: BrokerConnection) -> ProducerIdentity:
        answer = await connection.request(INIT_PRODUCER_ID, request)
        _raise(answer.error_code, _where(connection, doing))
        return ProducerIdentity(answer.producer_id, answer.producer_epoch)

    try:
        if transactional_id is None:
            # Any broker gives out ids, but not in the first moments of its life.
            return await ask_patiently(cluster, partial(cluster.ask_any, send), budget_s)
        return await ask_coordinator(cluster, transactional_id, send, budget_s)
    except GaveUp as gave_up:
        raise gave_up.fault from None


async def add_partitions_to_txn(
    cluster: RawCluster,
    transactional_id: str,
    identity: ProducerIdentity,
    partitions: Collection[TopicPartition],
    *,
    budget_s: float = BUDGET_S,
) -> None:
    """Say which partitions the open transaction is going to write to (protocol 1, before Produce).

    All or none are added. Raises `ProducerFenced`, `TransactionFailed`, `Denied` and other
    `ClusterFault`s, `ReadOnly`.
    """
    refuse_when_read_only(cluster.alias, "Adding partitions to a transaction")
    doing = f"Adding to transaction {transactional_id}"
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_name(transactional_id),
        v3_and_below_producer_id=producer_number(identity.producer_id),
        v3_and_below_producer_epoch=int16(identity.producer_epoch),
        v3_and_below_topics=tuple(
            AddPartitionsToTxnTopic(name=topic, partitions=tuple(int32(w.partition) for w in group))
            for topic, group in by_topic(partitions)
        ),
    )

    async def send(connection: BrokerConnection) -> None:
        _raise_refusal(await connection.request(ADD_PARTITIONS_TO_TXN, request), connection, doing)

    try:
        await ask_coordinator(cluster, transactional_id, send, budget_s)
    except GaveUp as gave_up:
        raise gave_up.fault from None


def _raise_refusal(
    answer: AddPartitionsToTxnResponse, connection: BrokerConnection, doing: str
) -> None:
    """Raise the fault of the partition for which the others were not tried either."""
    for topic in answer.results_by_topic_v3_and_below:
        for result in topic.results_by_partition:
            if result.partition_error_code != _OPERATION_NOT_ATTEMPTED:
                partition = TopicPartition(topic.name, result.partition_index)
                _raise(result.partition_error_code, _where(connection, doing, partition))


async def end_txn(
    cluster: RawCluster,
    transactional_id: str,
    identity: ProducerIdentity,
    *,
    commit: bool,
    budget_s: float = BUDGET_S,
) -> ProducerIdentity:
    """Commit or abort the open transaction; returns the identity of the next one.

    With protocol 2 that is a new one and sequences begin at 0, with protocol 1 it is the same and
    sequences continue. Raises `OutcomeUnknown` when a try may have succeeded without an answer,
    `ProducerFenced`, `TransactionFailed` (nothing is open, or it was aborted), other
    `ClusterFault`s, `ReadOnly`.
    """
    refuse_when_read_only(cluster.alias, "Ending a transaction")
    at_most = None if await cluster.supports_transactions_v2() else _LAST_OF_PROTOCOL_1
    request = EndTxnRequest(
        transactional_id=transactional_name(transactional_id),
        producer_id=producer_number(identity.producer_id),
        producer_epoch=int16(identity.producer_epoch),
        committed=commit,
    )
    doing = f"{'Committing' if commit else 'Aborting'} transaction {transactional_id}"

    async def send(connection: BrokerConnection) -> ProducerIdentity:
        answer = await connection.request(END_TXN, request, at_most=at_most)
        _raise(answer.error_code, _where(connection, doing))
        if at_most is not None or answer.producer_id < 0:
            return identity
        return ProducerIdentity(answer.producer_id, answer.producer_epoch)

    try:
        return await ask_coordinator(cluster, transactional_id, send, budget_s)
    except GaveUp as gave_up:
        if not gave_up.may_have_arrived:
            raise gave_up.fault from None
        message = f"{doing}: no broker confirmed the result ({gave_up.fault.message})"
        raise OutcomeUnknown(message, cluster=cluster.alias) from None


def _where(
    connection: BrokerConnection, doing: str, partition: TopicPartition | None = None
) -> Where:
    return Where(connection.cluster, connection.server.broker_id, doing, partition)


def _raise(error: int, where: Where) -> None:
    fault = answer_fault(error, where)
    if fault is not None:
        raise fault
