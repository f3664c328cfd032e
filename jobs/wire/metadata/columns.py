"""A metadata log as columns, millions of records a second; `jobs.wire.metadata.log` has them one by one.

Every record has a row with its place, type and the place of its value. The records that come in bulk or that
partitions depend on have typed columns beside it; the others are for `jobs.wire.metadata.records` to decode,
which redacts as it does so: the bytes that stand here are as Kafka wrote them. Source: KIP-500, KIP-631.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from jobs.wire.batches.log_batches import (
    BatchAt,
    BytesSource,
    DamageKind,
    LogDamage,
    expansion_limit_bytes,
    scan_batches,
)
from jobs.wire.batches.record_batch import COMPRESSION_MASK, CONTROL_MASK, HEADER_BYTES, BatchHeader
from jobs.wire.batches.records import SHORTEST_RECORD_BYTES, records_body
from jobs.wire.errors import RecordFormatError
from jobs.wire.metadata import table as t
from jobs.wire.metadata.log import batch_records
from jobs.wire.metadata.table import Bytes, Int64s, Tables

# How much of a log is read into one set of columns: enough to be quick, little enough to hold several.
ROOM_BYTES = 8 * 1024 * 1024
_ROOM_BATCHES = 1 << 16


@dataclass(frozen=True, slots=True)
class MetadataColumns:
    """Some batches of a log in a row, as columns of `jobs.wire.metadata.table`.

    `batches` has a row for each. `content` is what the places of values, names and directory
    ids point into: the log, or what a compressed batch expands to. `damage` is in the order of the log.
    """

    content: Bytes
    batches: Int64s
    tables: Tables
    damage: tuple[LogDamage, ...] = ()

    def __len__(self) -> int:
        return int(self.tables.records.shape[1])

    @property
    def offset(self) -> Int64s:
        found: Int64s = self.tables.records[t.OFFSET]
        return found

    @property
    def timestamp_ms(self) -> Int64s:
        """Times of the records, by the clock of the active controller."""
        found: Int64s = self.tables.records[t.TIMESTAMP]
        return found

    @property
    def type(self) -> Int64s:
        """The apiKey of each record, of control records their type; -1 for a frame that is none."""
        found: Int64s = self.tables.records[t.TYPE]
        return found

    @property
    def version(self) -> Int64s:
        """The version of each record; -1 for a frame that is none."""
        found: Int64s = self.tables.records[t.VERSION]
        return found

    @property
    def epoch(self) -> Int64s:
        """The raft epoch of each record."""
        return self._of_batch(t.EPOCH)

    @property
    def position(self) -> Int64s:
        """The byte of the log where the batch of each record begins."""
        return self._of_batch(t.POSITION)

    @property
    def is_control(self) -> Bytes:
        """1 for the control records of the quorum, 0 for metadata."""
        return (self._of_batch(t.ATTRIBUTES) & CONTROL_MASK).astype(bool).view(np.uint8)

    @property
    def unknown_tags(self) -> int:
        """How many tagged fields of typed records are unknown here and were passed by."""
        return int(self.tables.counts[t.UNKNOWN_TAGS])

    def value(self, row: int) -> bytes:
        """Return the value of a record as Kafka wrote it, secrets and all."""
        at, size = self.tables.records[t.VALUE_AT : t.VALUE_BYTES + 1, row].tolist()
        return bytes(self.content[at : at + max(size, 0)])

    def list_of(self, which: int, row: int) -> tuple[int, ...] | None:
        """Return a list (`table.ISR` ...) of a row of the partitions; None for null."""
        tables = self.tables
        if not tables.valid[which, row]:
            return None
        begin, end = tables.ends[which, row : row + 2].tolist()
        return tuple(tables.values[which, begin:end].tolist())

    def name_of(self, row: int) -> str:
        """Return the name in a row of the topics, "" where the record has none."""
        at, size = self.tables.topics[t.NAME_AT : t.NAME_BYTES + 1, row].tolist()
        return bytes(self.content[at : at + max(size, 0)]).decode("utf-8", "replace")

    def _of_batch(self, field: int) -> Int64s:
        found: Int64s = self.batches[self.tables.records[t.BATCH], field]
        return found


class Loops(Protocol):
    """What reads records: `jobs.wire.metadata.compiled`, and the oracle of the tests."""

    def scan(
        self, content: Bytes, start: Int64s, table: Int64s, room_bytes: int, *, with_crc: bool
    ) -> int:
        """Fill rows of batches, return how many, and move `start` (`table.AT` ...) behind them."""

    def decode(self, content: Bytes, table: Int64s, tables: Tables) -> None:
        """Read the records of the batches; of a malformed one, those before the fault."""


def compiled_loops() -> Loops:
    """Return the compiled loops, which numba takes seconds to make the first time."""
    from jobs.wire.metadata import compiled

    return compiled


def read_columns(
    content: bytes | memoryview | Bytes,
    *,
    byte_range: tuple[int, int] | None = None,
    expected_offset: int | None = None,
    epoch_before: int | None = None,
    loops: Loops | None = None,
    room_bytes: int = ROOM_BYTES,
) -> Iterator[MetadataColumns]:
    """Yield a log segment or snapshot as columns, about `room_bytes` of it at a time, in its order.

    `byte_range` are bytes from one batch's begin to another's; `expected_offset` is that of its first record,
    `epoch_before` the epoch of the batch before it, where they are known. Records and damage are those of
    `jobs.wire.metadata.log.read_log`: what is out of the ordinary, and what follows it, is left to its scan.
    A compressed batch has columns of its own.
    """
    loops = loops or compiled_loops()
    log = _array(content)
    at, end = byte_range or (0, len(log))
    expected = t.UNKNOWN if expected_offset is None else expected_offset
    epoch = t.UNKNOWN if epoch_before is None else epoch_before
    start = np.array([at, expected, t.FULL, epoch], np.int64)
    table = _room_for(end - at)
    while start[t.WHY] == t.FULL:
        filled = loops.scan(log[:end], start, table, room_bytes, with_crc=True)
        if expected == t.UNKNOWN and filled == 1 and start[t.WHY] == t.EXTRAORDINARY:
            # One of two offsets is wrong, and it may be the first.
            start[: t.WHY], start[t.LAST_EPOCH], filled = (at, expected), epoch, 0
        yield from _runs(log, table[:filled].copy(), loops)
        expected, epoch = int(start[t.EXPECTED]), int(start[t.LAST_EPOCH])
    if start[t.WHY] == t.EXTRAORDINARY:
        yield from _slowly(log, start, end, loops, room_bytes)


def read_values(content: Bytes, batches: Int64s, rows: Int64s) -> MetadataColumns:
    """Return columns of records whose rows (`table.OFFSET` ...) are known, from their values in `content`."""
    from jobs.wire.metadata import compiled

    tables = t.room(rows.shape[1], len(content))._replace(records=rows)
    tables.counts[t.RECORDS] = rows.shape[1]
    compiled.decode_values(content, tables)
    return MetadataColumns(content, batches, _filled(tables))


class Cut(NamedTuple):
    """A place between two batches: the offset behind it, epoch and records of the batch before it."""

    at: int
    offset: int
    epoch: int
    records: int


def cuts(
    content: Bytes, expected_offset: int, room_bytes: int, loops: Loops | None = None
) -> Iterator[Cut]:
    """Yield places about `room_bytes` apart at which a segment may be cut, by the headers of its batches.

    The last one is its end, or where what is ordinary ends.
    """
    loops = loops or compiled_loops()
    start = np.array([0, expected_offset, t.FULL, t.UNKNOWN], np.int64)
    table = _room_for(len(content))
    while start[t.WHY] == t.FULL:
        filled = loops.scan(content, start, table, room_bytes, with_crc=False)
        if filled:
            at, offset, epoch = start[[t.AT, t.EXPECTED, t.LAST_EPOCH]].tolist()
            yield Cut(at, offset, epoch, int(table[filled - 1, t.COUNT]))


def _room_for(size_bytes: int) -> Int64s:
    most = min(_ROOM_BATCHES, size_bytes // HEADER_BYTES + 1)
    return np.empty((most, t.BATCH_FIELDS), np.int64)


def _array(content: bytes | memoryview | Bytes) -> Bytes:
    return np.frombuffer(content, np.uint8) if len(content) else np.empty(0, np.uint8)


def _slowly(
    log: Bytes, start: Int64s, end: int, loops: Loops, room_bytes: int
) -> Iterator[MetadataColumns]:
    """Continue as `scan_batches` does, which finds the next batch after damage."""
    at, *known = start[[t.AT, t.EXPECTED, t.LAST_EPOCH]].tolist()
    expected, epoch = (None if one == t.UNKNOWN else one for one in known)
    rows: list[tuple[int, ...]] = []
    taken = 0
    source = BytesSource(log.data)
    for found in scan_batches(source, expected_offset=expected, start=at, epoch=epoch):
        if found.position >= end:
            break
        if isinstance(found, BatchAt):
            rows.append(_row(found))
            taken += found.header.size_bytes
            if taken < room_bytes:
                continue
        yield from _runs(log, _table(rows), loops)
        rows, taken = [], 0
        if isinstance(found, LogDamage):
            yield _only_damage(log, found)
    yield from _runs(log, _table(rows), loops)


def _row(batch: BatchAt) -> tuple[int, ...]:
    """Return the row of a batch; see `table` for the fields."""
    header, at = batch.header, batch.position
    return (
        at,
        header.size_bytes,
        header.base_offset,
        header.partition_leader_epoch,
        header.attributes,
        header.last_offset_delta,
        header.base_timestamp,
        header.max_timestamp,
        header.record_count,
        1,
        at + HEADER_BYTES,
        at + header.size_bytes,
        0,
    )


def _table(rows: list[tuple[int, ...]]) -> Int64s:
    return np.array(rows, np.int64).reshape(-1, t.BATCH_FIELDS)


def _runs(log: Bytes, table: Int64s, loops: Loops) -> Iterator[MetadataColumns]:
    """Decode batches that stand in the log as they are together, compressed ones each for itself."""
    is_compressed = table[:, t.ATTRIBUTES] & COMPRESSION_MASK != 0
    is_border = is_compressed | np.r_[True, is_compressed[:-1]][: len(table)]
    for begin, end in pairwise([*np.flatnonzero(is_border).tolist(), len(table)]):
        yield (_expanded if is_compressed[begin] else _decoded)(log, table[begin:end], loops)


def _expanded(log: Bytes, table: Int64s, loops: Loops) -> MetadataColumns:
    """Expand the one batch of a table and decode it; of one that does not expand, there is no record."""
    batch = _batch_at(log, table[0])
    try:
        limit = expansion_limit_bytes(batch.header)
        body = bytes(records_body(batch.header, batch.content, limit))
    except RecordFormatError as error:
        damage = LogDamage(
            batch.position, batch.header.base_offset, DamageKind.UNDECODABLE_BATCH, str(error)
        )
        return _only_damage(log, damage)
    table[0, t.START], table[0, t.END] = 0, len(body)
    return _decoded(np.frombuffer(body or b"\0", np.uint8), table, loops, log)


def _decoded(
    content: Bytes, table: Int64s, loops: Loops, log: Bytes | None = None
) -> MetadataColumns:
    body_bytes = table[:, t.END] - table[:, t.START]
    # A count that cannot be ends its batch before it makes the tables larger.
    counts = np.minimum(table[:, t.COUNT], body_bytes // SHORTEST_RECORD_BYTES)
    tables = t.room(int(counts.sum()) + 1, int(body_bytes.sum()))
    loops.decode(content, table, tables)
    unsound = table[table[:, t.IS_SOUND] == 0]
    damage = tuple(_malformed(content if log is None else log, row) for row in unsound)
    return MetadataColumns(content, table, _filled(tables), damage)


def _malformed(log: Bytes, row: Int64s) -> LogDamage:
    """Say what is wrong with a batch, in the words of the slow way."""
    *_, last = batch_records(_batch_at(log, row))
    if not isinstance(last, LogDamage):
        problem = "its records do not fill it, for the compiled loop alone"
        return LogDamage(
            int(row[t.POSITION]), int(row[t.BASE_OFFSET]), DamageKind.UNDECODABLE_BATCH, problem
        )
    return last


def _batch_at(log: Bytes, row: Int64s) -> BatchAt:
    at, size = row[t.POSITION : t.SIZE + 1].tolist()
    content = log[at : at + size].data
    return BatchAt(at, BatchHeader.decode(content), content)


def _only_damage(log: Bytes, damage: LogDamage) -> MetadataColumns:
    return MetadataColumns(log, _table([]), _filled(t.room(0, 0)), (damage,))


def _filled(tables: Tables) -> Tables:
    """Return what is filled of the tables."""
    records, partitions, brokers, topics = tables.counts[: t.TOPICS + 1].tolist()
    listed = int(tables.ends[:, partitions].max())
    return Tables(
        tables.records[:, :records],
        tables.partitions[:, :partitions],
        tables.ends[:, : partitions + 1],
        tables.valid[:, :partitions],
        tables.values[:, :listed],
        tables.brokers[:, :brokers],
        tables.topics[:, :topics],
        tables.counts,
    )
