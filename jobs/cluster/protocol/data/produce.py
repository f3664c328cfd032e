"""Produce: one record batch per partition to one broker, acknowledged by all in-sync replicas."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from kio.schema.produce.v12.response import PartitionProduceResponse, ProduceResponse

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.batch import BatchBytes
from jobs.cluster.protocol.data.fetch import LeaderHint
from jobs.cluster.protocol.data.produce_format import encode_produce
from jobs.cluster.protocol.errors import AnswerFault, Where, answer_fault
from jobs.cluster.protocol.transport.apis import PRODUCE as PRODUCE_API
from jobs.cluster.protocol.transport.connection_pool import PRODUCE
from jobs.cluster.protocol.transport.primitives import milliseconds
from jobs.cluster.read_only import refuse_when_read_only

_LAST_OF_PROTOCOL_1 = 11


class RecordError(NamedTuple):
    """Why one record of a batch is refused; `batch_index` counts records from 0."""

    batch_index: int
    message: str


class ProducedPartition(NamedTuple):
    """What a broker answered for a partition.

    `base_offset` is that of the batch's first record; None with an error. `log_append_time_ms` is
    None unless the topic keeps the broker's time. `record_errors` tell which records are why
    the whole batch was refused (KIP-467).
    """

    base_offset: int | None
    log_append_time_ms: int | None
    log_start_offset: int | None
    error: AnswerFault | None
    record_errors: tuple[RecordError, ...]
    current_leader: LeaderHint | None


class ProduceAnswer(NamedTuple):
    """The partitions of an answer; `throttle_ms` is how long the broker wants to be left alone."""

    partitions: dict[TopicPartition, ProducedPartition]
    throttle_ms: int


async def produce(
    cluster: RawCluster,
    broker_id: int,
    batches: Mapping[TopicPartition, BatchBytes],
    *,
    transactional_id: str | None,
    timeout_ms: int,
    lane: str = PRODUCE,
) -> ProduceAnswer:
    """Write one batch to each partition; partitions that the broker did not answer for are absent.

    `timeout_ms` is how long the broker may wait for its replicas. A partition's error stands in the
    answer; raises `ClusterFault` for the whole request, of which every batch may have been written
    when the fault says `may_have_arrived`, and `ReadOnly`. Raises ValueError for a batch whose
    transactional bit does not fit: a broker would put it outside of the transaction, and say nothing.
    """
    refuse_when_read_only(cluster.alias, "Writing batches")
    _refuse_outside_transaction(batches, transactional_id)
    connection = await cluster.connection_to(broker_id, lane)
    follows_protocol_1 = transactional_id and not await cluster.supports_transactions_v2()
    at_most = _LAST_OF_PROTOCOL_1 if follows_protocol_1 else None
    version = connection.version(PRODUCE_API.speaks, at_most=at_most)
    body = encode_produce(version, batches, transactional_id, timeout_ms)
    response = await connection.ask(PRODUCE_API.call_with(body, version), wait_ms=timeout_ms)
    return _answer(response, (cluster.alias, broker_id))


def _answer(response: ProduceResponse, broker: tuple[str, int]) -> ProduceAnswer:
    found = {}
    for topic in response.responses:
        for partition in topic.partition_responses:
            where = TopicPartition(topic.name, partition.index)
            found[where] = _produced(partition, where, broker)
    return ProduceAnswer(found, milliseconds(response.throttle_time))


def _refuse_outside_transaction(
    batches: Mapping[TopicPartition, BatchBytes], transactional_id: str | None
) -> None:
    for where, batch in batches.items():
        if batch.is_transactional != (transactional_id is not None):
            bit = "set" if batch.is_transactional else "not set"
            raise ValueError(
                f"{where}: the batch's transactional bit is {bit}, the request's "
                f"transactional id is {transactional_id!r}"
            )


def _produced(
    partition: PartitionProduceResponse, where: TopicPartition, broker: tuple[str, int]
) -> ProducedPartition:
    error, errors = None, partition.record_errors
    if partition.error_code:
        place = Where(*broker, "Producing to", where)
        error = answer_fault(partition.error_code, place, partition.error_message)
    return ProducedPartition(
        _known(partition.base_offset),
        _time_ms(partition.log_append_time),
        _known(partition.log_start_offset),
        error,
        tuple(RecordError(one.batch_index, one.batch_index_error_message or "") for one in errors),
        _leader(partition) if error else None,
    )


def _leader(partition: PartitionProduceResponse) -> LeaderHint | None:
    # Versions below 10 have no such field.
    leader = getattr(partition, "current_leader", None)
    if leader is None or leader.leader_id < 0:
        return None
    return LeaderHint(leader.leader_id, leader.leader_epoch)


def _time_ms(moment: datetime | None) -> int | None:
    return None if moment is None else round(moment.timestamp() * 1000)


def _known(value: int) -> int | None:
    return value if value >= 0 else None
