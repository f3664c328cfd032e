"""Produce: one record batch per partition to one broker, acknowledged by all in-sync replicas.

Requests of versions 8 to 12 are written here: kio's way takes several times as long per batch. Source:
ProduceRequest.json of Kafka 4.3. The tests compare with kio byte by byte.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from kio.schema.produce.v12.response import PartitionProduceResponse, ProduceResponse

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.fetch import LeaderHint
from jobs.cluster.protocol.errors import AnswerFault, Where, answer_fault
from jobs.cluster.protocol.transport.apis import PRODUCE as PRODUCE_API
from jobs.cluster.protocol.transport.connection_pool import PRODUCE
from jobs.cluster.protocol.transport.frames import Chunk, Chunks
from jobs.cluster.protocol.transport.primitives import (
    NO_TAGS,
    by_topic,
    count,
    milliseconds,
    string,
)
from jobs.cluster.read_only import refuse_when_read_only

HEADER_BYTES = 61
# Offset, length, leader epoch, magic, CRC, attributes, last offset delta, two timestamps, producer id,
# producer epoch, first sequence, number of records: DefaultRecordBatch of Kafka.
_HEADER = struct.Struct(">qiibIhiqqqhii")
_LENGTH_COUNTS_FROM = 12
_MAGIC = 2
_TRANSACTIONAL, _CONTROL = 0x10, 0x20


class BatchBytes:
    """Exactly one batch, in two parts: its header of 61 bytes and the rest, which is never copied.

    Raises ValueError for what a broker would refuse, or, worse, accept: bytes that are not one batch of
    format 2, a base offset that is not 0, more or fewer offsets than records, a control batch, a producer
    id without a sequence. The CRC is not looked at: the broker checks it.
    """

    __slots__ = ("body", "header", "is_idempotent", "is_transactional", "records")

    def __init__(self, header: bytes, body: bytes | memoryview) -> None:
        fields = _HEADER.unpack(header)
        view = memoryview(body).cast("B")
        problem = _problem(fields, len(view))
        if problem:
            raise ValueError(f"not a batch for a Produce request: {problem}")
        self.header = header
        self.body = view
        self.records: int = fields[12]
        self.is_transactional = bool(fields[5] & _TRANSACTIONAL)
        self.is_idempotent: bool = fields[9] >= 0

    def __len__(self) -> int:
        return HEADER_BYTES + len(self.body)

    def __repr__(self) -> str:
        return f"BatchBytes({self.records} records, {len(self)} bytes)"


def _problem(fields: tuple[int, ...], body_bytes: int) -> str | None:
    base_offset, length, _, magic = fields[:4]
    bytes_after_length = HEADER_BYTES - _LENGTH_COUNTS_FROM + body_bytes
    if magic != _MAGIC:
        return f"its format is {magic}, not {_MAGIC}"
    if length != bytes_after_length:
        return f"its length is {length}, but it has {bytes_after_length}"
    if base_offset != 0:
        return f"its base offset is {base_offset}, not 0"
    return _problem_inside(fields)


def _problem_inside(fields: tuple[int, ...]) -> str | None:
    attributes, last_delta = fields[5:7]
    producer_id, _, sequence, records = fields[9:]
    if attributes & _CONTROL:
        return "it is a control batch"
    if records < 1 or last_delta + 1 != records:
        return f"it has {records} records at {last_delta + 1} offsets"
    if (producer_id < 0) != (sequence < 0):
        return f"its producer id is {producer_id}, its sequence {sequence}"
    if attributes & _TRANSACTIONAL and producer_id < 0:
        return "it is transactional without a producer id"
    return None


_FLEXIBLE_SINCE = 9
_ALL_REPLICAS = -1
_INT16, _INT32 = struct.Struct(">h"), struct.Struct(">i")
_ACKS_AND_TIMEOUT = struct.Struct(">hi")


def _legacy_string(text: str) -> bytes:
    content = text.encode()
    return _INT16.pack(len(content)) + content


@dataclass(frozen=True, slots=True)
class _Style:
    """How a family of versions writes its fields."""

    null: bytes
    string: Callable[[str], bytes]
    count: Callable[[int], bytes]
    tags: bytes


_COMPACT = _Style(NO_TAGS, string, count, NO_TAGS)
_LEGACY = _Style(_INT16.pack(-1), _legacy_string, _INT32.pack, b"")


def encode_produce(
    version: int,
    batches: Mapping[TopicPartition, BatchBytes],
    transactional_id: str | None,
    timeout_ms: int,
) -> list[Chunk]:
    """Return a request's body, acknowledged by all in-sync replicas; the batches are not copied."""
    style = _COMPACT if version >= _FLEXIBLE_SINCE else _LEGACY
    topics = list(by_topic(batches))
    chunks = Chunks()
    chunks.write(style.null if transactional_id is None else style.string(transactional_id))
    chunks.write(_ACKS_AND_TIMEOUT.pack(_ALL_REPLICAS, timeout_ms) + style.count(len(topics)))
    for topic, places in topics:
        chunks.write(style.string(topic) + style.count(len(places)))
        for where in places:
            batch = batches[where]
            chunks.write(_INT32.pack(where.partition) + style.count(len(batch)))
            chunks.write(batch)
            chunks.write(style.tags)
        chunks.write(style.tags)
    chunks.write(style.tags)
    return chunks.taken()


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
    """The partitions of an answer; `throttle_ms` is how long the broker wants no request."""

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

    `timeout_ms` is how long the broker may wait for its replicas. A partition's error is in the
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
