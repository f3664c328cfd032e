"""Bodies of the metadata records that come in bulk, read into columns by compiled code.

Every function reads into the next row of its table, which counts only once somebody counts it, and returns
where the body ends: behind every end for one that is malformed. As in Kafka's own reader, the last of two
equal tags holds; other than there, a tag must be as long as it says. Users: `jobs.wire.metadata.kernels`.
"""

from __future__ import annotations

from jobs.wire.machine_code import (
    BEYOND,
    LOW_32,
    compiled,
    get_32,
    get_64,
    inlined,
    int_32,
    int_64,
    integer,
    load,
    put_8,
    put_32,
    put_64,
    raw_varint,
    short,
)
from jobs.wire.metadata import table as t

UUID_BYTES = 16
_LONGEST_TEXT = 32767
# PartitionId and TopicId; leader and the two epochs.
_PARTITION_HEAD_BYTES = 20
_LEADERSHIP_BYTES = 12
_BROKER_HEAD_BYTES = 12
_PLAIN_LISTS = (t.REPLICAS, t.ISR, t.REMOVING, t.ADDING)
# Lists of PartitionChangeRecord by their tag, -1 for what is no list.
_LIST_OF_TAG = (t.ISR, -1, t.REPLICAS, t.REMOVING, t.ADDING, -1, t.ELR, t.LAST_KNOWN_ELR)
_LEADER_TAG, _RECOVERY_TAG, _FIRST_ELR_TAG, _DIRECTORIES_TAG = 1, 5, 6, 8
_HAS_DIRECTORIES, _HAS_ELR = 1, 2
_CORDONED_SINCE = 3


@inlined
def line(context: int, table: int, column: int) -> int:
    """Return where a column of a table begins."""
    at: int = get_64(context + 8 * table) + column * get_64(context + 8 * table + 8)
    return at


@inlined
def put(context: int, table: int, column: int, row: int, value: int) -> None:
    put_64(line(context, table, column) + 8 * row, value)


@inlined
def add(context: int, counter: int) -> None:
    """Count one more."""
    put_64(context + 8 * counter, get_64(context + 8 * counter) + 1)


@inlined
def unsigned(at: int, end: int) -> tuple[int, int]:
    """Return an unsigned INT32 and where it ends; a place behind every end when there is none."""
    raw, after = short(at, end)
    if after < 0:
        raw, after = raw_varint(at, end, 5)
        raw &= LOW_32
    return raw, after


@compiled
def tags(at: int, end: int, context: int) -> int:
    """Skip a section of unknown tags, and count them."""
    left, at = unsigned(at, end)
    while left > 0 and at < end:
        _, at = unsigned(at, end)
        size, at = unsigned(at, end)
        at += size
        left -= 1
        add(context, t.UNKNOWN_TAGS)
    return at if left == 0 and at <= end else BEYOND


@compiled
def _text(at: int, end: int, least: int) -> tuple[int, int, int]:
    """Return where bytes begin, how many (-1: null), and where they end."""
    size, start = unsigned(at, end)
    after = start + max(size - 1, 0)
    if not least <= size - 1 <= _LONGEST_TEXT or after > end:
        return 0, 0, BEYOND
    return start, size - 1, after


@compiled
def _uuids(at: int, end: int, least: int) -> tuple[int, int, int]:
    """Return where directory ids begin, how many (-1: null), and where they end."""
    count, start = unsigned(at, end)
    after = start + max(count - 1, 0) * UUID_BYTES
    if count - 1 < least or after > end:
        return 0, 0, BEYOND
    return start, count - 1, after


@inlined
def _list(which: int, at: int, end: int, least: int, context: int) -> int:
    row = get_64(context + 8 * t.PARTITIONS)
    count, at = unsigned(at, end)
    count -= 1
    if count < least or at > end or 4 * count > end - at:
        return BEYOND
    end_at = line(context, t.END_TABLE, which) + 4 * row
    begin = get_32(end_at)
    put_8(line(context, t.VALID_TABLE, which) + row, 1 if count >= 0 else 0)
    to = line(context, t.VALUE_TABLE, which) + 4 * begin
    count = max(count, 0)
    for index in range(0, 4 * count, 4):
        put_32(to + index, int_32(at + index))
    put_32(end_at + 4, begin + count)
    return at + 4 * count


