"""Offset syncs out of whole record batches, as columns.

What is no offset sync is counted by its reason and passed by: tombstones, bytes of somebody else, damaged
batches. Source: see `jobs.wire.mirror_records`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from jobs.wire.compression import EXPANSION_LIMIT_BYTES
from jobs.wire.errors import RecordFormatError
from jobs.wire.mirror_records import OffsetSync, decode_offset_sync
from jobs.wire.rebatch_table import Int64s
from jobs.wire.record_batch import BatchHeader, verify_crc
from jobs.wire.records import (
    SHORTEST_RECORD_BYTES,
    placed_records,
    records_body,
)

Batch = tuple[BatchHeader, memoryview]
Key = tuple[str, int]
# Numbers beyond are no offsets of any log; below, sums of two still fit into 64 bits.
HIGHEST_OFFSET = 1 << 62
NULL = "key or value is null"
FOREIGN = "bytes of something else"
BAD_NUMBER = "a number that no partition or offset has"
DAMAGED = "in a damaged batch"


@dataclass(slots=True)
class DecodedSyncs:
    """Offset syncs in the order of the log: `key` is an index into `keys`, `offset` is that of the record.

    `refused` counts records that are none, by reason.
    """

    keys: list[Key] = field(default_factory=list)
    key: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    upstream: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    downstream: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    offset: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    refused: Counter[str] = field(default_factory=Counter)


def refusal(key: bytes | None, value: bytes | None) -> str | OffsetSync:
    """Return the offset sync of a record, or why it is none."""
    if key is None or value is None:
        return NULL
    try:
        sync = decode_offset_sync(key, value)
    except RecordFormatError:
        return FOREIGN
    is_sound = sync.partition >= 0 and 0 <= sync.upstream_offset < HIGHEST_OFFSET
    return sync if is_sound and 0 <= sync.downstream_offset < HIGHEST_OFFSET else BAD_NUMBER


def decode_plain(batches: Sequence[Batch]) -> DecodedSyncs:
    """Read data batches of a topic of offset syncs, in plain Python."""
    found = DecodedSyncs()
    numbers: dict[Key, int] = {}
    rows: list[tuple[int, int, int, int]] = []
    for header, batch in batches:
        try:
            verify_crc(batch)
            records = placed_records(batch)
        except RecordFormatError:
            found.refused[DAMAGED] += max(header.record_count, 1)
            continue
        for record in records:
            sync = refusal(record.key, record.value)
            if isinstance(sync, str):
                found.refused[sync] += 1
                continue
            number = numbers.setdefault((sync.topic, sync.partition), len(numbers))
            rows.append((number, sync.upstream_offset, sync.downstream_offset, record.offset))
    found.keys = list(numbers)
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    found.key, found.upstream, found.downstream, found.offset = (c.copy() for c in columns)
    return found


def decode_compiled(batches: Sequence[Batch]) -> DecodedSyncs:
    """Do the same by a compiled loop; the first call compiles. Raises ImportError without numba."""
    from jobs.wire import offset_sync_kernels as kernels

    found = DecodedSyncs()
    content, table = _opened(batches, found.refused)
    rows = np.empty((int(table[:, kernels.COUNT].sum()), kernels.COLUMNS), np.int64)
    keys = np.zeros((len(rows) + 1, 2), np.int64)
    slots = np.zeros(1 << max(4, (2 * len(rows)).bit_length()), np.int64)
    pieces, begun, done = [], 0, 0
    while done < len(table):
        filled, ended = kernels.read(content, table[done:], rows[begun:], keys, slots)
        pieces.append(rows[begun : begun + filled])
        begun += filled
        if ended < 0:
            # The batch that ended the loop is malformed: everything behind it is read by another call.
            malformed = done - 1 - ended
            found.refused[DAMAGED] += max(int(table[malformed, kernels.COUNT]), 1)
            done = malformed + 1
        else:
            done = len(table)
    _fill(found, np.concatenate(pieces) if pieces else rows, content, keys[1 : keys[0, 0] + 1])
    return found


def _opened(
    batches: Sequence[Batch], refused: Counter[str]
) -> tuple[npt.NDArray[np.uint8], Int64s]:
    """Return the records of all sound batches, expanded, and where each batch's are."""
    bodies: list[bytes | memoryview] = []
    table, at = [], 0
    for header, batch in batches:
        try:
            verify_crc(batch)
            body = records_body(header, batch, EXPANSION_LIMIT_BYTES)
        except RecordFormatError:
            refused[DAMAGED] += max(header.record_count, 1)
            continue
        if not 0 <= header.record_count * SHORTEST_RECORD_BYTES <= len(body):
            refused[DAMAGED] += max(header.record_count, 1)
            continue
        table.append((at, at + len(body), header.base_offset, header.record_count))
        bodies.append(body)
        at += len(body)
    content = np.frombuffer(b"".join(bodies) or b"\0", np.uint8)
    return content, np.array(table, np.int64).reshape(-1, 4)


def _fill(
    found: DecodedSyncs, rows: Int64s, content: npt.NDArray[np.uint8], places: Int64s
) -> None:
    """Turn rows into columns; a topic that is not UTF-8 makes its records bytes of something else."""
    from jobs.wire import offset_sync_kernels as kernels

    reasons = {kernels.NULL: NULL, kernels.FOREIGN: FOREIGN, kernels.BAD_NUMBER: BAD_NUMBER}
    for kind, reason in reasons.items():
        found.refused[reason] += int(np.count_nonzero(rows[:, kernels.KIND] == kind))
    rows = rows[rows[:, kernels.KIND] == kernels.SYNC]
    numbers: dict[Key, int] = {}
    own = np.full(len(places), -1, np.int64)
    for number, (at, size) in enumerate(places.tolist()):
        sync = refusal(bytes(content[at : at + size]), bytes(16))
        if isinstance(sync, OffsetSync):
            own[number] = numbers.setdefault((sync.topic, sync.partition), len(numbers))
    key = own[rows[:, kernels.KEY]]
    found.refused[FOREIGN] += int(np.count_nonzero(key < 0))
    found.refused = +found.refused
    rows, found.key = rows[key >= 0], key[key >= 0]
    found.keys = list(numbers)
    found.upstream = rows[:, kernels.UPSTREAM].copy()
    found.downstream = rows[:, kernels.DOWNSTREAM].copy()
    found.offset = rows[:, kernels.OFFSET].copy()
