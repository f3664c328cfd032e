"""The two loops over a metadata log, compiled by numba: batches with their CRC, and records into columns.

They release the GIL and stay inside their arrays whatever the bytes say: every address is compared with an
end before it is read, and a fault is a number. `tests/jobs/wire/metadata/plain.py` does the same in plain
words. Text is passed by: whether it is UTF-8 is a question for who reads it.
"""

from __future__ import annotations

from jobs.wire.batches.log_batches import LARGEST_BATCH_BYTES
from jobs.wire.batches.record_batch import (
    CONTROL_MASK,
    CRC_FROM,
    HEADER_BYTES,
    HIGHEST_OFFSET,
    MAGIC,
    TIMESTAMP_TYPE_MASK,
)
from jobs.wire.machine_code import (
    BEYOND,
    LOW_32,
    compiled,
    copy,
    crc_32c,
    get_64,
    inlined,
    int_32,
    int_64,
    integer,
    load,
    put_64,
    varint,
    varlong,
)
from jobs.wire.metadata import table as t
from jobs.wire.metadata.bodies import (
    add,
    broker_change,
    broker_event,
    one_text_tag,
    partition,
    partition_change,
    put,
    register,
    tags,
    topic,
    unsigned,
)
from jobs.wire.metadata.table import Int64s

_BEFORE_LENGTH_ENDS = 12
_MAGIC_AT = 16
_HIGHEST_NUMBER = 32767
_CONTROL_KEY_BYTES = 4
# The latest versions that are read here; a later one is left to who knows it.
_LATEST_PARTITION, _LATEST_REGISTER, _LATEST_CHANGE = 2, 4, 3


@compiled
def scan(
    content: int, size: int, start: Int64s, table: Int64s, room_bytes: int, with_crc: int
) -> int:
    """Fill rows of batches, moving `start` (the next byte and the offset expected there); return how many.

    It stops before what is out of the ordinary, behind the batch that reaches `room_bytes`, and at the end;
    the third number of `start` says which. `with_crc` 0 is for who only looks for the borders.
    """
    begun = start[t.AT]
    for row in range(len(table)):
        at = start[t.AT]
        if at == size:
            start[t.WHY] = t.AT_END
            return row
        # Never one alone: the offset of the first is only as good as that of its follower.
        if row > 1 and at - begun >= room_bytes:
            start[t.WHY] = t.FULL
            return row
        length = _ordinary(content + at, size - at, start[t.EXPECTED], with_crc)
        if length == 0 or not _is_epoch_likely(
            content + at, length, size - at, start[t.LAST_EPOCH]
        ):
            start[t.WHY] = t.EXTRAORDINARY
            return row
        _fill(content + at, table[row])
        table[row, t.POSITION], table[row, t.SIZE] = at, length
        table[row, t.START], table[row, t.END] = at + HEADER_BYTES, at + length
        start[t.AT] = at + length
        start[t.EXPECTED] = table[row, t.BASE_OFFSET] + table[row, t.LAST_DELTA] + 1
        start[t.LAST_EPOCH] = table[row, t.EPOCH]
    start[t.WHY] = t.FULL
    return len(table)


@inlined
def _fill(at: int, batch: Int64s) -> None:
    batch[t.BASE_OFFSET] = int_64(at)
    batch[t.EPOCH] = int_32(at + 12)
    batch[t.ATTRIBUTES] = integer(at + 21, 2)
    batch[t.LAST_DELTA] = int_32(at + 23)
    batch[t.BASE_TIMESTAMP] = int_64(at + 27)
    batch[t.MAX_TIMESTAMP] = int_64(at + 35)
    batch[t.COUNT] = int_32(at + 57)
    batch[t.IS_SOUND] = 1


@inlined
def _ordinary(at: int, left: int, expected: int, with_crc: int) -> int:
    """Return the bytes of a batch that is as it should be, 0 for anything else."""
    if left < HEADER_BYTES:
        return 0
    length: int = int_32(at + 8) + _BEFORE_LENGTH_ENDS
    if (
        not HEADER_BYTES <= length <= min(left, LARGEST_BATCH_BYTES)
        or load(at + _MAGIC_AT) != MAGIC
    ):
        return 0
    # Base offset, last offset delta, count: none may be negative.
    if (int_64(at) | int_32(at + 23) | int_32(at + 57)) < 0:
        return 0
    if int_64(at) >= HIGHEST_OFFSET - int_32(at + 23) or expected not in (int_64(at), t.UNKNOWN):
        return 0
    if with_crc and crc_32c(at + CRC_FROM, at + length) != int_32(at + 17) & LOW_32:
        return 0
    return length