@inlined
def _begin_partition(at: int, leader: int, recovery: int, context: int) -> int:
    """Fill the next row with what both records begin with, and with what they say when they say nothing."""
    row: int = get_64(context + 8 * t.PARTITIONS)
    put(context, t.PARTITION_TABLE, t.PARTITION, row, int_32(at))
    put(context, t.PARTITION_TABLE, t.TOPIC_HIGH, row, int_64(at + 4))
    put(context, t.PARTITION_TABLE, t.TOPIC_LOW, row, int_64(at + 12))
    put(context, t.PARTITION_TABLE, t.LEADER, row, leader)
    put(context, t.PARTITION_TABLE, t.LEADER_EPOCH, row, t.ABSENT)
    put(context, t.PARTITION_TABLE, t.PARTITION_EPOCH, row, t.ABSENT)
    put(context, t.PARTITION_TABLE, t.RECOVERY, row, recovery)
    put(context, t.PARTITION_TABLE, t.DIRECTORIES_AT, row, 0)
    put(context, t.PARTITION_TABLE, t.DIRECTORIES, row, t.ABSENT)
    for which in range(t.LISTS):
        end_at = line(context, t.END_TABLE, which) + 4 * row
        put_32(end_at + 4, get_32(end_at))
        put_8(line(context, t.VALID_TABLE, which) + row, 0)
    return row


@inlined
def partition_change(at: int, end: int, version: int, context: int) -> int:
    """Read a PartitionChangeRecord: what it names is tagged, what it does not name stays as it is."""
    if end - at <= _PARTITION_HEAD_BYTES:
        return BEYOND
    row = _begin_partition(at, t.SAME_LEADER, t.ABSENT, context)
    left, at = unsigned(at + _PARTITION_HEAD_BYTES, end)
    while left > 0 and at < end:
        tag, at = unsigned(at, end)
        size, at = unsigned(at, end)
        stop = at + size
        if stop > end or _change_tag(tag, version, at, stop, row, context) != stop:
            return BEYOND
        at = stop
        left -= 1
    return at if left == 0 else BEYOND


@inlined
def _change_tag(tag: int, version: int, at: int, end: int, row: int, context: int) -> int:
    if tag == _LEADER_TAG:
        return _number(t.LEADER, 4, at, end, row, context)
    if tag == _RECOVERY_TAG:
        return _number(t.RECOVERY, 1, at, end, row, context)
    if tag < _FIRST_ELR_TAG or (tag < _DIRECTORIES_TAG and version >= _HAS_ELR):
        return _list(_LIST_OF_TAG[tag], at, end, -1, context)
    if tag == _DIRECTORIES_TAG and version >= _HAS_DIRECTORIES:
        return _directories(at, end, -1, row, context)
    add(context, t.UNKNOWN_TAGS)
    return end


@inlined
def _number(column: int, size: int, at: int, end: int, row: int, context: int) -> int:
    if at + size > end:
        return BEYOND
    put(context, t.PARTITION_TABLE, column, row, integer(at, size))
    return at + size


@compiled
def _directories(at: int, end: int, least: int, row: int, context: int) -> int:
    start, count, after = _uuids(at, end, least)
    put(context, t.PARTITION_TABLE, t.DIRECTORIES_AT, row, start - get_64(context + 8 * t.CONTENT))
    put(context, t.PARTITION_TABLE, t.DIRECTORIES, row, count)
    return after


