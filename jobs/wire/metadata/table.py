"""What the compiled and the plain decoding of a metadata log into columns share: numbers of columns.

Numbers instead of names, because compiled code sees arrays of integers and nothing else. Every table but
that of the batches has a line per column, so that a column is one stretch of memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

# Fields of a batch: one row each. POSITION is the byte of the log it begins at.
POSITION = 0
SIZE = 1
BASE_OFFSET = 2
EPOCH = 3
ATTRIBUTES = 4
LAST_DELTA = 5
BASE_TIMESTAMP = 6
MAX_TIMESTAMP = 7
COUNT = 8
# 0: the records do not fill it as its header says; those before the fault have rows.
IS_SOUND = 9
# Where its records stand in what is decoded: the log itself, or the batch expanded.
START = 10
END = 11
# The row of its first record.
FIRST = 12
BATCH_FIELDS = 13

# The place of a scan: the next byte, the offset expected there, why it stopped, and the epoch before it.
AT = 0
EXPECTED = 1
WHY = 2
LAST_EPOCH = 3
UNKNOWN = -1
AT_END = 0
FULL = 1
EXTRAORDINARY = 2

# Columns of all records. TYPE is the apiKey, in a control batch the control type.
OFFSET = 0
TIMESTAMP = 1
BATCH = 2
TYPE = 3
VERSION = 4
VALUE_AT = 5
VALUE_BYTES = 6
READING = 7
RECORD_COLUMNS = 8

# How far a record was read: its frame only, into a table of its own, or it cannot be decoded.
FRAMED = 0
TYPED = 1
UNDECODABLE = 2
# TYPE and VERSION of a record without a readable frame.
NO_TYPE = -1

# Columns of PartitionRecord and PartitionChangeRecord; RECORD is the row of the record.
RECORD = 0
TOPIC_HIGH = 1
TOPIC_LOW = 2
PARTITION = 3
LEADER = 4
LEADER_EPOCH = 5
PARTITION_EPOCH = 6
RECOVERY = 7
# Where the directory ids stand, 16 bytes each, and how many (-1: null).
DIRECTORIES_AT = 8
DIRECTORIES = 9
PARTITION_COLUMNS = 10
# What a change record says that leaves leader, epochs and recovery state as they are.
SAME_LEADER = -2
ABSENT = -1

# Their lists.
ISR = 0
REPLICAS = 1
REMOVING = 2
ADDING = 3
ELR = 4
LAST_KNOWN_ELR = 5
LISTS = 6

# Columns of what happens to brokers. FENCED: 1 fence, -1 unfence, 0 neither; SHUTDOWN: 1 controlled.
# LOG_DIRS: how many directories the record names, -1 for one that names none.
BROKER = 1
BROKER_EPOCH = 2
FENCED = 3
SHUTDOWN = 4
INCARNATION_HIGH = 5
INCARNATION_LOW = 6
LOG_DIRS = 7
BROKER_COLUMNS = 8

# Columns of TopicRecord, RemoveTopicRecord and ClearElrRecord: id (1, 2 as above), then the name (-1: none).
NAME_AT = 3
NAME_BYTES = 4
TOPIC_COLUMNS = 5

# What is counted while decoding.
RECORDS = 0
PARTITIONS = 1
BROKERS = 2
TOPICS = 3
UNKNOWN_TAGS = 4
COUNTERS = 5
# Behind the counters, for compiled code: address of each table and bytes of a line.
RECORD_TABLE = 5
PARTITION_TABLE = 7
END_TABLE = 9
VALID_TABLE = 11
VALUE_TABLE = 13
BROKER_TABLE = 15
TOPIC_TABLE = 17
CONTENT = 19
CONTEXT_FIELDS = 20

# The apiKeys that have tables, and those that frame a transaction.
REGISTER_BROKER = 0
UNREGISTER_BROKER = 1
TOPIC = 2
PARTITION_RECORD = 3
PARTITION_CHANGE = 5
FENCE_BROKER = 7
UNFENCE_BROKER = 8
REMOVE_TOPIC = 9
BROKER_CHANGE = 17
NO_OP = 20
BEGIN_TRANSACTION = 23
END_TRANSACTION = 24
ABORT_TRANSACTION = 25
CLEAR_ELR = 28


class Tables(NamedTuple):
    """Where compiled code writes; every column has room for as many rows as there can be records.

    `ends[list, n + 1]` is where list n ends in `values[list]`, and `valid[list, n]` is 0 where it is null.
    `counts` are how many rows are filled; behind them is what `lay_out` writes.
    """

    records: Int64s
    partitions: Int64s
    ends: Int32s
    valid: Bytes
    values: Int32s
    brokers: Int64s
    topics: Int64s
    counts: Int64s


def lay_out(content: Bytes, tables: Tables) -> None:
    """Write the addresses of all tables behind the counters."""
    context = tables.counts
    arrays: tuple[npt.NDArray[Any], ...] = tables[:-1]
    for place, array in zip(range(RECORD_TABLE, CONTENT, 2), arrays, strict=True):
        context[place], context[place + 1] = array.ctypes.data, array.strides[0]
    context[CONTENT] = content.ctypes.data


def room(records: int, body_bytes: int) -> Tables:
    """Return tables for as many records in as many bytes; untouched memory costs nothing."""
    partitions = min(records, body_bytes // _PARTITION_BYTES + 1)
    return Tables(
        np.empty((RECORD_COLUMNS, records), np.int64),
        np.empty((PARTITION_COLUMNS, partitions), np.int64),
        np.zeros((LISTS, partitions + 1), np.int32),
        np.empty((LISTS, partitions), np.uint8),
        np.empty((LISTS, body_bytes // 4 + 1), np.int32),
        np.empty((BROKER_COLUMNS, min(records, body_bytes // _BROKER_BYTES + 1)), np.int64),
        np.empty((TOPIC_COLUMNS, min(records, body_bytes // _TOPIC_BYTES + 1)), np.int64),
        np.zeros(CONTEXT_FIELDS, np.int64),
    )


# The fewest bytes of a value with a row: frame, fixed fields, tag section; ClearElr has the shortest.
_PARTITION_BYTES = 24
_BROKER_BYTES = 16
_TOPIC_BYTES = 5
