"""Partition records folded into states and rows of history, compiled; the rules are those of `fold.topics`.

Users make room before they call: a row of history for each record, and everything that lists may need.
"""

from __future__ import annotations

from jobs.quorum.history.changes import Cause
from jobs.quorum.replay import table as r
from jobs.quorum.replay.lists import (
    add_slot,
    directories,
    find_slot,
    index_id,
    index_list,
    index_slot,
    index_topic,
    list_count,
    list_number,
    migrating,
    placed,
    row_at,
    topic_number,
)
from jobs.quorum.replay.partition_causes import write_cause
from jobs.quorum.replay.table import CAUSES, D, Int64s
from jobs.wire.machine_code import compiled, get_32, get_64, inlined, load, put_64
from jobs.wire.metadata import table as t
from jobs.wire.metadata.bodies import line

_ELR, _LAST_KNOWN = r.LISTS + t.ELR, r.LISTS + t.LAST_KNOWN_ELR
_SAME_LEADER, _ABSENT = t.SAME_LEADER, t.ABSENT
_CREATED, _ADDED = CAUSES[Cause.TOPIC_CREATED], CAUSES[Cause.PARTITIONS_ADDED]
_REPLACED, _CLEARED = CAUSES[Cause.PARTITION_REPLACED], CAUSES[Cause.ELR_CLEARED]
_DELETED = CAUSES[Cause.TOPIC_DELETED]
_SLOT_TABLE, _TOPIC_TABLE, _HISTORY_TABLE = D.slot_table, D.topic_table, D.history_table
_LIST_TABLE = D.list_table
_HISTORY, _SOURCE, _BATCHES, _RESETS = D.history, D.source, D.batches, D.resets
_GROUPS, _GROUP = D.groups, D.group
_SHARD, _SHARDS = D.shard, D.shards
_APPLIED, _GROWING_TOPIC, _GROWING_ROW = D.applied, D.growing_topic, D.growing_row
_UNKNOWN_TOPIC, _UNKNOWN_PARTITION = D.unknown_topic, D.unknown_partition


@inlined
def _read(source: int, table: int, column: int, row: int) -> int:
    found: int = get_64(line(source, table, column) + 8 * row)
    return found


@compiled
def merge(context: int, first: int, last: int) -> None:
    """Fold rows of the source's partitions from `first` to `last` (exclusive), those of the shard."""
    source = get_64(context + 8 * _SOURCE)
    shard, shards = get_64(context + 8 * _SHARD), get_64(context + 8 * _SHARDS)
    for row in range(first, last):
        record = _read(source, t.PARTITION_TABLE, t.RECORD, row)
        high = _read(source, t.PARTITION_TABLE, t.TOPIC_HIGH, row)
        low = _read(source, t.PARTITION_TABLE, t.TOPIC_LOW, row)
        number = _read(source, t.PARTITION_TABLE, t.PARTITION, row)
        is_change = int(_read(source, t.RECORD_TABLE, t.TYPE, record) == t.PARTITION_CHANGE)
        if is_change:
            put_64(context + 8 * _GROWING_TOPIC, -1)
        if shards > 1 and (high ^ low ^ number) % shards != shard:
            continue
        slot = find_slot(high, low, number, context)
        if slot >= 0:
            at = row_at(context, _SLOT_TABLE, slot, r.SLOT_FIELDS)
            if is_change and get_64(at + 8 * r.SLOT_ALIVE):
                _change(at, row, record, source, context)
                continue
        _unusual(high, low, number, slot, is_change, row, record, context)


@compiled
def _unusual(  # noqa: PLR0913, PLR0917 - numbers are all that compiled code knows
    high: int, low: int, number: int, slot: int, is_change: int, row: int, record: int, context: int
) -> None:
    """Fold a PartitionRecord, or count a record about what is not there."""
    source = get_64(context + 8 * _SOURCE)
    topic = topic_number(high, low, context)
    if topic < 0 or not get_64(
        row_at(context, _TOPIC_TABLE, topic, r.TOPIC_FIELDS) + 8 * r.TOPIC_ALIVE
    ):
        put_64(context + 8 * _UNKNOWN_TOPIC, get_64(context + 8 * _UNKNOWN_TOPIC) + 1)
    elif is_change:
        put_64(context + 8 * _UNKNOWN_PARTITION, get_64(context + 8 * _UNKNOWN_PARTITION) + 1)
    else:
        if slot < 0:
            slot = add_slot(high, low, number, topic, context)
        _place(row_at(context, _SLOT_TABLE, slot, r.SLOT_FIELDS), row, record, source, context)


