"""Tables of the compiled replay: cells, numbered lists and directory ids, partitions and topics by their key.

Everything is an address or a number, as in `jobs.wire.machine_code`; who calls makes sure beforehand that
tables have room for what is added. Hashes have open addressing and hold a number plus one, 0 for nothing.
"""

from __future__ import annotations

from jobs.quorum.replay import table as r
from jobs.quorum.replay.table import D, Int32s, Int64s
from jobs.wire.machine_code import (
    compiled,
    get_32,
    get_64,
    inlined,
    int_64,
    put_32,
    put_64,
)

# Uneven numbers without pattern, below 2^63 so that compiled code keeps them signed.
_FIRST, _SECOND, _THIRD = 0x1E3779B97F4A7C15, 0x42B2AE3D27D4EB4F, 0x165667B19E3779F9
_FOLD = 29

_SLOT_TABLE, _SLOT_INDEX, _SLOT_MASK = D.slot_table, D.slot_index, D.slot_mask
_TOPIC_TABLE, _TOPIC_INDEX, _TOPIC_MASK = D.topic_table, D.topic_index, D.topic_mask
_LIST_TABLE, _LIST_INDEX, _LIST_MASK = D.list_table, D.list_index, D.list_mask
_ID_TABLE, _ID_INDEX, _ID_MASK = D.id_table, D.id_index, D.id_mask
_SLOTS, _TOPICS, _LISTS, _VALUES, _IDS = D.slots, D.topics, D.lists, D.values, D.ids
_VALUE_TABLE, _SCRATCH = D.value_table, D.scratch


@inlined
def row_at(context: int, table: int, row: int, fields: int) -> int:
    """Return where a row begins."""
    begin: int = get_64(context + 8 * table)
    return begin + 8 * fields * row


@inlined
def _mixed(high: int, low: int, third: int) -> int:
    mixed = high * _FIRST ^ low * _SECOND ^ third * _THIRD
    return mixed ^ (mixed >> _FOLD)


@compiled
def topic_number(high: int, low: int, context: int) -> int:
    """Return the number of a topic id, -1 for one that was never there."""
    mask = get_64(context + 8 * _TOPIC_MASK)
    place = _mixed(high, low, 0) & mask
    while True:
        found = get_64(get_64(context + 8 * _TOPIC_INDEX) + 8 * place)
        if found == 0:
            return -1
        row = row_at(context, _TOPIC_TABLE, found - 1, r.TOPIC_FIELDS)
        if get_64(row) == high and get_64(row + 8) == low:
            return int(found - 1)
        place = (place + 1) & mask


@compiled
def add_topic(high: int, low: int, context: int) -> int:
    """Return the number of a topic id that is there from now on."""
    number = topic_number(high, low, context)
    if number < 0:
        number = get_64(context + 8 * _TOPICS)
        put_64(context + 8 * _TOPICS, number + 1)
        row = row_at(context, _TOPIC_TABLE, number, r.TOPIC_FIELDS)
        put_64(row, high)
        put_64(row + 8, low)
        put_64(row + 8 * r.TOPIC_FIRST, -1)
        index_topic(number, context)
    put_64(row_at(context, _TOPIC_TABLE, number, r.TOPIC_FIELDS) + 8 * r.TOPIC_ALIVE, 1)
    return int(number)


@compiled
def index_topic(number: int, context: int) -> None:
    """Enter a topic into its hash."""
    row = row_at(context, _TOPIC_TABLE, number, r.TOPIC_FIELDS)
    mixed = _mixed(get_64(row), get_64(row + 8), 0)
    _enter(mixed, number, get_64(context + 8 * _TOPIC_INDEX), get_64(context + 8 * _TOPIC_MASK))


@inlined
def _enter(mixed: int, number: int, index: int, mask: int) -> None:
    place = mixed & mask
    while get_64(index + 8 * place) != 0:
        place = (place + 1) & mask
    put_64(index + 8 * place, number + 1)


