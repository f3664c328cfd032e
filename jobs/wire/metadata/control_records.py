"""Control records: what the quorum and transactions say about a log, inside the log.

Source: ControlRecordType, ControlRecordUtils and EndTransactionMarker of org.apache.kafka.common.record;
KIP-595, KIP-630, KIP-853. The key is an INT16 version and an INT16 type; a value begins with its version.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jobs.wire.errors import RecordFormatError
from jobs.wire.messages.reader import UnknownBytes, decode_message
from jobs.wire.messages.writer import encode_message
from jobs.wire.metadata.schema import CONTROL_SCHEMA_BY_NUMBER, CONTROL_SCHEMA_BY_TYPE

UNKNOWN_CONTROL_RECORD = "UNKNOWN_CONTROL_RECORD"
UNDECODABLE = "UNDECODABLE"

_KIND = "control record"
_KEY = struct.Struct(">hh")
_INT16 = struct.Struct(">h")
_MARKER = struct.Struct(">hi")
_MARKERS = {0: "ABORT", 1: "COMMIT"}


@dataclass(frozen=True, slots=True)
class ControlRecord:
    """One decoded control record.

    `type` is "LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER", "KRAFT_VERSION", "KRAFT_VOTERS", "ABORT"
    or "COMMIT", and `data` what kafka-dump-log prints. An unknown type or version is an
    UNKNOWN_CONTROL_RECORD with {"controlType", "sizeBytes"}; bytes that are none are UNDECODABLE with
    {"problem", "sizeBytes"}. -1: a number could not be read.
    """

    type: str
    number: int
    version: int
    data: dict[str, Any]
    unknown: tuple[UnknownBytes, ...] = field(default=(), repr=False)


def decode_control_key(key: bytes | None) -> tuple[int, int]:
    """Return version and type; raises `RecordFormatError` for fewer than 4 bytes and a negative version.

    As upstream, a newer version is read as if it were 0, and bytes behind the type are ignored.
    """
    if key is None or len(key) < _KEY.size:
        have = "no" if key is None else len(key)
        raise RecordFormatError(_KIND, f"its key has {have} bytes, not {_KEY.size}")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise RecordFormatError(_KIND, f"its key has the version {version}")
    return version, number


def encode_control_key(number: int) -> bytes:
    """Return the key of a control record of this type."""
    return _KEY.pack(0, number)


def decode_control_record(
    key: bytes | None, value: bytes | None, *, strict: bool = False
) -> ControlRecord:
    """Return the control record of a key and a value.

    Lenient, it never raises. Strict raises `RecordFormatError` for an unknown type or version, a field that
    does not fit, and bytes behind the last one.
    """
    number, version = -1, -1
    try:
        _, number = decode_control_key(key)
        version = _value_version(value)
        return _decode_value(number, version, value or b"", strict=strict)
    except RecordFormatError as error:
        if strict:
            raise
        told = {"problem": str(error), "sizeBytes": len(value or b"")}
        kept = (UnknownBytes("", None, bytes(value or b"")),)
        return ControlRecord(UNDECODABLE, number, version, told, kept)


def encode_control_record(
    type: str,  # noqa: A002  the word of kafka-dump-log, as in ControlRecord
    data: Mapping[str, Any],
) -> tuple[bytes, bytes]:
    """Return key and value; the version is that in `data`, 0 by default. Raises ValueError."""
    for number, name in _MARKERS.items():
        if name == type:
            epoch = data.get("coordinatorEpoch", 0)
            return encode_control_key(number), _MARKER.pack(data.get("version", 0), epoch)
    schema = CONTROL_SCHEMA_BY_TYPE.get(type)
    if schema is None:
        raise ValueError(f"there is no control record {type}")
    return encode_control_key(schema.number), encode_message(schema, data.get("version", 0), data)


def _value_version(value: bytes | None) -> int:
    if value is None or len(value) < _INT16.size:
        have = "no" if value is None else len(value)
        raise RecordFormatError(_KIND, f"its value has {have} bytes, which is no version")
    version: int = _INT16.unpack_from(value)[0]
    return version


def _decode_value(number: int, version: int, value: bytes, *, strict: bool) -> ControlRecord:
    if number in _MARKERS:
        return _decode_marker(number, value)
    schema = CONTROL_SCHEMA_BY_NUMBER.get(number)
    if schema is not None and schema.oldest <= version <= schema.latest:
        found, unknown = decode_message(schema, version, value)
        return ControlRecord(schema.type, number, version, found, unknown)
    if strict:
        name = f"{schema.type} has no" if schema else f"the type {number} is unknown, with"
        raise RecordFormatError(_KIND, f"{name} version {version}")
    told: dict[str, Any] = {"controlType": number, "sizeBytes": len(value)}
    if schema is not None:
        told["name"] = schema.type
    kept = (UnknownBytes("", None, bytes(value)),)
    return ControlRecord(UNKNOWN_CONTROL_RECORD, number, version, told, kept)


def _decode_marker(number: int, value: bytes) -> ControlRecord:
    # Newer versions only add fields (KIP-890), so what is behind the epoch is not looked at.
    if len(value) < _MARKER.size:
        raise RecordFormatError(_KIND, f"{_MARKERS[number]} has {len(value)} bytes")
    version, epoch = _MARKER.unpack_from(value)
    told = {"version": version, "coordinatorEpoch": epoch}
    return ControlRecord(_MARKERS[number], number, version, told)