@compiled
def _begin(slot: int, record: int, source: int, context: int) -> int:
    """Write offset and time of a record into the next row of history; return the row."""
    row = row_at(context, _HISTORY_TABLE, get_64(context + 8 * _HISTORY), r.HISTORY_FIELDS)
    batch = _read(source, t.RECORD_TABLE, t.BATCH, record)
    group = get_64(context + 8 * _GROUP)
    if group < 0:
        group = get_64(get_64(context + 8 * _GROUPS) + 8 * batch)
    put_64(row + 8 * r.GROUP, group)
    batch = get_64(context + 8 * _BATCHES) + 8 * t.BATCH_FIELDS * batch
    put_64(row + 8 * r.OFFSET, _read(source, t.RECORD_TABLE, t.OFFSET, record))
    put_64(row + 8 * r.APPLIED, get_64(context + 8 * _APPLIED))
    put_64(row + 8 * r.EPOCH, get_64(batch + 8 * t.EPOCH))
    put_64(row + 8 * r.TIMESTAMP, _read(source, t.RECORD_TABLE, t.TIMESTAMP, record))
    put_64(row + 8 * r.BATCH_OFFSET, get_64(batch + 8 * t.BASE_OFFSET))
    topic = get_64(slot + 8 * r.SLOT_TOPIC)
    topic = row_at(context, _TOPIC_TABLE, topic, r.TOPIC_FIELDS)
    put_64(row + 8 * r.TOPIC, get_64(topic + 8 * r.TOPIC_NAME))
    _begin_state(slot, row)
    return row


@compiled
def _begin_state(slot: int, row: int) -> None:
    """Write what was before; what a change says comes on top."""
    put_64(row + 8 * r.PARTITION, get_64(slot + 8 * r.SLOT_PARTITION))
    state = slot + 8 * r.SLOT_STATE
    for field in range(0, 8 * r.STATE_FIELDS, 8):
        put_64(row + 8 * r.STATE + field, get_64(state + field))
    put_64(row + 8 * r.HAD_BEFORE, get_64(slot + 8 * r.SLOT_ALIVE))
    put_64(row + 8 * r.PREVIOUS_LEADER, get_64(state + 8 * r.LEADER))
    put_64(row + 8 * r.PREVIOUS_ISR, get_64(state + 8 * (r.LISTS + t.ISR)))
    put_64(row + 8 * r.PREVIOUS_ELR, get_64(state + 8 * _ELR))
    put_64(row + 8 * r.CAUSE_BROKER, r.NO_BROKER)
    for field in range(r.ELECTION, r.GROUP):
        put_64(row + 8 * field, 0)


@compiled
def _end(slot: int, row: int, context: int) -> None:
    """Make the state of a row that of the partition, and count the row."""
    for field in range(0, 8 * r.STATE_FIELDS, 8):
        put_64(slot + 8 * r.SLOT_STATE + field, get_64(row + 8 * r.STATE + field))
    put_64(slot + 8 * r.SLOT_ALIVE, 1)
    put_64(context + 8 * _HISTORY, get_64(context + 8 * _HISTORY) + 1)


@compiled
def _lists(state: int, row: int, source: int, context: int) -> None:
    """Write the lists that a record names."""
    for which in range(t.LISTS):
        if load(line(source, t.VALID_TABLE, which) + row):
            ends = line(source, t.END_TABLE, which) + 4 * row
            begin, end = get_32(ends), get_32(ends + 4)
            values = line(source, t.VALUE_TABLE, which) + 4 * begin
            put_64(state + 8 * (r.LISTS + which), list_number(values, end - begin, context))


@compiled
def _change(slot: int, row: int, record: int, source: int, context: int) -> None:
    """Fold a PartitionChangeRecord: what it does not name stays."""
    history = _begin(slot, record, source, context)
    after = history + 8 * r.STATE
    before = slot + 8 * r.SLOT_STATE
    leader = _read(source, t.PARTITION_TABLE, t.LEADER, row)
    if leader != _SAME_LEADER:
        put_64(after + 8 * r.LEADER, leader)
        put_64(after + 8 * r.LEADER_EPOCH, get_64(after + 8 * r.LEADER_EPOCH) + 1)
    put_64(after + 8 * r.PARTITION_EPOCH, get_64(after + 8 * r.PARTITION_EPOCH) + 1)
    recovery = _read(source, t.PARTITION_TABLE, t.RECOVERY, row)
    if recovery != _ABSENT:
        put_64(after + 8 * r.RECOVERY, recovery)
    _lists(after, row, source, context)
    _change_directories(before, after, row, source, context)
    write_cause(before, after, history, context)
    _end(slot, history, context)


@inlined
def _change_directories(before: int, after: int, row: int, source: int, context: int) -> None:
    replicas = get_64(after + 8 * (r.LISTS + t.REPLICAS))
    count = _read(source, t.PARTITION_TABLE, t.DIRECTORIES, row)
    if count != _ABSENT:
        _write_directories(after, count, row, source, context)
    elif replicas != get_64(before + 8 * (r.LISTS + t.REPLICAS)):
        old = get_64(before + 8 * r.DIRECTORIES)
        put_64(after + 8 * r.DIRECTORIES, placed(old, list_count(replicas, context), context))