@compiled
def find_slot(high: int, low: int, partition: int, context: int) -> int:
    """Return the number of a partition's row, -1 for one that was never there."""
    mask = get_64(context + 8 * _SLOT_MASK)
    place = _mixed(high, low, partition) & mask
    index = get_64(context + 8 * _SLOT_INDEX)
    while True:
        found = get_64(index + 8 * place)
        if found == 0:
            return -1
        row = row_at(context, _SLOT_TABLE, found - 1, r.SLOT_FIELDS)
        if (
            get_64(row + 8 * r.SLOT_PARTITION) == partition
            and get_64(row) == high
            and get_64(row + 8) == low
        ):
            return int(found - 1)
        place = (place + 1) & mask


@compiled
def add_slot(high: int, low: int, partition: int, topic: int, context: int) -> int:
    """Return the number of a new row for a partition that never had one."""
    number = get_64(context + 8 * _SLOTS)
    put_64(context + 8 * _SLOTS, number + 1)
    row = row_at(context, _SLOT_TABLE, number, r.SLOT_FIELDS)
    put_64(row, high)
    put_64(row + 8, low)
    put_64(row + 8 * r.SLOT_PARTITION, partition)
    put_64(row + 8 * r.SLOT_TOPIC, topic)
    first = row_at(context, _TOPIC_TABLE, topic, r.TOPIC_FIELDS) + 8 * r.TOPIC_FIRST
    put_64(row + 8 * r.SLOT_NEXT, get_64(first))
    put_64(row + 8 * r.SLOT_ALIVE, 0)
    put_64(first, number)
    index_slot(number, context)
    return int(number)


@compiled
def index_slot(number: int, context: int) -> None:
    """Enter a partition into its hash."""
    row = row_at(context, _SLOT_TABLE, number, r.SLOT_FIELDS)
    mixed = _mixed(get_64(row), get_64(row + 8), get_64(row + 8 * r.SLOT_PARTITION))
    _enter(mixed, number, get_64(context + 8 * _SLOT_INDEX), get_64(context + 8 * _SLOT_MASK))


@inlined
def _hash_of(source: int, count: int) -> int:
    mixed = count
    for index in range(count):
        mixed = (mixed ^ get_32(source + 4 * index)) * _SECOND
    return mixed ^ (mixed >> _FOLD)


@inlined
def list_count(number: int, context: int) -> int:
    found: int = get_64(row_at(context, _LIST_TABLE, number, r.LIST_FIELDS) + 8)
    return found


@inlined
def list_at(number: int, context: int) -> int:
    """Return where the numbers of a list stand, 4 bytes each."""
    begin = get_64(row_at(context, _LIST_TABLE, number, r.LIST_FIELDS))
    at: int = get_64(context + 8 * _VALUE_TABLE) + 4 * begin
    return at


@compiled
def contains(number: int, value: int, context: int) -> bool:
    """Say whether a list has a number."""
    at = list_at(number, context)
    for index in range(list_count(number, context)):  # noqa: SIM110 - compiled
        if get_32(at + 4 * index) == value:
            return True
    return False


@inlined
def _is_list(number: int, source: int, count: int, context: int) -> bool:
    if list_count(number, context) != count:
        return False
    at = list_at(number, context)
    for index in range(0, 4 * count, 4):  # noqa: SIM110 - compiled
        if get_32(at + index) != get_32(source + index):
            return False
    return True


@compiled
def list_number(source: int, count: int, context: int) -> int:
    """Return the number of a list, a new one when it is new; the empty list is 0."""
    if count == 0:
        return 0
    mask = get_64(context + 8 * _LIST_MASK)
    place = _hash_of(source, count) & mask
    while True:
        found = get_64(get_64(context + 8 * _LIST_INDEX) + 8 * place)
        if found == 0:
            return _add_list(source, count, place, context)
        if _is_list(found - 1, source, count, context):
            return int(found - 1)
        place = (place + 1) & mask


