"""The records of a batch, one by one, in plain Python.

Source: KIP-98, KIP-82 (headers) and org.apache.kafka.common.record.DefaultRecord. This is the path for
single batches and for tests; `jobs.wire.rebatch.rebatcher` has the fast one for data. Reading raises
`Damaged` with the batch's base offset, or `ExpandsTooFar`. The CRC is a question of its own:
`record_batch.verify_crc`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypedDict, Unpack

from jobs.wire.batches import record_batch as frame
from jobs.wire.batches.compression import EXPANSION_LIMIT_BYTES, compress, decompress
from jobs.wire.batches.hashes import checksum
from jobs.wire.batches.record_batch import BatchHeader, Codec, whole_header
from jobs.wire.batches.varints import (
    encode_varint,
    encode_varlong,
    read_varint,
    read_varlong,
    wrap_int64,
)
from jobs.wire.errors import Damaged, ExpandsTooFar, RecordFormatError

# One byte each: length, attributes, both deltas, the lengths of key and value, the number of headers.
SHORTEST_RECORD_BYTES = 7

Headers = tuple[tuple[bytes, bytes | None], ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it lies in its batch. A null value is a deletion; header names are bytes as sent."""

    offset_delta: int
    timestamp_delta: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    attributes: int = 0


@dataclass(frozen=True, slots=True)
class PlacedRecord:
    """A record with its offset in the partition and its time, ms since 1970 (-1: none)."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    attributes: int = 0


class RawRecord(NamedTuple):
    """A record cut into what depends on its batch and `rest`: key, value and headers as they were sent."""

    attributes: int
    timestamp_delta: int
    offset_delta: int
    rest: bytes


class BatchFields(TypedDict, total=False):
    """Options of `encode_batch`; the comment is the default."""

    codec: Codec  # NONE
    base_offset: int  # that of the first record, 0 without records
    last_offset: int  # that of the last record
    partition_leader_epoch: int  # -1
    producer_id: int  # -1
    producer_epoch: int  # -1
    base_sequence: int  # -1
    is_transactional: bool  # False
    is_control: bool  # False
    log_append_time_ms: int  # CreateTime, every record keeps its own
    delete_horizon_ms: int  # none


def decode_records(
    batch: bytes | memoryview, limit_bytes: int = EXPANSION_LIMIT_BYTES
) -> list[Record]:
    """Return the records of a whole batch, of which a compacted one may have none."""
    header = whole_header(batch)
    body = records_body(header, batch, limit_bytes)
    try:
        return [_decode(raw) for raw in split_records(body, header.record_count)]
    except RecordFormatError as error:
        raise Damaged(header.base_offset, str(error)) from None


def placed_records(
    batch: bytes | memoryview, limit_bytes: int = EXPANSION_LIMIT_BYTES
) -> list[PlacedRecord]:
    """Return the records of a whole batch with the offsets and times that a consumer sees."""
    header = BatchHeader.decode(batch)
    return [
        PlacedRecord(
            offset=header.base_offset + record.offset_delta,
            timestamp=record_timestamp(header, record.timestamp_delta),
            key=record.key,
            value=record.value,
            headers=record.headers,
            attributes=record.attributes,
        )
        for record in decode_records(batch, limit_bytes)
    ]


def record_timestamp(header: BatchHeader, timestamp_delta: int) -> int:
    """Return a record's time in ms since 1970; with LogAppendTime the broker's, whatever the delta says."""
    if header.is_log_append_time:
        return header.max_timestamp
    return wrap_int64(header.base_timestamp + timestamp_delta)


def records_body(
    header: BatchHeader, batch: bytes | memoryview, limit_bytes: int
) -> bytes | memoryview:
    """Return the bytes of all records of a batch, expanded."""
    body = batch[frame.HEADER_BYTES :]
    codec = header.codec
    # A batch of which the cleaner only keeps the header has nothing to expand.
    if codec is Codec.NONE or not body:
        return body
    try:
        return decompress(codec, body, limit_bytes)
    except ExpandsTooFar as error:
        raise ExpandsTooFar(
            f"record batch at offset {header.base_offset}", error.limit_bytes
        ) from None
    except RecordFormatError as error:
        raise Damaged(header.base_offset, str(error)) from None


def split_records(body: bytes | memoryview, count: int) -> Iterator[RawRecord]:
    """Yield exactly `count` records that fill the body exactly; raises `RecordFormatError` otherwise."""
    at = 0
    for _ in range(count):
        raw, at = read_raw(body, at)
        yield raw
    if count < 0 or at != len(body):
        left = len(body) - at
        raise RecordFormatError("records", f"{left} bytes are left behind {count} records")


def read_raw(body: bytes | memoryview, at: int) -> tuple[RawRecord, int]:
    """Return the record at byte `at` and where the next one begins; raises `RecordFormatError`."""
    length, start = read_varint(body, at)
    end = start + length
    if length < 1 or end > len(body):
        raise RecordFormatError("record", f"the one at byte {at} has the length {length}")
    content = bytes(body[start:end])
    timestamp_delta, after = read_varlong(content, 1)
    offset_delta, after = read_varint(content, after)
    attributes = int.from_bytes(content[:1], "big", signed=True)
    return RawRecord(attributes, timestamp_delta, offset_delta, content[after:]), end


def split_rest(rest: bytes) -> tuple[bytes | None, bytes | None, Headers]:
    """Return key, value and headers of a `RawRecord`'s rest; raises `RecordFormatError`."""
    key, at = _nullable(rest, 0)
    value, at = _nullable(rest, at)
    count, at = read_varint(rest, at)
    headers = []
    for _ in range(count):
        name, at = _nullable(rest, at)
        content, at = _nullable(rest, at)
        if name is None:
            raise RecordFormatError("record", "a header has no name")
        headers.append((name, content))
    if count < 0 or at != len(rest):
        raise RecordFormatError("record", f"{len(rest) - at} bytes are left behind {count} headers")
    return key, value, tuple(headers)


