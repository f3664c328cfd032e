"""Segments of Kafka's and MirrorMaker 2's internal topics, told apart by their folders and decoded alike.

Offsets are those of a data topic: a compacted batch has gaps, and transactions leave their markers. The
metadata log has its own rules in `jobs.wire.metadata.log`; here it is one kind among the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from jobs.wire import mirror_records
from jobs.wire.batches.compression import EXPANSION_LIMIT_BYTES
from jobs.wire.batches.log_batches import LARGEST_BATCH_BYTES, BatchAt, DamageKind, LogDamage
from jobs.wire.batches.records import (
    RawRecord,
    record_timestamp,
    records_body,
    split_records,
    split_rest,
)
from jobs.wire.errors import RecordFormatError
from jobs.wire.messages.reader import UnknownBytes
from jobs.wire.metadata.control_records import decode_control_record
from jobs.wire.metadata.log import LogRecord, batch_records
from jobs.wire.topics.consumer_offsets import decode_group_record

UNDECODABLE = "UNDECODABLE"
TOMBSTONE = "TOMBSTONE"


class LogKind(StrEnum):
    """Whose records a log holds."""

    METADATA = "metadata"
    OFFSET_SYNCS = "offset-syncs"
    CHECKPOINTS = "checkpoints"
    HEARTBEATS = "heartbeats"
    CONSUMER_OFFSETS = "consumer-offsets"


# Folders of partitions: the topic's name, a dash, the partition. Separators are the policy's choice.
_FOLDERS = (
    (LogKind.METADATA, re.compile(r"__cluster_metadata-\d+", re.ASCII)),
    (LogKind.CONSUMER_OFFSETS, re.compile(r"__consumer_offsets-\d+", re.ASCII)),
    (LogKind.OFFSET_SYNCS, re.compile(r"mm2-offset-syncs\W.+internal-\d+", re.ASCII)),
    (LogKind.CHECKPOINTS, re.compile(r".+\Wcheckpoints\Winternal-\d+", re.ASCII)),
    (LogKind.HEARTBEATS, re.compile(r"(?:.+\W)?heartbeats-\d+", re.ASCII)),
)


class _Content(NamedTuple):
    type: str
    version: int
    data: dict[str, Any]
    unknown: tuple[UnknownBytes, ...] = ()


def kind_of_folder(name: str) -> LogKind | None:
    """Return whose records the partition of this folder's name holds, None for any other topic."""
    return next((kind for kind, pattern in _FOLDERS if pattern.fullmatch(name)), None)


def largest_batch_bytes(kind: LogKind) -> int:
    """Return how large a batch of this log may be to be read at all."""
    return LARGEST_BATCH_BYTES if kind is LogKind.METADATA else EXPANSION_LIMIT_BYTES


def records_of_batch(
    batch: BatchAt, kind: LogKind, *, strict: bool = False
) -> Iterator[LogRecord | LogDamage]:
    """Yield the records of a batch with what they say; raises `RecordFormatError` only when strict.

    Types are those of `MetadataRecord`, `ControlRecord` and `GroupRecord` (with `data` {"key", "value"}), and
    OFFSET_SYNC, CHECKPOINT, HEARTBEAT with camelCase fields. TOMBSTONE is a null value of MirrorMaker 2's.
    """
    if kind is LogKind.METADATA:
        yield from batch_records(batch, strict=strict)
        return
    header = batch.header
    try:
        body = bytes(records_body(header, batch.content, EXPANSION_LIMIT_BYTES))
        for raw in split_records(body, header.record_count):
            yield _record(batch, raw, kind, strict=strict)
    except RecordFormatError as error:
        if strict:
            raise
        yield LogDamage(
            batch.position, header.base_offset, DamageKind.UNDECODABLE_BATCH, str(error)
        )


def _record(batch: BatchAt, raw: RawRecord, kind: LogKind, *, strict: bool) -> LogRecord:
    header = batch.header
    key, value, _ = split_rest(raw.rest)
    content = _content(kind, key, value, is_control=header.is_control, strict=strict)
    return LogRecord(
        offset=header.base_offset + raw.offset_delta,
        epoch=header.partition_leader_epoch,
        timestamp_ms=record_timestamp(header, raw.timestamp_delta),
        batch_offset=header.base_offset,
        position=batch.position,
        is_control=header.is_control,
        type=content.type,
        version=content.version,
        data=content.data,
        unknown=content.unknown,
    )


def _content(
    kind: LogKind, key: bytes | None, value: bytes | None, *, is_control: bool, strict: bool
) -> _Content:
    if is_control:
        control = decode_control_record(key, value, strict=strict)
        return _Content(control.type, control.version, control.data, control.unknown)
    if kind is LogKind.CONSUMER_OFFSETS:
        group = decode_group_record(key, value, strict=strict)
        told = {"key": group.key, "value": group.data}
        return _Content(group.type, group.version, told, group.unknown)
    if value is None:
        return _Content(TOMBSTONE, -1, {"keySizeBytes": len(key or b"")})
    try:
        return _mirror_record(kind, key, value)
    except RecordFormatError as error:
        if strict:
            raise
        kept = (UnknownBytes("", None, value),)
        return _Content(UNDECODABLE, -1, {"problem": str(error), "sizeBytes": len(value)}, kept)


def _mirror_record(kind: LogKind, key: bytes | None, value: bytes) -> _Content:
    if kind is LogKind.OFFSET_SYNCS:
        sync = mirror_records.decode_offset_sync(key, value)
        told = {"topic": sync.topic, "partition": sync.partition}
        told |= {"upstreamOffset": sync.upstream_offset, "downstreamOffset": sync.downstream_offset}
        return _Content("OFFSET_SYNC", mirror_records.VERSION, told)
    if kind is LogKind.HEARTBEATS:
        beat = mirror_records.decode_heartbeat(key, value)
        told = {"sourceClusterAlias": beat.source_cluster_alias}
        told |= {"targetClusterAlias": beat.target_cluster_alias, "timestamp": beat.timestamp_ms}
        return _Content("HEARTBEAT", beat.version, told)
    return _checkpoint(mirror_records.decode_checkpoint(key, value))


def _checkpoint(checkpoint: mirror_records.Checkpoint) -> _Content:
    told = {
        "consumerGroupId": checkpoint.consumer_group_id,
        "topic": checkpoint.topic,
        "partition": checkpoint.partition,
        "upstreamOffset": checkpoint.upstream_offset,
        "downstreamOffset": checkpoint.downstream_offset,
        "metadata": checkpoint.metadata,
    }
    return _Content("CHECKPOINT", checkpoint.version, told)
