"""MirrorMaker 2's three records: offset sync, checkpoint, heartbeat.

Source: OffsetSync, Checkpoint and Heartbeat of org.apache.kafka.connect.mirror, version 0 (the only
one). As upstream, bytes after the last field are ignored. Unlike upstream, whose check is an assert
that is off in production, an unknown version is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from jobs.wire.errors import RecordFormatError
from jobs.wire.fields import (
    FieldReader,
    encode_int16,
    encode_int32,
    encode_int64,
    encode_string,
)

VERSION = 0


@dataclass(frozen=True, slots=True)
class OffsetSync:
    """A pair of offsets of the same record; `topic` has its name on the source."""

    topic: str
    partition: int
    upstream_offset: int
    downstream_offset: int


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A group's committed offset on both sides; `topic` has its name on the target."""

    consumer_group_id: str
    topic: str
    partition: int
    upstream_offset: int
    downstream_offset: int
    metadata: str = ""
    version: int = VERSION


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A sign of life of the flow from one alias to another."""

    source_cluster_alias: str
    target_cluster_alias: str
    timestamp_ms: int
    version: int = VERSION


def decode_offset_sync(key: bytes | None, value: bytes | None) -> OffsetSync:
    """Read an offset sync; raises `RecordFormatError`."""
    key_fields, value_fields = _fields("OffsetSync", key, value)
    return OffsetSync(
        topic=key_fields.string(),
        partition=key_fields.int32(),
        upstream_offset=value_fields.int64(),
        downstream_offset=value_fields.int64(),
    )


def encode_offset_sync(sync: OffsetSync) -> tuple[bytes, bytes]:
    """Return key and value."""
    key = encode_string(sync.topic) + encode_int32(sync.partition)
    return key, encode_int64(sync.upstream_offset) + encode_int64(sync.downstream_offset)


def decode_checkpoint(key: bytes | None, value: bytes | None) -> Checkpoint:
    """Read a checkpoint; raises `RecordFormatError`, also for an unknown version."""
    key_fields, value_fields = _fields("Checkpoint", key, value)
    version = _version("Checkpoint", value_fields)
    return Checkpoint(
        consumer_group_id=key_fields.string(),
        topic=key_fields.string(),
        partition=key_fields.int32(),
        upstream_offset=value_fields.int64(),
        downstream_offset=value_fields.int64(),
        metadata=value_fields.string(),
        version=version,
    )


def encode_checkpoint(checkpoint: Checkpoint) -> tuple[bytes, bytes]:
    """Return key and value; raises `RecordFormatError` for an unknown version."""
    _check_version("Checkpoint", checkpoint.version)
    key = (
        encode_string(checkpoint.consumer_group_id)
        + encode_string(checkpoint.topic)
        + encode_int32(checkpoint.partition)
    )
    value = (
        encode_int16(checkpoint.version)
        + encode_int64(checkpoint.upstream_offset)
        + encode_int64(checkpoint.downstream_offset)
        + encode_string(checkpoint.metadata)
    )
    return key, value


def decode_heartbeat(key: bytes | None, value: bytes | None) -> Heartbeat:
    """Read a heartbeat; raises `RecordFormatError`, also for an unknown version."""
    key_fields, value_fields = _fields("Heartbeat", key, value)
    version = _version("Heartbeat", value_fields)
    return Heartbeat(
        source_cluster_alias=key_fields.string(),
        target_cluster_alias=key_fields.string(),
        timestamp_ms=value_fields.int64(),
        version=version,
    )


def encode_heartbeat(heartbeat: Heartbeat) -> tuple[bytes, bytes]:
    """Return key and value; raises `RecordFormatError` for an unknown version."""
    _check_version("Heartbeat", heartbeat.version)
    key = encode_string(heartbeat.source_cluster_alias) + encode_string(
        heartbeat.target_cluster_alias
    )
    return key, encode_int16(heartbeat.version) + encode_int64(heartbeat.timestamp_ms)


def _fields(kind: str, key: bytes | None, value: bytes | None) -> tuple[FieldReader, FieldReader]:
    # A null here is not a deletion: upstream readers fail on it, so none is written on purpose.
    if key is None or value is None:
        raise RecordFormatError(kind, "key and value are never null")
    return FieldReader(f"{kind} key", key), FieldReader(f"{kind} value", value)


def _version(kind: str, value_fields: FieldReader) -> int:
    version = value_fields.int16()
    _check_version(kind, version)
    return version


def _check_version(kind: str, version: int) -> None:
    if version != VERSION:
        raise RecordFormatError(kind, f"unsupported version {version}")
