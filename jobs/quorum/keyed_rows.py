"""Rows that each hold the state of one thing from an offset on, found by offset without reading them all.

Rows stand sorted by key, and of one key in the order of the log. What was so at an offset is, of each key,
the last row at or before it. Kept as Arrow files that are mapped into memory: opening one reads no rows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped] # it has no types
from pyarrow import ipc

Int64s = npt.NDArray[np.int64]
Row = Mapping[str, Any]

# Rows wait as Python objects in pieces of this size; the rest is compact already.
_PIECE = 8192
KEY, OFFSET, REMOVED = "key", "offset", "removed"


def schema_of(*fields: pa.Field) -> pa.Schema:
    """Return a schema with the columns that all keyed rows have: key, offset, removed."""
    return pa.schema(
        [
            pa.field(KEY, pa.int32(), nullable=False),
            pa.field(OFFSET, pa.int64(), nullable=False),
            pa.field(REMOVED, pa.bool_(), nullable=False),
            *fields,
        ]
    )


class RowsBuilder:
    """Takes rows in the order of the log; `key_of` tells from a row what it is about."""

    def __init__(self, schema: pa.Schema, key_of: Callable[[Row], Hashable]) -> None:
        self._schema = schema
        self._key_of = key_of
        self._keys: dict[Hashable, int] = {}
        self._waiting: list[Row] = []
        self._pieces: list[pa.RecordBatch] = []
        self.count = 0

    def add(self, row: Row) -> None:
        """Take the next row."""
        self._waiting.append({**row, KEY: self._number_of(row)})
        self.count += 1
        if len(self._waiting) >= _PIECE:
            self._settle()

    def table(self) -> pa.Table:
        """Return all rows so far, sorted by key and in the order of the log."""
        self._settle()
        table = pa.Table.from_batches(self._pieces, self._schema)
        key, offset = (table[name].to_numpy() for name in (KEY, OFFSET))
        return table.take(pa.array(np.lexsort((offset, key)))).combine_chunks()

    def carried(self) -> RowsBuilder:
        """Return a builder that begins with what is so now: the last row of everything that is there."""
        builder = RowsBuilder(self._schema, self._key_of)
        rows = KeyedRows(self.table())
        for row in rows.table.take(pa.array(rows.last_rows(None))).to_pylist():
            builder.add(row)
        builder.count = 0
        return builder

    def _number_of(self, row: Row) -> int:
        return self._keys.setdefault(self._key_of(row), len(self._keys))

    def _settle(self) -> None:
        if self._waiting:
            self._pieces.append(pa.RecordBatch.from_pylist(self._waiting, self._schema))
            self._waiting.clear()


class KeyedRows:
    """Rows sorted by key; answers which of them held at an offset."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self.offsets: Int64s = self._numbers(OFFSET)
        self.removed: npt.NDArray[np.bool_] = self._column(REMOVED).to_numpy(zero_copy_only=False)
        key = self._numbers(KEY)
        begins = np.ones(len(key), np.bool_)
        begins[1:] = key[1:] != key[:-1]
        self.first_rows: Int64s = np.flatnonzero(begins)

    def last_rows(self, offset: int | None) -> Int64s:
        """Return, of each key that was there at an offset (None: now), the row that held."""
        if not len(self.first_rows):
            return np.empty(0, np.int64)
        ends = np.append(self.first_rows[1:], len(self.offsets))
        counts = ends - self.first_rows
        if offset is not None:
            counts = np.add.reduceat((self.offsets <= offset).astype(np.int64), self.first_rows)
        rows: Int64s = (self.first_rows + counts - 1)[counts > 0]
        return rows[~self.removed[rows]]

    def rows(self, numbers: Int64s) -> Iterator[dict[str, Any]]:
        """Yield rows as dictionaries."""
        yield from self.table.take(pa.array(numbers)).to_pylist()

    def _column(self, name: str) -> pa.Array:
        column = self.table[name]
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()

    def _numbers(self, name: str) -> Int64s:
        found: Int64s = np.asarray(self.table[name].to_numpy())
        return found

    def numbers(self, name: str) -> Int64s:
        """Return a column of numbers without nulls."""
        return self._numbers(name)

    def lengths(self, name: str) -> Int64s:
        """Return how long the lists of a column are."""
        found: Int64s = self._column(name).value_lengths().to_numpy(zero_copy_only=False)
        return found


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table as one batch, so that it can be mapped without being copied."""
    with pa.OSFile(str(path), "wb") as sink, ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())


def map_table(path: Path) -> pa.Table:
    """Map a table into memory; raises OSError or pa.ArrowInvalid when it is none."""
    with pa.memory_map(str(path)) as source:
        return ipc.open_file(source).read_all()
