"""Offset syncs of whole batches, compiled by numba; `offset_syncs` does the same in plain words.

The loop stays inside its arrays whatever the bytes say: every position is compared with an end before it is
read. Keys are numbered in the order in which they first come, since they are few and syncs are many.

All compiled code is in this one file: numba's cache does not notice a change in another one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np

from jobs.wire.rebatch.table import Bytes, Int64s
from jobs.wire.topics.sync_links import (
    CHAIN_HEADER,
    FOLLOWS_HEADER,
    LARGEST_CHAINS_BYTES,
    LONGEST_CHAIN_BYTES,
    MOST_DIGITS,
    TOGETHER_HEADER,
)

F = TypeVar("F", bound=Callable[..., Any])

# Kinds of a record; above 0: why it is refused.
SYNC, NULL, FOREIGN, BAD_NUMBER = 0, 1, 2, 3
# Columns of a row. `NOTED`: there are headers of `sync_links`; what they say, -1 for nothing. Of a chain only
# where it is, until `take_chains` writes how many syncs the row tells.
KIND, OFFSET, KEY, UPSTREAM, DOWNSTREAM = 0, 1, 2, 3, 4
NOTED, FOLLOWS_UPSTREAM, FOLLOWS_DOWNSTREAM, TOGETHER = 5, 6, 7, 8
CHAIN_AT, CHAIN_SIZE, TELLS = 9, 10, 11
COLUMNS = 12
# Columns of a batch: its records, and what its header says.
START, END, BASE_OFFSET, COUNT, LAST_DELTA = 0, 1, 2, 3, 4

HIGHEST_OFFSET = 1 << 62
_FNV, _PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)
_VALUE_BYTES = 16
_MORE = 0x80
_INT32_BYTES, _INT64_BYTES = 5, 10
_INT32_BITS = 0xFFFFFFFF
_FOLLOWS = np.frombuffer(FOLLOWS_HEADER.encode(), np.uint8)
_TOGETHER = np.frombuffer(TOGETHER_HEADER.encode(), np.uint8)
_CHAIN = np.frombuffer(CHAIN_HEADER.encode(), np.uint8)
_LONGEST_CHAIN, _LARGEST_CHAINS = LONGEST_CHAIN_BYTES, LARGEST_CHAINS_BYTES
_MOST_DIGITS = MOST_DIGITS
_ZERO, _NINE, _COLON = 48, 57, 58


def _compiled(function: F) -> F:
    made: Any
    try:
        made = numba.njit(function, nogil=True, cache=True)
    except RuntimeError:
        made = numba.njit(function, nogil=True)
    return made  # type: ignore[no-any-return] # it is called like the function itself


@_compiled
def _varint(content: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return an INT32 and where it ends; an end of -1: there is none. Higher bits are dropped."""
    raw = 0
    for index in range(min(_INT32_BYTES, end - at)):
        byte = int(content[at + index])
        raw |= (byte & 127) << (7 * index)
        if byte < _MORE:
            raw &= _INT32_BITS
            return (raw >> 1) ^ -(raw & 1), at + index + 1
    return 0, -1


@_compiled
def _after_varlong(content: Bytes, at: int, end: int) -> int:
    """Return where an INT64 ends, -1: there is none. Its value is of no use here."""
    for index in range(min(_INT64_BYTES, end - at)):
        if content[at + index] < _MORE:
            return at + index + 1
    return -1


@_compiled
def _head(content: Bytes, at: int, end: int) -> tuple[int, int, int]:
    """Return a record's offset delta, where its key begins, and where it ends; -1: it is malformed."""
    size, start = _varint(content, at, end)
    if start < 0 or size < 1 or size > end - start:
        return 0, -1, -1
    after = _after_varlong(content, start + 1, start + size)
    if after < 0:
        return 0, -1, -1
    delta, after = _varint(content, after, start + size)
    return delta, after, start + size


@_compiled
def _decimal(content: Bytes, at: int, end: int) -> int:
    """Return the number that digits say, -1: they are none."""
    if not at < end <= at + _MOST_DIGITS:
        return -1
    value = 0
    for index in range(at, end):
        digit = int(content[index])
        if not _ZERO <= digit <= _NINE:
            return -1
        value = 10 * value + digit - _ZERO
    return value


@_compiled
def _is(content: Bytes, at: int, size: int, name: Bytes) -> bool:
    if size != len(name):
        return False
    index = 0
    while index < size and content[at + index] == name[index]:
        index += 1
    return index == size


@_compiled
def _note_follows(content: Bytes, at: int, end: int, row: Int64s) -> None:
    colon = at
    while colon < end and content[colon] != _COLON:
        colon += 1
    upstream, downstream = _decimal(content, at, colon), _decimal(content, colon + 1, end)
    is_pair = upstream >= 0 and downstream >= 0
    row[FOLLOWS_UPSTREAM] = upstream if is_pair else -1
    row[FOLLOWS_DOWNSTREAM] = downstream if is_pair else -1
    row[NOTED] = 1


