"""A metadata log into columns in plain Python: the oracle of the compiled form.

Functions of `jobs.wire.metadata.columns.Loops`; records are decoded by `jobs.wire.metadata.records`.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from jobs.wire.batches.record_batch import CONTROL_MASK, TIMESTAMP_TYPE_MASK
from jobs.wire.batches.records import read_raw, split_rest
from jobs.wire.batches.varints import read_varint, wrap_int64
from jobs.wire.errors import RecordFormatError
from jobs.wire.messages.reader import MessageReader
from jobs.wire.messages.schema import ZERO_UUID
from jobs.wire.metadata import table as t
from jobs.wire.metadata.control_records import decode_control_key
from jobs.wire.metadata.records import UNDECODABLE, UNKNOWN_RECORD, decode_metadata_record
from jobs.wire.metadata.table import Bytes, Int64s, Tables

_LISTS = (
    "isr",
    "replicas",
    "removingReplicas",
    "addingReplicas",
    "eligibleLeaderReplicas",
    "lastKnownElr",
)
_PARTITIONS = (t.PARTITION_RECORD, t.PARTITION_CHANGE)
_TOPICS = (t.TOPIC, t.REMOVE_TOPIC, t.CLEAR_ELR)
_BROKERS = (
    t.REGISTER_BROKER,
    t.UNREGISTER_BROKER,
    t.FENCE_BROKER,
    t.UNFENCE_BROKER,
    t.BROKER_CHANGE,
)
_FRAMES = (t.NO_OP, t.BEGIN_TRANSACTION, t.END_TRANSACTION, t.ABORT_TRANSACTION)
_Data = Mapping[str, Any]


def scan(
    content: Bytes,
    start: Int64s,
    table: Int64s,
    room_bytes: int,
    *,
    with_crc: bool,
) -> int:
    """See `Loops.scan`: nothing is ordinary, so that `jobs.wire.batches.log_batches` scans all of it."""
    start[t.WHY] = t.EXTRAORDINARY if len(content) > start[t.AT] else t.AT_END
    return 0


def decode(content: Bytes, table: Int64s, tables: Tables) -> None:
    """See `Loops.decode`."""
    log = content.data
    for number, batch in enumerate(table):
        batch[t.FIRST] = tables.counts[t.RECORDS]
        try:
            _batch(log, batch.tolist(), number, tables)
        except RecordFormatError:
            batch[t.IS_SOUND] = 0


def _batch(log: memoryview, batch: list[int], number: int, tables: Tables) -> None:
    at, end = batch[t.START], batch[t.END]
    for index in range(batch[t.COUNT]):
        raw, after = read_raw(log[:end], at)
        key, value, _ = split_rest(raw.rest)
        row = int(tables.counts[t.RECORDS])
        if batch[t.ATTRIBUTES] & TIMESTAMP_TYPE_MASK:
            timestamp = batch[t.MAX_TIMESTAMP]
        else:
            timestamp = wrap_int64(batch[t.BASE_TIMESTAMP] + raw.timestamp_delta)
        place = after - len(raw.rest) + _value_at(raw.rest)
        size = -1 if value is None else len(value)
        frame = (
            _control(key, value or b"")
            if batch[t.ATTRIBUTES] & CONTROL_MASK
            else _metadata(value or b"", place, row, tables)
        )
        offset = batch[t.BASE_OFFSET] + index
        kind, version, reading = frame
        tables.records[:, row] = (offset, timestamp, number, kind, version, place, size, reading)
        tables.counts[t.RECORDS] += 1
        at = after
    if at != end:
        raise RecordFormatError("records", f"{end - at} bytes are left")


def _value_at(rest: bytes) -> int:
    key_bytes, at = read_varint(rest, 0)
    return read_varint(rest, at + max(key_bytes, 0))[1]


def _control(key: bytes | None, value: bytes) -> tuple[int, int, int]:
    try:
        _, number = decode_control_key(key)
    except RecordFormatError:
        return t.NO_TYPE, t.NO_TYPE, t.UNDECODABLE
    version = int.from_bytes(value[:2], "big", signed=True) if len(value) > 1 else t.NO_TYPE
    return number, version, t.FRAMED


def _metadata(value: bytes, place: int, row: int, tables: Tables) -> tuple[int, int, int]:
    """Return type, version and reading of a record; what has a table gets its row there."""
    record = decode_metadata_record(value)
    key = record.api_key
    if record.version < 0:
        return t.NO_TYPE, t.NO_TYPE, t.UNDECODABLE
    if record.type == UNKNOWN_RECORD or key not in (*_PARTITIONS, *_TOPICS, *_BROKERS, *_FRAMES):
        return key, record.version, t.FRAMED
    if record.type == UNDECODABLE:
        return key, record.version, t.UNDECODABLE
    tables.counts[t.UNKNOWN_TAGS] += len(record.unknown)
    if key in _PARTITIONS:
        _partition(key, value, place, record.data, row, tables)
    elif key in _TOPICS:
        _topic(key, value, place, record.data, row, tables)
    elif key in _BROKERS:
        _broker(key, record.data, row, tables)
    return key, record.version, t.TYPED


def _partition(key: int, value: bytes, place: int, data: _Data, row: int, tables: Tables) -> None:
    is_change = key == t.PARTITION_CHANGE
    directories = data.get("directories")
    # The ids of a change stand in a tag, those of a whole record behind the fixed fields: found by content.
    ids = b"".join(_id_bytes(one) for one in directories or ())
    number = int(tables.counts[t.PARTITIONS])
    tables.partitions[:, number] = (
        row,
        *_id(data["topicId"]),
        data["partitionId"],
        data.get("leader", t.SAME_LEADER if is_change else t.ABSENT),
        data.get("leaderEpoch", t.ABSENT),
        data.get("partitionEpoch", t.ABSENT),
        data.get("leaderRecoveryState", t.ABSENT if is_change else 0),
        place + value.rindex(ids) if ids else 0,
        t.ABSENT if directories is None else len(directories),
    )
    for which, name in enumerate(_LISTS):
        _list(which, data.get(name), number, tables)
    tables.counts[t.PARTITIONS] += 1


def _list(which: int, values: list[int] | None, row: int, tables: Tables) -> None:
    begin = int(tables.ends[which, row])
    end = begin + len(values or ())
    tables.valid[which, row] = values is not None
    tables.values[which, begin:end] = values or ()
    tables.ends[which, row + 1] = end


def _topic(key: int, value: bytes, place: int, data: _Data, row: int, tables: Tables) -> None:
    at, size = (0, t.ABSENT) if key == t.REMOVE_TOPIC else _name(value)
    topic_id = (0, 0) if key == t.CLEAR_ELR else _id(data["topicId"])
    at = at and place + at
    tables.topics[:, tables.counts[t.TOPICS]] = (row, *topic_id, at, size)
    tables.counts[t.TOPICS] += 1


def _name(value: bytes) -> tuple[int, int]:
    """Return where the text behind the frame begins, and how many bytes it has."""
    reader = MessageReader("name", value)
    *_, length = (reader.uvarint() for _ in range(4))
    return reader.at, length - 1


def _broker(key: int, data: _Data, row: int, tables: Tables) -> None:
    fenced = data.get("fenced", 0)
    if key in (t.FENCE_BROKER, t.UNFENCE_BROKER):
        fenced = 1 if key == t.FENCE_BROKER else -1
    log_dirs = data.get("logDirs")
    tables.brokers[:, tables.counts[t.BROKERS]] = (
        row,
        data["id"] if "id" in data else data["brokerId"],
        data["epoch"] if "epoch" in data else data["brokerEpoch"],
        fenced,
        data.get("inControlledShutdown", 0),
        *_id(data.get("incarnationId", ZERO_UUID)),
        t.ABSENT if log_dirs is None else len(log_dirs),
    )
    tables.counts[t.BROKERS] += 1


def _id_bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "==")


def _id(text: str) -> tuple[int, int]:
    """Return the halves of an id, signed as the columns are."""
    content = _id_bytes(text)
    high, low = (int.from_bytes(half, "big", signed=True) for half in (content[:8], content[8:]))
    return high, low
