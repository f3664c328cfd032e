"""Segments and snapshots of the metadata log: every record with its place, and every damage.

Source: KIP-595, KIP-630; org.apache.kafka.raft.internals.RecordsIterator for what strict reading refuses. A
record's offset is its batch's base offset and its place in the batch; in a snapshot that counts from 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jobs.wire.batches.batch_search import ByteSource
from jobs.wire.batches.log_batches import (
    BatchAt,
    BytesSource,
    DamageKind,
    LogDamage,
    expansion_limit_bytes,
    scan_batches,
)
from jobs.wire.batches.records import (
    RawRecord,
    record_timestamp,
    records_body,
    split_records,
    split_rest,
)
from jobs.wire.errors import Damaged, RecordFormatError
from jobs.wire.messages.reader import UnknownBytes
from jobs.wire.metadata.control_records import decode_control_record
from jobs.wire.metadata.records import decode_metadata_record


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A record of the metadata log.

    `timestamp_ms` is the clock of the controller that led then; `batch_offset` and `position` say which
    batch it is in and at which byte of the file that begins. `type` and `data` are those of `MetadataRecord`
    or, with `is_control`, of `ControlRecord`; secrets are redacted. `version` is -1 where none could be read.
    `unknown` keeps bytes that no schema here explains: they may hold secrets.
    """

    offset: int
    epoch: int
    timestamp_ms: int
    batch_offset: int
    position: int
    is_control: bool
    type: str
    version: int
    data: dict[str, Any]
    unknown: tuple[UnknownBytes, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Gap:
    """Offsets of which nothing is known, from the first one missing to the one behind the last."""

    from_offset: int
    to_offset: int


@dataclass(frozen=True, slots=True)
class PassedBatch:
    """Data that was not decoded, a batch or several of one epoch: offsets [offset, end_offset) without a gap.

    `timestamp_ms` is the time of the first batch; `end_ms` that of the last, None where it is the same.
    `type` is NO_OP_RECORD for a single NoOpRecord, else DATA.
    """

    offset: int
    end_offset: int
    epoch: int
    timestamp_ms: int
    batch_offset: int
    type: str
    is_control: bool = False
    end_ms: int | None = None


def read_log(
    content: bytes | memoryview, *, strict: bool = False, expected_offset: int | None = None
) -> Iterator[LogRecord | LogDamage]:
    """Yield the records of a segment or snapshot that is in memory; see `read_source`."""
    return read_source(BytesSource(content), strict=strict, expected_offset=expected_offset)


def read_source(
    source: ByteSource, *, strict: bool = False, expected_offset: int | None = None
) -> Iterator[LogRecord | LogDamage]:
    """Yield the records of a segment or snapshot in order, and damage where it is met.

    `expected_offset` is that of the first record, where the file's name tells it. Lenient reading raises
    nothing for what is in the bytes: it continues after damage, unknown records and versions have types of
    their own (`MetadataRecord`). Strict reading raises `RecordFormatError` at the first damage and for all
    that Kafka's own reader refuses.
    """
    for found in scan_batches(source, expected_offset=expected_offset):
        if isinstance(found, BatchAt):
            yield from batch_records(found, strict=strict)
        elif strict:
            raise Damaged(-1 if found.offset is None else found.offset, _of(found))
        else:
            yield found


def batch_records(batch: BatchAt, *, strict: bool = False) -> Iterator[LogRecord | LogDamage]:
    """Yield the records of one batch; a batch whose records cannot be separated ends with damage."""
    header = batch.header
    try:
        body = bytes(records_body(header, batch.content, expansion_limit_bytes(header)))
        for index, raw in enumerate(split_records(body, header.record_count)):
            yield _record(batch, index, raw, strict=strict)
    except RecordFormatError as error:
        if strict:
            raise
        yield LogDamage(
            batch.position, header.base_offset, DamageKind.UNDECODABLE_BATCH, str(error)
        )


def _record(batch: BatchAt, index: int, raw: RawRecord, *, strict: bool) -> LogRecord:
    header = batch.header
    key, value, headers = split_rest(raw.rest)
    if strict:
        _check_record(header.base_offset + index, raw, key, value, len(headers), header.is_control)
    read = (
        decode_control_record(key, value, strict=strict)
        if header.is_control
        else decode_metadata_record(value or b"", strict=strict)
    )
    return LogRecord(
        offset=header.base_offset + index,
        epoch=header.partition_leader_epoch,
        timestamp_ms=record_timestamp(header, raw.timestamp_delta),
        batch_offset=header.base_offset,
        position=batch.position,
        is_control=header.is_control,
        type=read.type,
        version=read.version,
        data=read.data,
        unknown=read.unknown,
    )


def _check_record(
    offset: int,
    raw: RawRecord,
    key: bytes | None,
    value: bytes | None,
    headers: int,
    is_control: bool,  # noqa: FBT001  a fact of the batch beside those of the record
) -> None:
    """Refuse what RecordsIterator refuses; raises `Damaged` with the record's offset."""
    problem = None
    if raw.timestamp_delta != 0:
        problem = f"its record has the timestamp delta {raw.timestamp_delta}"
    elif headers:
        problem = f"its record has {headers} headers"
    elif not value:
        problem = "its record has no value"
    elif is_control and not key:
        problem = "its control record has no key"
    elif not is_control and key is not None:
        problem = f"its record has a key of {len(key)} bytes"
    if problem is not None:
        raise Damaged(offset, problem)


def _of(damage: LogDamage) -> str:
    return f"at byte {damage.position}: {damage.problem} ({damage.kind})"