@compiled
def _add_list(source: int, count: int, place: int, context: int) -> int:
    number = get_64(context + 8 * _LISTS)
    begin = get_64(context + 8 * _VALUES)
    row = row_at(context, _LIST_TABLE, number, r.LIST_FIELDS)
    put_64(row, begin)
    put_64(row + 8, count)
    at = list_at(number, context)
    for index in range(0, 4 * count, 4):
        put_32(at + index, get_32(source + index))
    put_64(context + 8 * _LISTS, number + 1)
    put_64(context + 8 * _VALUES, begin + count)
    put_64(get_64(context + 8 * _LIST_INDEX) + 8 * place, number + 1)
    return int(number)


@compiled
def index_list(number: int, context: int) -> None:
    """Enter a list into its hash."""
    mixed = _hash_of(list_at(number, context), list_count(number, context))
    _enter(mixed, number, get_64(context + 8 * _LIST_INDEX), get_64(context + 8 * _LIST_MASK))


@compiled
def index_id(number: int, context: int) -> None:
    """Enter a directory id into its hash."""
    row = row_at(context, _ID_TABLE, number, r.ID_FIELDS)
    mixed = _mixed(get_64(row), get_64(row + 8), 1)
    _enter(mixed, number, get_64(context + 8 * _ID_INDEX), get_64(context + 8 * _ID_MASK))


@compiled
def _id_number(high: int, low: int, context: int) -> int:
    mask = get_64(context + 8 * _ID_MASK)
    place = _mixed(high, low, 1) & mask
    while True:
        found = get_64(get_64(context + 8 * _ID_INDEX) + 8 * place)
        if found == 0:
            break
        row = row_at(context, _ID_TABLE, found - 1, r.ID_FIELDS)
        if get_64(row) == high and get_64(row + 8) == low:
            return int(found - 1)
        place = (place + 1) & mask
    number = get_64(context + 8 * _IDS)
    row = row_at(context, _ID_TABLE, number, r.ID_FIELDS)
    put_64(row, high)
    put_64(row + 8, low)
    put_64(context + 8 * _IDS, number + 1)
    put_64(get_64(context + 8 * _ID_INDEX) + 8 * place, number + 1)
    return int(number)


@compiled
def directories(at: int, count: int, replicas: int, context: int) -> int:
    """Return the list of directory ids as Kafka keeps it: all migrating (0) is that for each replica."""
    scratch = get_64(context + 8 * _SCRATCH)
    is_any = 0
    for index in range(count):
        number = _id_number(int_64(at + 16 * index), int_64(at + 16 * index + 8), context)
        put_32(scratch + 4 * index, number)
        is_any |= number
    return list_number(scratch, count, context) if is_any else migrating(replicas, context)


@compiled
def migrating(count: int, context: int) -> int:
    """Return the list of so many directory ids that are not known yet."""
    scratch = get_64(context + 8 * _SCRATCH)
    for index in range(count):
        put_32(scratch + 4 * index, 0)
    return list_number(scratch, count, context)


@compiled
def placed(number: int, replicas: int, context: int) -> int:
    """Return a list of directory ids after the replicas changed: nothing known stays so for each of them."""
    at = list_at(number, context)
    for index in range(list_count(number, context)):
        if get_32(at + 4 * index) != 0:
            return number
    return migrating(replicas, context)


@compiled
def put_columns(rows: Int64s, columns: Int64s) -> None:
    """Copy rows to where each of their fields is in one piece."""
    for row in range(len(rows)):
        for field in range(len(columns)):
            columns[field, row] = rows[row, field]


@compiled
def put_lists(numbers: Int64s, lists: Int64s, values: Int32s, found: Int32s) -> None:
    """Copy the lists of these numbers, one behind the other."""
    put = 0
    for number in numbers:
        begin = lists[number, r.LIST_BEGIN]
        for at in range(begin, begin + lists[number, r.LIST_COUNT]):
            found[put] = values[at]
            put += 1