@inlined
def _is_epoch_likely(at: int, length: int, left: int, before: int) -> bool:
    """Whether an epoch does not fall, and the header behind it does not say a lower one."""
    epoch: int = int_32(at + 12)
    if epoch == before:
        return True
    is_followed = left - length >= HEADER_BYTES
    return epoch > before and not (is_followed and int_32(at + length + 12) < epoch)


@compiled
def decode(content: int, table: Int64s, context: Int64s) -> None:
    """Read the records of all batches; a malformed one keeps the rows before the fault, and says so."""
    desk_at = context.ctypes.data
    for row in range(len(table)):
        table[row, t.FIRST] = context[t.RECORDS]
        batch = table.ctypes.data + 8 * t.BATCH_FIELDS * row
        at, end = content + table[row, t.START], content + table[row, t.END]
        for _ in range(table[row, t.COUNT]):
            at = _record(at, end, batch, row, desk_at)
            if at >= BEYOND:
                break
        if at != end:
            table[row, t.IS_SOUND] = 0


@compiled
def decode_values(content: int, count: int, context: Int64s) -> None:
    """Read the values of typed records again, whose rows say where they are and how long."""
    desk_at = context.ctypes.data
    records = get_64(desk_at + 8 * t.RECORD_TABLE), get_64(desk_at + 8 * t.RECORD_TABLE + 8)
    for number in range(count):
        row = records[0] + 8 * number
        if get_64(row + records[1] * t.READING) == t.TYPED:
            at = content + get_64(row + records[1] * t.VALUE_AT)
            _metadata(at, at + get_64(row + records[1] * t.VALUE_BYTES), number, desk_at)


@compiled
def pack(content: int, places: Int64s, sizes: Int64s, packed: int) -> None:
    """Copy values one behind the other."""
    for number in range(len(places)):
        copy(packed, content + places[number], sizes[number])
        packed += sizes[number]


@inlined
def _field(at: int, end: int, least: int) -> tuple[int, int, int]:
    """Return where a nullable field begins, its length (-1: null), and where it ends."""
    length, start = varint(at, end)
    if length < least or start + max(length, 0) > end:
        return 0, 0, BEYOND
    return start, length, start + max(length, 0)


@compiled
def _behind_headers(at: int, end: int) -> int:
    headers, at = varint(at, end)
    while headers > 0 and at < end:
        _, _, at = _field(at, end, 0)
        _, _, at = _field(at, end, -1)
        headers -= 1
    return at if headers == 0 else BEYOND


@inlined
def _record(at: int, end: int, batch: int, row: int, context: int) -> int:
    """Read one record into its row; return where the next begins, behind every end for a malformed one."""
    length, start = varint(at, end)
    stop = start + length
    if length < 1 or stop > end:
        return BEYOND
    time_delta, after = varlong(start + 1, stop)
    _, after = varint(after, stop)
    key, key_bytes, after = _field(after, stop, -1)
    value, value_bytes, after = _field(after, stop, -1)
    if after + 1 != stop or load(after) != 0:
        after = _behind_headers(after, stop)
        if after != stop:
            return BEYOND
    number = get_64(context + 8 * t.RECORDS)
    _place(batch, row, number, time_delta, context)
    put(context, t.RECORD_TABLE, t.VALUE_AT, number, value - get_64(context + 8 * t.CONTENT))
    put(context, t.RECORD_TABLE, t.VALUE_BYTES, number, value_bytes)
    if get_64(batch + 8 * t.ATTRIBUTES) & CONTROL_MASK:
        _control(key, key_bytes, value, value_bytes, number, context)
    else:
        _metadata(value, value + max(value_bytes, 0), number, context)
    put_64(context + 8 * t.RECORDS, number + 1)
    return stop


@inlined
def _place(batch: int, row: int, number: int, time_delta: int, context: int) -> None:
    """Write what the batch says of a record; its place in the batch is its offset, as Kafka's reader does."""
    begun = get_64(batch + 8 * t.FIRST)
    put(
        context,
        t.RECORD_TABLE,
        t.OFFSET,
        number,
        get_64(batch + 8 * t.BASE_OFFSET) + number - begun,
    )
    if get_64(batch + 8 * t.ATTRIBUTES) & TIMESTAMP_TYPE_MASK:
        timestamp = get_64(batch + 8 * t.MAX_TIMESTAMP)
    else:
        timestamp = get_64(batch + 8 * t.BASE_TIMESTAMP) + time_delta
    put(context, t.RECORD_TABLE, t.TIMESTAMP, number, timestamp)
    put(context, t.RECORD_TABLE, t.BATCH, number, row)