@_compiled
def _note_together(content: Bytes, at: int, end: int, row: Int64s) -> None:
    together = _decimal(content, at, end)
    row[TOGETHER] = together if together >= 0 else 1
    row[NOTED] = 1


@_compiled
def _take_note(content: Bytes, name: int, name_size: int, at: int, size: int, row: Int64s) -> None:
    """Note what a header says if it is one of these; of chains the last counts, also without a value."""
    if _is(content, name, name_size, _CHAIN):
        row[NOTED], row[CHAIN_AT], row[CHAIN_SIZE] = 1, at, size
    elif size >= 0 and _is(content, name, name_size, _FOLLOWS):
        _note_follows(content, at, at + size, row)
    elif size >= 0 and _is(content, name, name_size, _TOGETHER):
        _note_together(content, at, at + size, row)


@_compiled
def _take_headers(content: Bytes, at: int, end: int, row: Int64s) -> bool:
    """Say whether headers fill a record to its end, and note what they say of syncs before this one.

    A name is never null, a value may be.
    """
    row[NOTED], row[FOLLOWS_UPSTREAM], row[FOLLOWS_DOWNSTREAM], row[TOGETHER] = 0, -1, -1, 1
    row[CHAIN_AT], row[CHAIN_SIZE], row[TELLS] = -1, -1, 1
    count, at = _varint(content, at, end)
    if at < 0 or count < 0:
        return False
    for _ in range(count):
        size, name = _varint(content, at, end)
        if name < 0 or size < 0 or size > end - name:
            return False
        value_size, at = _varint(content, name + size, end)
        if at < 0 or value_size < -1 or value_size > end - at:
            return False
        _take_note(content, name, size, at, value_size, row)
        at += max(value_size, 0)
    return at == end


@_compiled
def _integer(content: Bytes, at: int, size: int) -> int:
    value = int(content[at])
    value -= (value & _MORE) << 1
    for index in range(1, size):
        value = (value << 8) | int(content[at + index])
    return value


@_compiled
def _same(content: Bytes, one: int, other: int, size: int) -> bool:
    index = 0
    while index < size and content[one + index] == content[other + index]:
        index += 1
    return index == size


@_compiled
def _number(content: Bytes, at: int, size: int, keys: Int64s, slots: Int64s) -> int:
    """Return the number of a key, a new one when it is new; `keys[0]` counts them."""
    found = _FNV
    for index in range(size):
        found = (found ^ np.uint64(content[at + index])) * _PRIME
    mask = len(slots) - 1
    slot = np.int64(found & np.uint64(mask))
    while slots[slot] > 0:
        number = slots[slot]
        if keys[number, 1] == size and _same(content, keys[number, 0], at, size):
            return int(number - 1)
        slot = (slot + 1) & mask
    number = keys[0, 0] + 1
    keys[0, 0] = number
    keys[number, 0], keys[number, 1] = at, size
    slots[slot] = number
    return int(number - 1)


@_compiled
def _take(content: Bytes, at: int, end: int, row: Int64s, keys: Int64s, slots: Int64s) -> int:
    """Read key and value into a row; return what kind of record it is, -1 when it is malformed."""
    key_size, key = _varint(content, at, end)
    if key < 0 or key_size < -1 or key_size > end - key:
        return -1
    after = key + max(key_size, 0)
    value_size, value = _varint(content, after, end)
    is_inside = value >= 0 and -1 <= value_size <= end - value
    if not is_inside or not _take_headers(content, value + max(value_size, 0), end, row):
        return -1
    if key_size < 0 or value_size < 0:
        return NULL
    topic = _integer(content, key, 2) if key_size > 1 else -1
    if topic < 0 or key_size < 2 + topic + 4 or value_size < _VALUE_BYTES:
        return FOREIGN
    row[KEY] = _number(content, key, 2 + topic + 4, keys, slots)
    upstream, downstream = _integer(content, value, 8), _integer(content, value + 8, 8)
    lowest = min(upstream, downstream, _integer(content, key + 2 + topic, 4))
    if lowest < 0 or max(upstream, downstream) >= HIGHEST_OFFSET:
        return BAD_NUMBER
    row[UPSTREAM], row[DOWNSTREAM] = upstream, downstream
    return SYNC