@compiled
def partition(at: int, end: int, version: int, context: int) -> int:
    """Read a PartitionRecord: a partition as it is from then on."""
    if end - at <= _PARTITION_HEAD_BYTES:
        return BEYOND
    row = _begin_partition(at, t.ABSENT, 0, context)
    at += _PARTITION_HEAD_BYTES
    for which in _PLAIN_LISTS:
        at = _list(which, at, end, 0, context)
    if at + _LEADERSHIP_BYTES > end:
        return BEYOND
    put(context, t.PARTITION_TABLE, t.LEADER, row, int_32(at))
    put(context, t.PARTITION_TABLE, t.LEADER_EPOCH, row, int_32(at + 4))
    put(context, t.PARTITION_TABLE, t.PARTITION_EPOCH, row, int_32(at + 8))
    at += _LEADERSHIP_BYTES
    if version >= _HAS_DIRECTORIES:
        at = _directories(at, end, 0, row, context)
    return _partition_tags(at, end, version, row, context)


@compiled
def _partition_tags(at: int, end: int, version: int, row: int, context: int) -> int:
    left, at = unsigned(at, end)
    while left > 0 and at < end:
        tag, at = unsigned(at, end)
        size, at = unsigned(at, end)
        stop = at + size
        if stop > end:
            return BEYOND
        if tag == 0:
            at = _number(t.RECOVERY, 1, at, stop, row, context)
        elif tag <= _HAS_ELR <= version:
            at = _list(t.ELR + tag - 1, at, stop, -1, context)
        else:
            add(context, t.UNKNOWN_TAGS)
            at = stop
        if at != stop:
            return BEYOND
        left -= 1
    return at if left == 0 else BEYOND


@inlined
def _begin_broker(at: int, context: int) -> int:
    row: int = get_64(context + 8 * t.BROKERS)
    put(context, t.BROKER_TABLE, t.BROKER, row, int_32(at))
    for column in range(t.BROKER_EPOCH, t.LOG_DIRS):
        put(context, t.BROKER_TABLE, column, row, 0)
    put(context, t.BROKER_TABLE, t.LOG_DIRS, row, t.ABSENT)
    return row


@compiled
def broker_event(key: int, at: int, end: int, context: int) -> int:
    """Read what Unregister-, Fence- and UnfenceBrokerRecord are: a broker and its epoch."""
    if end - at <= _BROKER_HEAD_BYTES:
        return BEYOND
    row = _begin_broker(at, context)
    put(context, t.BROKER_TABLE, t.BROKER_EPOCH, row, int_64(at + 4))
    if key != t.UNREGISTER_BROKER:
        put(context, t.BROKER_TABLE, t.FENCED, row, 1 if key == t.FENCE_BROKER else -1)
    return tags(at + _BROKER_HEAD_BYTES, end, context)


@compiled
def broker_change(at: int, end: int, version: int, context: int) -> int:
    """Read a BrokerRegistrationChangeRecord."""
    if end - at <= _BROKER_HEAD_BYTES:
        return BEYOND
    row = _begin_broker(at, context)
    put(context, t.BROKER_TABLE, t.BROKER_EPOCH, row, int_64(at + 4))
    left, at = unsigned(at + _BROKER_HEAD_BYTES, end)
    while left > 0 and at < end:
        tag, at = unsigned(at, end)
        size, at = unsigned(at, end)
        stop = at + size
        if stop > end or _broker_tag(tag, version, at, stop, row, context) != stop:
            return BEYOND
        at = stop
        left -= 1
    return at if left == 0 else BEYOND


@compiled
def _broker_tag(tag: int, version: int, at: int, end: int, row: int, context: int) -> int:
    if tag > min(version, _CORDONED_SINCE):
        add(context, t.UNKNOWN_TAGS)
        return end
    if tag > 1:
        _, count, after = _uuids(at, end, -1 if tag == _CORDONED_SINCE else 0)
        if tag != _CORDONED_SINCE:
            put(context, t.BROKER_TABLE, t.LOG_DIRS, row, count if count else t.ABSENT)
        return after
    if at >= end:
        return BEYOND
    put(context, t.BROKER_TABLE, t.FENCED if tag == 0 else t.SHUTDOWN, row, integer(at, 1))
    return at + 1


