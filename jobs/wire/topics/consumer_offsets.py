"""Records of `__consumer_offsets`: offset commits and classic groups decoded, those of newer groups named.

Source: the schemas of Kafka's group coordinator (OffsetCommitKey and its like) and CoordinatorRecordType of
Kafka 4.3. A key begins with an INT16 that says what the record is, a value with an INT16 of its version.
Subscriptions and assignments of members stay as they are: `data` has them as base64.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

from jobs.wire.errors import RecordFormatError
from jobs.wire.messages.reader import UnknownBytes, decode_message
from jobs.wire.messages.schema import ZERO_UUID, Field, Kind, MessageSchema

UNKNOWN_GROUP_RECORD = "UNKNOWN_GROUP_RECORD"
UNDECODABLE = "UNDECODABLE"

_KIND = "group record"
_INT16 = struct.Struct(">h")
# Keys have one version and lengths of the old kind.
_NEVER_COMPACT = 1
_COMPACT_VALUES = 4

_GROUP = Field("group", Kind.STRING, default="")
_COMMIT_KEY = (
    _GROUP,
    Field("topic", Kind.STRING, default=""),
    Field("partition", Kind.INT32, default=0),
)
_COMMIT_VALUE = (
    Field("offset", Kind.INT64, default=0),
    Field("leaderEpoch", Kind.INT32, since=3, default=-1),
    Field("metadata", Kind.STRING, default=""),
    Field("commitTimestamp", Kind.INT64, default=0),
    Field("expireTimestamp", Kind.INT64, since=1, until=1, default=-1),
    Field("topicId", Kind.UUID, since=4, tag=0, default=ZERO_UUID),
)
_MEMBER = (
    Field("memberId", Kind.STRING, default=""),
    Field("groupInstanceId", Kind.STRING, since=3, nullable=True),
    Field("clientId", Kind.STRING, default=""),
    Field("clientHost", Kind.STRING, default=""),
    Field("rebalanceTimeout", Kind.INT32, since=1, default=-1),
    Field("sessionTimeout", Kind.INT32, default=0),
    Field("subscription", Kind.BYTES, default=""),
    Field("assignment", Kind.BYTES, default=""),
)
_GROUP_VALUE = (
    Field("protocolType", Kind.STRING, default=""),
    Field("generation", Kind.INT32, default=0),
    Field("protocol", Kind.STRING, nullable=True),
    Field("leader", Kind.STRING, nullable=True),
    Field("currentStateTimestamp", Kind.INT64, since=2, default=-1),
    Field("members", Kind.STRUCT, is_array=True, default=(), fields=_MEMBER),
)

# By the number at the start of a key. Of numbers above 2 only the name is known here.
GROUP_RECORD_TYPES = {
    0: "LEGACY_OFFSET_COMMIT",
    1: "OFFSET_COMMIT",
    2: "GROUP_METADATA",
    3: "CONSUMER_GROUP_METADATA",
    4: "CONSUMER_GROUP_PARTITION_METADATA",
    5: "CONSUMER_GROUP_MEMBER_METADATA",
    6: "CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA",
    7: "CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER",
    8: "CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT",
    10: "SHARE_GROUP_MEMBER_METADATA",
    11: "SHARE_GROUP_METADATA",
    12: "SHARE_GROUP_TARGET_ASSIGNMENT_METADATA",
    13: "SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER",
    14: "SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT",
    15: "SHARE_GROUP_STATE_PARTITION_METADATA",
    16: "CONSUMER_GROUP_REGULAR_EXPRESSION",
    17: "STREAMS_GROUP_METADATA",
    19: "STREAMS_GROUP_MEMBER_METADATA",
    20: "STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA",
    21: "STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER",
    22: "STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT",
    23: "STREAMS_GROUP_TOPOLOGY",
}


def _key(number: int, name: str, *fields: Field) -> MessageSchema:
    return MessageSchema(
        number, name, GROUP_RECORD_TYPES[number], 0, 0, fields, compact_since=_NEVER_COMPACT
    )


def _value(number: int, name: str, latest: int, *fields: Field) -> MessageSchema:
    kind = GROUP_RECORD_TYPES[number]
    return MessageSchema(number, name, kind, 0, latest, fields, compact_since=_COMPACT_VALUES)


KEY_SCHEMAS = {
    0: _key(0, "LegacyOffsetCommitKey", *_COMMIT_KEY),
    1: _key(1, "OffsetCommitKey", *_COMMIT_KEY),
    2: _key(2, "GroupMetadataKey", _GROUP),
}
VALUE_SCHEMAS = {
    # Keys of number 0 were written with any version of the value, as those of number 1 are.
    0: _value(0, "OffsetCommitValue", 4, *_COMMIT_VALUE),
    1: _value(1, "OffsetCommitValue", 4, *_COMMIT_VALUE),
    2: _value(2, "GroupMetadataValue", 4, *_GROUP_VALUE),
}


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """One record of `__consumer_offsets`.

    `type` is one of `GROUP_RECORD_TYPES`, and `key` and `data` hold the camelCase fields. `data` is None for
    a tombstone, whose `version` is -1. Of types that are only named, and of unknown types and versions
    (UNKNOWN_GROUP_RECORD), `data` is {"sizeBytes"} and `unknown` keeps the value. Bytes that are no such
    record are UNDECODABLE with {"problem", "sizeBytes"}. `number` is -1 where none could be read.
    """

    type: str
    number: int
    version: int
    key: dict[str, Any]
    data: dict[str, Any] | None
    unknown: tuple[UnknownBytes, ...] = field(default=(), repr=False)


def decode_group_record(
    key: bytes | None, value: bytes | None, *, strict: bool = False
) -> GroupRecord:
    """Return the record of a key and a value.

    Lenient, it never raises. Strict raises `RecordFormatError` for an unknown type or version, a field that
    does not fit, and bytes behind the last one.
    """
    number, version = -1, -1
    try:
        number = _leading("key", key)
        version = -1 if value is None else _leading("value", value)
        return _decode(number, version, key or b"", value, strict=strict)
    except RecordFormatError as error:
        if strict:
            raise
        kept = (UnknownBytes("", None, bytes(value or b"")),)
        told = {"problem": str(error), "sizeBytes": len(value or b"")}
        return GroupRecord(UNDECODABLE, number, version, {}, told, kept)


def _leading(what: str, content: bytes | None) -> int:
    if content is None or len(content) < _INT16.size:
        have = "no" if content is None else len(content)
        raise RecordFormatError(_KIND, f"its {what} has {have} bytes, which is no version")
    number: int = _INT16.unpack_from(content)[0]
    return number


def _decode(
    number: int, version: int, key: bytes, value: bytes | None, *, strict: bool
) -> GroupRecord:
    schema = VALUE_SCHEMAS.get(number)
    if schema is None:
        return _named(number, version, value, strict=strict)
    found_key, unknown_key = decode_message(KEY_SCHEMAS[number], 0, key, _INT16.size)
    if value is None:
        return GroupRecord(schema.type, number, version, found_key, None)
    if not schema.oldest <= version <= schema.latest:
        if strict:
            raise RecordFormatError(_KIND, f"{schema.type} has no version {version}")
        return _kept(UNKNOWN_GROUP_RECORD, number, version, found_key, value)
    found, unknown = decode_message(schema, version, value, _INT16.size)
    return GroupRecord(schema.type, number, version, found_key, found, unknown_key + unknown)


def _named(number: int, version: int, value: bytes | None, *, strict: bool) -> GroupRecord:
    name = GROUP_RECORD_TYPES.get(number, UNKNOWN_GROUP_RECORD)
    if strict and number not in GROUP_RECORD_TYPES:
        raise RecordFormatError(_KIND, f"the type {number} is unknown")
    return _kept(name, number, version, {}, value)


def _kept(
    name: str, number: int, version: int, key: dict[str, Any], value: bytes | None
) -> GroupRecord:
    if value is None:
        return GroupRecord(name, number, version, key, None)
    kept = (UnknownBytes("", None, bytes(value)),)
    return GroupRecord(name, number, version, key, {"sizeBytes": len(value)}, kept)