@_compiled
def read(
    content: Bytes, batches: Int64s, rows: Int64s, keys: Int64s, slots: Int64s
) -> tuple[int, int]:
    """Fill rows; return how many, and the batches that were read to their end (-1 - n: batch n is malformed).

    `keys` has a row more than there can be keys, `slots` twice as many, a power of two; both begin as zeros.
    A call ends at the first malformed batch, of which no row is kept.
    """
    filled = 0
    for number in range(len(batches)):
        at, end = batches[number, START], batches[number, END]
        begun, chains = filled, 0
        for _ in range(batches[number, COUNT]):
            delta, after, stop = _head(content, at, end)
            kind = _take(content, after, stop, rows[filled], keys, slots) if after > 0 else -1
            if kind < 0 or delta < 0 or delta > batches[number, LAST_DELTA]:
                return begun, -1 - number
            chains += max(rows[filled, CHAIN_SIZE], 0)
            rows[filled, KIND] = kind
            rows[filled, OFFSET] = batches[number, BASE_OFFSET] + delta
            filled += 1
            at = stop
        if at != end or chains > _LARGEST_CHAINS:
            return begun, -1 - number
    return filled, len(batches)


@_compiled
def link(rows: Int64s) -> None:
    """Write beside each sync the pair that it follows, as `jobs.wire.topics.sync_links.SyncLinks` does it."""
    left = 0
    for at in range(len(rows)):
        row = rows[at]
        if row[NOTED] == 0 and left > 0:
            before = rows[at - 1]
            if row[KEY] == before[KEY] and row[OFFSET] == before[OFFSET] + 1:
                row[FOLLOWS_UPSTREAM] = before[UPSTREAM]
                row[FOLLOWS_DOWNSTREAM] = before[DOWNSTREAM]
                row[TOGETHER] = left
        left = max(0, row[TOGETHER] - 1)


@_compiled
def _varlong(content: Bytes, at: int, end: int) -> tuple[int, int]:
    """Return an INT64 and where it ends; an end of -1: there is none. Higher bits are dropped."""
    raw = np.uint64(0)
    for index in range(min(_INT64_BYTES, end - at)):
        byte = np.uint64(content[at + index])
        raw |= (byte & np.uint64(127)) << np.uint64(7 * index)
        if byte < _MORE:
            return int(
                np.int64(raw >> np.uint64(1)) ^ -np.int64(raw & np.uint64(1))
            ), at + index + 1
    return 0, -1


@_compiled
def _read_chain(content: Bytes, row: Int64s, pairs: Int64s) -> int:
    """Read the chain of a row; return of how many pairs it is, 0 where it is not sound, see `sync_links`."""
    at, end = row[CHAIN_AT], row[CHAIN_AT] + row[CHAIN_SIZE]
    if row[CHAIN_SIZE] > _LONGEST_CHAIN:
        return 0
    count, upstream, downstream = 0, 0, 0
    while at < end:
        grown, at = _varlong(content, at, end)
        more, at = _varlong(content, at, end) if at > 0 else (0, -1)
        # Nothing below can get too large for an INT64.
        if at < 0 or not 0 <= grown < HIGHEST_OFFSET or not -HIGHEST_OFFSET < more < HIGHEST_OFFSET:
            return 0
        step = more + grown if count else more
        if not 0 <= step < HIGHEST_OFFSET or (count and min(grown, step) == 0):
            return 0
        upstream, downstream = upstream + grown, downstream + step
        if max(upstream, downstream) >= HIGHEST_OFFSET:
            return 0
        pairs[count, 0], pairs[count, 1] = upstream, downstream
        count += 1
    return count if count and upstream < row[UPSTREAM] and downstream < row[DOWNSTREAM] else 0


@_compiled
def take_chains(content: Bytes, rows: Int64s) -> int:
    """Write beside the rows with a sound chain what they follow and tell; return what all tell."""
    pairs, total = np.empty((_LONGEST_CHAIN // 2, 2), np.int64), 0
    for at in range(len(rows)):
        row = rows[at]
        count = _read_chain(content, row, pairs) if row[CHAIN_SIZE] >= 0 else 0
        if count:
            row[TELLS], row[TOGETHER] = count, 1
            row[FOLLOWS_UPSTREAM], row[FOLLOWS_DOWNSTREAM] = pairs[count - 1]
        else:
            row[CHAIN_SIZE] = -1
        total += row[TELLS]
    return total


@_compiled
def tell_chains(content: Bytes, rows: Int64s, told: Int64s) -> None:
    """Write all that rows tell: both offsets, and those of the sync that is followed."""
    pairs, end = np.empty((_LONGEST_CHAIN // 2, 2), np.int64), 0
    for at in range(len(rows)):
        row = rows[at]
        if row[CHAIN_SIZE] >= 0:
            for number in range(1, _read_chain(content, row, pairs)):
                told[end, 0], told[end, 1] = pairs[number]
                told[end, 2], told[end, 3] = pairs[number - 1]
                end += 1
        told[end, 0], told[end, 1] = row[UPSTREAM], row[DOWNSTREAM]
        told[end, 2], told[end, 3] = row[FOLLOWS_UPSTREAM], row[FOLLOWS_DOWNSTREAM]
        end += 1
