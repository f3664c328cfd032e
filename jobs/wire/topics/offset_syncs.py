"""Offset syncs out of whole record batches, as columns.

One rule for bytes of any kind, in plain Python and compiled:

- A batch is read whole or not at all. It is damaged when its length, magic, CRC or compression is wrong, when
  its records, as Kafka's DefaultRecord reads them with all their headers, do not fill it exactly, when an
  offset lies outside of the batch or beyond `HIGHEST_OFFSET`, or when its chains are too long together
  (`LARGEST_CHAINS_BYTES`). Then it counts as damaged with the number of records in its header (at least one),
  none of them is returned, and the next batch is read.
- In a sound batch each record is judged alone, in this order: key or value null; too short for an offset sync
  or a topic that is not UTF-8; a number that no partition or offset has. The first that holds is counted.
- A record that encodes several syncs (`jobs.wire.topics.sync_links`) is a row for each, its own the last.

Source: see `jobs.wire.mirror_records`; varints as in `jobs.wire.batches.varints`.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from jobs.wire.batches.record_batch import (
    HIGHEST_OFFSET,
    BatchHeader,
    has_possible_offsets,
    verify_crc,
    whole_header,
)
from jobs.wire.batches.records import (
    SHORTEST_RECORD_BYTES,
    PlacedRecord,
    placed_records,
    records_body,
)
from jobs.wire.errors import Damaged, RecordFormatError
from jobs.wire.mirror_records import OffsetSync, decode_offset_sync
from jobs.wire.rebatch.table import Int64s
from jobs.wire.topics.sync_links import LARGEST_CHAINS_BYTES, SyncLinks, chain_bytes

Batch = tuple[BatchHeader, memoryview]
Key = tuple[str, int]
NULL = "key or value is null"
FOREIGN = "bytes of something else"
BAD_NUMBER = "a number that no partition or offset has"
DAMAGED = "in a damaged batch"
# What a batch of syncs may expand to, and what is looked at together: far above what is written, and little
# enough for a row of numbers for each of the shortest records in it.
LARGEST_EXPANDED_BYTES = 32 * 1024 * 1024
# With so many syncs, the batches behind are left for another call: a chain may tell one in two bytes.
MOST_SYNCS = 1_000_000
COLUMNS = (
    "key",
    "upstream",
    "downstream",
    "offset",
    "follows_upstream",
    "follows_downstream",
    "chained",
)


@dataclass(slots=True)
class DecodedSyncs:
    """Offset syncs in the order of the log: `key` is an index into `keys`, `offset` is that of the record.

    `follows_upstream` and `follows_downstream` are the pair synced before it, both -1 where that is
    not known, see `jobs.wire.topics.sync_links`. `chained` is 1 where it is only in the chain of a
    record, which MirrorMaker 2 does not see. `refused` counts records that are none, by reason. `batches`
    were read: not all where they hold very many syncs.
    """

    keys: list[Key] = field(default_factory=list)
    key: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    upstream: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    downstream: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    offset: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    follows_upstream: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    follows_downstream: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    chained: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    batches: int = 0
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
    rows = array("q")
    links = SyncLinks()
    for header, batch in batches:
        if len(rows) >= MOST_SYNCS * len(COLUMNS):
            break
        found.batches += 1
        try:
            records = _records(batch)
        except RecordFormatError:
            found.refused[DAMAGED] += max(header.record_count, 1)
            continue
        for record in records:
            sync = refusal(record.key, record.value)
            if isinstance(sync, str):
                found.refused[sync] += 1
                continue
            number = numbers.setdefault((sync.topic, sync.partition), len(numbers))
            pair = (sync.upstream_offset, sync.downstream_offset)
            told = links.told(record.offset, number, pair, record.headers)
            for left, (one, follows) in enumerate(told, 1 - len(told)):
                rows.extend((number, *one, record.offset, *(follows or (-1, -1)), int(left < 0)))
    found.keys = list(numbers)
    table = np.array(rows, np.int64).reshape(-1, len(COLUMNS))
    for name, column in zip(COLUMNS, table.T, strict=True):
        setattr(found, name, column.copy())
    return found


def _records(batch: memoryview) -> list[PlacedRecord]:
    header = _sound_header(batch)
    records = placed_records(batch, LARGEST_EXPANDED_BYTES)
    if any(not header.base_offset <= record.offset <= header.last_offset for record in records):
        raise Damaged(header.base_offset, "has a record outside of its offsets")
    if sum(chain_bytes(record.headers) for record in records) > LARGEST_CHAINS_BYTES:
        raise Damaged(header.base_offset, "tells too much in chains")
    return records


def _sound_header(batch: memoryview) -> BatchHeader:
    verify_crc(batch)
    header = whole_header(batch)
    if not has_possible_offsets(header):
        raise Damaged(header.base_offset, f"cannot have {header.last_offset} as its last offset")
    return header


def decode_compiled(batches: Sequence[Batch]) -> DecodedSyncs:
    """Do the same by a compiled loop; the first call compiles. Raises ImportError without numba."""
    parts: list[DecodedSyncs] = []
    done = syncs = 0
    while (done < len(batches) and syncs < MOST_SYNCS) or not parts:
        found = _decode_some(batches[done:])
        parts.append(found)
        done += found.batches
        syncs += len(found.key)
    return parts[0] if len(parts) == 1 else _joined(parts)


def _joined(parts: Sequence[DecodedSyncs]) -> DecodedSyncs:
    """Return what was read in parts; what the first sync of a part follows is not known."""
    found, numbers = DecodedSyncs(), dict[Key, int]()
    for part in parts:
        own = [numbers.setdefault(key, len(numbers)) for key in part.keys]
        part.key = np.array(own, np.int64)[part.key]
        found.refused += part.refused
        found.batches += part.batches
    found.keys = list(numbers)
    for name in COLUMNS:
        setattr(found, name, np.concatenate([getattr(part, name) for part in parts]))
    return found


def _decode_some(batches: Sequence[Batch]) -> DecodedSyncs:
    """Read as many batches as may be expanded together."""
    from jobs.wire.topics import offset_sync_kernels as kernels

    found = DecodedSyncs()
    content, table, found.batches = _opened(batches, found.refused)
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
    rows = np.concatenate(pieces) if pieces else rows
    if not _fill(found, rows, content, keys[1 : keys[0, 0] + 1]):
        return _decode_some(batches[: found.batches // 2])
    return found


def _opened(
    batches: Sequence[Batch], refused: Counter[str]
) -> tuple[npt.NDArray[np.uint8], Int64s, int]:
    """Return the records of batches that can be opened, expanded, where each batch's are, and how many.

    Small bombs one behind the other are not all opened at once.
    """
    bodies: list[bytes | memoryview] = []
    table: list[tuple[int, int, int, int, int]] = []
    at = taken = 0
    for told, batch in batches:
        if at >= LARGEST_EXPANDED_BYTES:
            break
        taken += 1
        try:
            header = _sound_header(batch)
            body = records_body(header, batch, LARGEST_EXPANDED_BYTES)
        except RecordFormatError:
            refused[DAMAGED] += max(told.record_count, 1)
            continue
        if not 0 <= header.record_count * SHORTEST_RECORD_BYTES <= len(body):
            refused[DAMAGED] += max(told.record_count, 1)
            continue
        end = at + len(body)
        table.append((at, end, header.base_offset, header.record_count, header.last_offset_delta))
        bodies.append(body)
        at = end
    content = np.frombuffer(b"".join(bodies) or b"\0", np.uint8)
    return content, np.array(table, np.int64).reshape(-1, 5), taken


def _fill(
    found: DecodedSyncs, rows: Int64s, content: npt.NDArray[np.uint8], places: Int64s
) -> bool:
    """Turn rows into columns; keys are numbered as they first come in what is kept.

    Returns False where these batches tell too much to be looked at together.
    """
    from jobs.wire.topics import offset_sync_kernels as kernels

    keys = [_key(bytes(content[at : at + size])) for at, size in places.tolist()]
    kinds = rows[:, kernels.KIND]
    is_foreign = np.array([key is None for key in keys], np.bool_)
    has_key = (kinds == kernels.SYNC) | (kinds == kernels.BAD_NUMBER)
    kinds[has_key] = np.where(
        is_foreign[rows[has_key, kernels.KEY]], kernels.FOREIGN, kinds[has_key]
    )
    reasons = {kernels.NULL: NULL, kernels.FOREIGN: FOREIGN, kernels.BAD_NUMBER: BAD_NUMBER}
    for kind, reason in reasons.items():
        found.refused[reason] += int(np.count_nonzero(kinds == kind))
    found.refused = +found.refused
    rows = rows[kinds == kernels.SYNC]
    has_chains = bool((rows[:, kernels.CHAIN_SIZE] >= 0).any())
    total = kernels.take_chains(content, rows) if has_chains else len(rows)
    if total > MOST_SYNCS and found.batches > 1:
        return False
    kernels.link(rows)
    number = rows[:, kernels.KEY]
    first = np.full(len(keys), len(rows), np.int64)
    # Of several values for one place numpy keeps the last: going backwards, that is the first row.
    first[number[::-1]] = np.arange(len(rows) - 1, -1, -1)
    order = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(rows))]
    own = np.empty(len(keys), np.int64)
    own[order] = np.arange(len(order))
    found.keys = [key for key in (keys[at] for at in order.tolist()) if key is not None]
    found.key = own[number]
    offsets = (kernels.UPSTREAM, kernels.DOWNSTREAM, kernels.OFFSET)
    columns = (*offsets, kernels.FOLLOWS_UPSTREAM, kernels.FOLLOWS_DOWNSTREAM)
    for name, column in zip(COLUMNS[1:], columns, strict=False):
        setattr(found, name, rows[:, column].copy())
    found.chained = np.zeros(len(rows), np.int64)
    if total > len(rows):
        _tell_chains(found, rows, content, total)
    return True


def _tell_chains(
    found: DecodedSyncs, rows: Int64s, content: npt.NDArray[np.uint8], total: int
) -> None:
    """Put the syncs of chains before those of their records."""
    from jobs.wire.topics import offset_sync_kernels as kernels

    told, counts = np.empty((total, 4), np.int64), rows[:, kernels.TELLS]
    kernels.tell_chains(content, rows, told)
    found.key, found.offset = np.repeat(found.key, counts), np.repeat(found.offset, counts)
    found.upstream, found.downstream = told[:, 0].copy(), told[:, 1].copy()
    found.follows_upstream, found.follows_downstream = told[:, 2].copy(), told[:, 3].copy()
    found.chained = np.ones(total, np.int64)
    found.chained[np.cumsum(counts) - 1] = 0


def _key(content: bytes) -> Key | None:
    try:
        sync = decode_offset_sync(content, bytes(16))
    except RecordFormatError:
        return None
    return sync.topic, sync.partition
