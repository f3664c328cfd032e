"""One record value of the metadata log: its frame, its fields by the table, its secrets taken out.

Source: AbstractApiMessageSerde (the frame: version 1, apiKey, version of the record, each an unsigned
varint) and the generated JSON converters of Kafka's metadata records. The table is `schema`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jobs.wire.errors import RecordFormatError
from jobs.wire.messages.reader import MessageReader, UnknownBytes, decode_message
from jobs.wire.messages.writer import encode_message, encode_uvarint
from jobs.wire.metadata.redaction import redact
from jobs.wire.metadata.schema import SCHEMA_BY_API_KEY, SCHEMA_BY_TYPE

FRAME_VERSION = 1
UNKNOWN_RECORD = "UNKNOWN_RECORD"
UNDECODABLE = "UNDECODABLE"
NO_NUMBER = -1

_KIND = "metadata record"
_LARGEST_NUMBER = 32767


@dataclass(frozen=True, slots=True)
class MetadataRecord:
    """One decoded record value.

    `type` is as kafka-dump-log prints it, "PARTITION_CHANGE_RECORD"; `data` holds the camelCase fields, uuids
    as base64 text, secrets redacted (`jobs.wire.metadata.redaction`). Tagged fields with their default are
    absent. `unknown` keeps foreign tags.

    A type that nobody here knows, or a newer version, is an UNKNOWN_RECORD with `data` {"apiKey",
    "sizeBytes"} and, of a known type, {"name"}; its body is kept in `unknown`. Bytes that are no record are
    UNDECODABLE with `data` {"problem", "sizeBytes"}, -1 standing for numbers that could not be read.
    """

    type: str
    api_key: int
    version: int
    data: dict[str, Any]
    unknown: tuple[UnknownBytes, ...] = field(default=(), repr=False)


def decode_metadata_record(value: bytes, *, strict: bool = False) -> MetadataRecord:
    """Return the record of a value.

    Lenient, it never raises. Strict raises `RecordFormatError` where Kafka itself refuses: an unknown frame,
    type or version, a field that does not fit, bytes behind the record.
    """
    api_key, version = NO_NUMBER, NO_NUMBER
    try:
        reader = MessageReader(_KIND, value)
        _read_frame(reader)
        api_key = _read_number(reader, "type")
        version = _read_number(reader, "version")
        return _decode_body(value, reader.at, api_key, version, strict=strict)
    except RecordFormatError as error:
        if strict:
            raise
        told = {"problem": str(error), "sizeBytes": len(value)}
        kept = (UnknownBytes("", None, bytes(value)),)
        return MetadataRecord(UNDECODABLE, api_key, version, told, kept)


def encode_metadata_record(
    type: str,  # noqa: A002  the word of kafka-dump-log, as in MetadataRecord
    version: int,
    data: Mapping[str, Any],
    foreign_tags: Mapping[int, bytes] | None = None,
) -> bytes:
    """Return a record value with its frame; raises ValueError for an unknown type, version or field."""
    schema = SCHEMA_BY_TYPE.get(type)
    if schema is None:
        raise ValueError(f"there is no record type {type}")
    frame = encode_uvarint(FRAME_VERSION) + encode_uvarint(schema.number) + encode_uvarint(version)
    return frame + encode_message(schema, version, data, foreign_tags)


def _read_frame(reader: MessageReader) -> None:
    version = reader.uvarint()
    if version == 0:
        raise reader.problem("has the frame version 0, that of the preview in Kafka 2.8")
    if version != FRAME_VERSION:
        raise reader.problem(f"has the frame version {version}, only {FRAME_VERSION} is known")


def _read_number(reader: MessageReader, what: str) -> int:
    number = reader.uvarint()
    if number > _LARGEST_NUMBER:
        raise reader.problem(f"its {what} {number} is larger than {_LARGEST_NUMBER}")
    return number


def _decode_body(
    value: bytes, at: int, api_key: int, version: int, *, strict: bool
) -> MetadataRecord:
    schema = SCHEMA_BY_API_KEY.get(api_key)
    if schema is not None and schema.oldest <= version <= schema.latest:
        found, unknown = decode_message(schema, version, value, at)
        return MetadataRecord(schema.type, api_key, version, redact(schema.type, found), unknown)
    if strict:
        name = f"{schema.type} has no" if schema else f"the type {api_key} is unknown, with"
        raise RecordFormatError(_KIND, f"{name} version {version}")
    told: dict[str, Any] = {"apiKey": api_key, "sizeBytes": len(value) - at}
    if schema is not None:
        told["name"] = schema.type
    kept = (UnknownBytes("", None, bytes(value[at:])),)
    return MetadataRecord(UNKNOWN_RECORD, api_key, version, told, kept)