def encode_raw(raw: RawRecord) -> bytes:
    """Return a record with its length in front; raises ValueError for a delta outside its range."""
    content = b"".join((
        (raw.attributes & 0xFF).to_bytes(1, "big"),
        encode_varlong(raw.timestamp_delta),
        encode_varint(raw.offset_delta),
        raw.rest,
    ))  # fmt: skip
    return encode_varint(len(content)) + content


def encode_rest(key: bytes | None, value: bytes | None, headers: Headers) -> bytes:
    """Return key, value and headers as they stand at the end of a record."""
    parts = [_encode_nullable(key), _encode_nullable(value), encode_varint(len(headers))]
    for name, content in headers:
        parts += [_encode_nullable(name), _encode_nullable(content)]
    return b"".join(parts)


def encode_batch(records: Sequence[PlacedRecord], **fields: Unpack[BatchFields]) -> bytes:
    """Return one batch with a valid CRC; gaps between offsets make it a compacted one.

    Raises ValueError or struct.error for offsets that do not fit into a batch.
    """
    codec = fields.get("codec", Codec.NONE)
    base_offset = fields.get("base_offset", records[0].offset if records else 0)
    last_offset = fields.get("last_offset", records[-1].offset if records else base_offset)
    base_timestamp, max_timestamp = _timestamps(records, fields)
    body = b"".join(_encode(record, base_offset, base_timestamp) for record in records)
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=0,
        partition_leader_epoch=fields.get("partition_leader_epoch", frame.NO_LEADER_EPOCH),
        magic=frame.MAGIC,
        crc=0,
        attributes=codec | _flags(fields),
        last_offset_delta=last_offset - base_offset,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=fields.get("producer_id", frame.NO_PRODUCER_ID),
        producer_epoch=fields.get("producer_epoch", frame.NO_PRODUCER_EPOCH),
        base_sequence=fields.get("base_sequence", frame.NO_SEQUENCE),
        record_count=len(records),
    )
    return seal(header, compress(codec, body) if records else b"")


def seal(header: BatchHeader, body: bytes | memoryview) -> bytes:
    """Return a batch with the length and CRC of this body, whatever the header says of them."""
    length = header.batch_length - header.size_bytes + frame.HEADER_BYTES + len(body)
    inside = header._replace(batch_length=length).encode()[frame.CRC_FROM :]
    crc = checksum(body, checksum(inside))
    return b"".join((header._replace(batch_length=length, crc=crc).encode(), body))


def _decode(raw: RawRecord) -> Record:
    key, value, headers = split_rest(raw.rest)
    return Record(raw.offset_delta, raw.timestamp_delta, key, value, headers, raw.attributes)


def _encode(record: PlacedRecord, base_offset: int, base_timestamp: int) -> bytes:
    return encode_raw(
        RawRecord(
            record.attributes,
            wrap_int64(record.timestamp - base_timestamp),
            record.offset - base_offset,
            encode_rest(record.key, record.value, record.headers),
        )
    )


def _nullable(content: bytes, at: int) -> tuple[bytes | None, int]:
    length, start = read_varint(content, at)
    if length == -1:
        return None, start
    end = start + length
    if length < 0 or end > len(content):
        raise RecordFormatError("record", f"a field has the length {length}")
    return content[start:end], end


def _encode_nullable(content: bytes | None) -> bytes:
    return encode_varint(-1) if content is None else encode_varint(len(content)) + content


def _timestamps(records: Sequence[PlacedRecord], fields: BatchFields) -> tuple[int, int]:
    first = records[0].timestamp if records else frame.NO_TIMESTAMP
    latest = max((record.timestamp for record in records), default=frame.NO_TIMESTAMP)
    return fields.get("delete_horizon_ms", first), fields.get("log_append_time_ms", latest)


def _flags(fields: BatchFields) -> int:
    return (
        (frame.TIMESTAMP_TYPE_MASK if "log_append_time_ms" in fields else 0)
        | (frame.TRANSACTIONAL_MASK if fields.get("is_transactional") else 0)
        | (frame.CONTROL_MASK if fields.get("is_control") else 0)
        | (frame.DELETE_HORIZON_MASK if "delete_horizon_ms" in fields else 0)
    )