@compiled
def register(at: int, end: int, version: int, context: int) -> int:
    """Read a RegisterBrokerRecord; endpoints, features and rack are passed by."""
    if end - at <= _BROKER_HEAD_BYTES + UUID_BYTES:
        return BEYOND
    row = _begin_broker(at, context)
    at += 5 if version >= 2 else 4  # noqa: PLR2004 - IsMigratingZkBroker, since version 2
    put(context, t.BROKER_TABLE, t.INCARNATION_HIGH, row, int_64(at))
    put(context, t.BROKER_TABLE, t.INCARNATION_LOW, row, int_64(at + 8))
    if end - at < UUID_BYTES + 8:
        return BEYOND
    put(context, t.BROKER_TABLE, t.BROKER_EPOCH, row, int_64(at + UUID_BYTES))
    at = _structs(at + UUID_BYTES + 8, end, 2, context)
    at = _structs(at, end, 1, context)
    _, _, at = _text(at, end, -1)
    flags = 2 if version >= 1 else 1
    if at + flags > end:
        return BEYOND
    put(context, t.BROKER_TABLE, t.FENCED, row, 1 if load(at) else 0)
    put(context, t.BROKER_TABLE, t.SHUTDOWN, row, 1 if flags > 1 and load(at + 1) else 0)
    return _register_tags(at + flags, end, version, row, context)


@compiled
def _structs(at: int, end: int, texts: int, context: int) -> int:
    """Pass by an array of endpoints or features: texts, four bytes of numbers, tags."""
    left, at = unsigned(at, end)
    if left == 0:
        return BEYOND
    while left > 1 and at < end:
        for _ in range(texts):
            _, _, at = _text(at, end, 0)
        at = tags(at + 4, end, context)
        left -= 1
    return at if left == 1 else BEYOND


@compiled
def _register_tags(at: int, end: int, version: int, row: int, context: int) -> int:
    left, at = unsigned(at, end)
    while left > 0 and at < end:
        tag, at = unsigned(at, end)
        size, at = unsigned(at, end)
        stop = at + size
        if stop > end:
            return BEYOND
        if tag + 3 <= version and tag <= 1:
            _, count, at = _uuids(at, stop, -tag)
            if tag == 0:
                put(context, t.BROKER_TABLE, t.LOG_DIRS, row, count if count else t.ABSENT)
        else:
            add(context, t.UNKNOWN_TAGS)
            at = stop
        if at != stop:
            return BEYOND
        left -= 1
    return at if left == 0 else BEYOND


@compiled
def topic(key: int, at: int, end: int, context: int) -> int:
    """Read a TopicRecord, a RemoveTopicRecord (it has no name), or a ClearElrRecord (it has no id)."""
    row = get_64(context + 8 * t.TOPICS)
    for column in range(t.TOPIC_HIGH, t.NAME_BYTES):
        put(context, t.TOPIC_TABLE, column, row, 0)
    put(context, t.TOPIC_TABLE, t.NAME_BYTES, row, t.ABSENT)
    if key != t.REMOVE_TOPIC:
        start, size, at = _text(at, end, 0)
        put(context, t.TOPIC_TABLE, t.NAME_AT, row, start - get_64(context + 8 * t.CONTENT))
        put(context, t.TOPIC_TABLE, t.NAME_BYTES, row, size)
    if key != t.CLEAR_ELR:
        if at + UUID_BYTES > end:
            return BEYOND
        put(context, t.TOPIC_TABLE, t.TOPIC_HIGH, row, int_64(at))
        put(context, t.TOPIC_TABLE, t.TOPIC_LOW, row, int_64(at + 8))
        at += UUID_BYTES
    return tags(at, end, context)


@compiled
def one_text_tag(at: int, end: int, context: int) -> int:
    """Pass by a body that is nothing but a tagged text, as those of transactions are."""
    left, at = unsigned(at, end)
    while left > 0 and at < end:
        tag, at = unsigned(at, end)
        size, at = unsigned(at, end)
        stop = at + size
        if stop > end:
            return BEYOND
        if tag > 0:
            add(context, t.UNKNOWN_TAGS)
            at = stop
        else:
            _, _, at = _text(at, stop, -1)
        if at != stop:
            return BEYOND
        left -= 1
    return at if left == 0 else BEYOND