@inlined
def _frame(kind: int, version: int, reading: int, number: int, context: int) -> None:
    put(context, t.RECORD_TABLE, t.TYPE, number, kind)
    put(context, t.RECORD_TABLE, t.VERSION, number, version)
    put(context, t.RECORD_TABLE, t.READING, number, reading)


@compiled
def _control(
    key: int, key_bytes: int, value: int, value_bytes: int, number: int, context: int
) -> None:
    """A control record: its key is a version and a type, and its value begins with its own version."""
    if key_bytes < _CONTROL_KEY_BYTES or integer(key, 2) < 0:
        _frame(t.NO_TYPE, t.NO_TYPE, t.UNDECODABLE, number, context)
    else:
        version = integer(value, 2) if value_bytes > 1 else t.NO_TYPE
        _frame(integer(key + 2, 2), version, t.FRAMED, number, context)


@inlined
def _metadata(at: int, end: int, number: int, context: int) -> None:
    """A metadata record: frame version, apiKey, version; then its body, where it has a table."""
    frame, at = unsigned(at, end)
    key, at = unsigned(at, end)
    version, at = unsigned(at, end)
    if at >= BEYOND or frame != 1 or max(key, version) > _HIGHEST_NUMBER:
        _frame(t.NO_TYPE, t.NO_TYPE, t.UNDECODABLE, number, context)
        return
    unknown_tags = get_64(context + 8 * t.UNKNOWN_TAGS)
    after = _body(key, version, at, end, context)
    if after < 0:
        _frame(key, version, t.FRAMED, number, context)
    elif after == end:
        _frame(key, version, t.TYPED, number, context)
        _keep(key, number, context)
    else:
        _frame(key, version, t.UNDECODABLE, number, context)
        put_64(context + 8 * t.UNKNOWN_TAGS, unknown_tags)


@inlined
def _body(key: int, version: int, at: int, end: int, context: int) -> int:
    """Read a body into the next row of its table; return where it ends, -1 for what has no table."""
    if key == t.PARTITION_CHANGE and version <= _LATEST_PARTITION:
        return partition_change(at, end, version, context)
    return _other(key, version, at, end, context)


@compiled
def _other(key: int, version: int, at: int, end: int, context: int) -> int:
    if key == t.PARTITION_RECORD and version <= _LATEST_PARTITION:
        return partition(at, end, version, context)
    if key == t.REGISTER_BROKER and version <= _LATEST_REGISTER:
        return register(at, end, version, context)
    if key == t.BROKER_CHANGE and version <= _LATEST_CHANGE:
        return broker_change(at, end, version, context)
    return -1 if version else _single(key, at, end, context)


@compiled
def _single(key: int, at: int, end: int, context: int) -> int:
    """Read the body of a record that has one version only."""
    if key in (t.NO_OP, t.END_TRANSACTION):
        return tags(at, end, context)
    if key in (t.UNREGISTER_BROKER, t.FENCE_BROKER, t.UNFENCE_BROKER):
        return broker_event(key, at, end, context)
    if key in (t.TOPIC, t.REMOVE_TOPIC, t.CLEAR_ELR):
        return topic(key, at, end, context)
    if key in (t.BEGIN_TRANSACTION, t.ABORT_TRANSACTION):
        return one_text_tag(at, end, context)
    return -1


@compiled
def _keep(key: int, number: int, context: int) -> None:
    """Count the row that a body was read into, and write there which record it was."""
    if key in (t.PARTITION_CHANGE, t.PARTITION_RECORD):
        table, counter = t.PARTITION_TABLE, t.PARTITIONS
    elif key in (t.TOPIC, t.REMOVE_TOPIC, t.CLEAR_ELR):
        table, counter = t.TOPIC_TABLE, t.TOPICS
    elif key in (t.NO_OP, t.BEGIN_TRANSACTION, t.END_TRANSACTION, t.ABORT_TRANSACTION):
        return
    else:
        table, counter = t.BROKER_TABLE, t.BROKERS
    put(context, table, t.RECORD, get_64(context + 8 * counter), number)
    add(context, counter)