@compiled
def _write_directories(state: int, count: int, row: int, source: int, context: int) -> None:
    at = _read(source, t.PARTITION_TABLE, t.DIRECTORIES_AT, row) + get_64(source + 8 * t.CONTENT)
    replicas = list_count(get_64(state + 8 * (r.LISTS + t.REPLICAS)), context)
    put_64(state + 8 * r.DIRECTORIES, directories(at, count, replicas, context))


@compiled
def _place(slot: int, row: int, record: int, source: int, context: int) -> None:
    """Fold a PartitionRecord: it replaces whatever was there."""
    history = _begin(slot, record, source, context)
    state = history + 8 * r.STATE
    put_64(state + 8 * r.LEADER, _read(source, t.PARTITION_TABLE, t.LEADER, row))
    put_64(state + 8 * r.LEADER_EPOCH, _read(source, t.PARTITION_TABLE, t.LEADER_EPOCH, row))
    put_64(state + 8 * r.PARTITION_EPOCH, _read(source, t.PARTITION_TABLE, t.PARTITION_EPOCH, row))
    put_64(state + 8 * r.RECOVERY, _read(source, t.PARTITION_TABLE, t.RECOVERY, row))
    for which in range(t.LISTS):
        put_64(state + 8 * (r.LISTS + which), 0)
    _lists(state, row, source, context)
    count = _read(source, t.PARTITION_TABLE, t.DIRECTORIES, row)
    if count > 0:
        _write_directories(state, count, row, source, context)
    else:
        replicas = list_count(get_64(state + 8 * (r.LISTS + t.REPLICAS)), context)
        put_64(state + 8 * r.DIRECTORIES, migrating(replicas, context))
    put_64(history + 8 * r.CAUSE, _creation(slot, row, context))
    _end(slot, history, context)


@inlined
def _creation(slot: int, row: int, context: int) -> int:
    """Return why a partition is there: its topic is being created while nothing else is written."""
    if get_64(slot + 8 * r.SLOT_ALIVE):
        return _REPLACED
    is_growing = get_64(context + 8 * _GROWING_TOPIC) == get_64(slot + 8 * r.SLOT_TOPIC)
    reset = get_64(get_64(context + 8 * _RESETS) + 8 * row)
    return _CREATED if is_growing and reset <= get_64(context + 8 * _GROWING_ROW) else _ADDED


@compiled
def slots_of(context: int, topic: int, found: Int64s) -> int:
    """Write (partition, slot) of a topic's partitions into rows; return how many there are."""
    slot = get_64(row_at(context, _TOPIC_TABLE, topic, r.TOPIC_FIELDS) + 8 * r.TOPIC_FIRST)
    count = 0
    while slot >= 0:
        row = row_at(context, _SLOT_TABLE, slot, r.SLOT_FIELDS)
        if count < len(found):
            found[count, 0], found[count, 1] = get_64(row + 8 * r.SLOT_PARTITION), slot
        count += 1
        slot = get_64(row + 8 * r.SLOT_NEXT)
    return count


@compiled
def end_partition(context: int, slot: int, record: int, is_removed: int) -> None:
    """Write what a record about a whole topic does to one partition: it is gone, or its ELR is."""
    source = get_64(context + 8 * _SOURCE)
    at = row_at(context, _SLOT_TABLE, slot, r.SLOT_FIELDS)
    state = at + 8 * r.SLOT_STATE
    if not get_64(at + 8 * r.SLOT_ALIVE):
        return
    if not is_removed and (get_64(state + 8 * _ELR) | get_64(state + 8 * _LAST_KNOWN)) == 0:
        return
    row = _begin(at, record, source, context)
    put_64(row + 8 * r.CAUSE, _DELETED if is_removed else _CLEARED)
    put_64(row + 8 * r.IS_REMOVED, is_removed)
    if not is_removed:
        put_64(row + 8 * (r.STATE + _ELR), 0)
        put_64(row + 8 * (r.STATE + _LAST_KNOWN), 0)
        epoch = row + 8 * (r.STATE + r.PARTITION_EPOCH)
        put_64(epoch, get_64(epoch) + 1)
    _end(at, row, context)
    if is_removed:
        put_64(at + 8 * r.SLOT_ALIVE, 0)


@compiled
def index_all(context: int, which: int, first: int, count: int) -> None:
    """Enter the rows of a table (`table.D.slot_table` ...) from `first` on into its new hash."""
    for number in range(first, count):
        if which == _SLOT_TABLE:
            index_slot(number, context)
        elif which == _TOPIC_TABLE:
            index_topic(number, context)
        elif which == _LIST_TABLE:
            index_list(number, context)
        else:
            index_id(number, context)
