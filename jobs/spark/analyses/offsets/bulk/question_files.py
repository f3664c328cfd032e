"""Lists of offsets that somebody uploads, in parts: CSV or Parquet of (group,) topic, partition, offset.

A part is a span of bytes or rows: what is in memory is bounded by it. The file is in a folder that driver and
tasks share.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.parquet as pq  # type: ignore[import-untyped] # as above

from jobs.cluster.errors import InvalidFields
from jobs.spark.analyses.offsets.bulk.question_rows import (
    NAMES,
    NEEDED,
    Layout,
    Read,
    cells_of,
    is_text,
    read_lines,
    read_rows,
)

FIELD = "offsets"
# Each part reads all of the offset syncs that it needs: as few parts as memory and tasks allow.
FEWEST_BYTES, MOST_BYTES = 1 << 20, 16 << 20
FEWEST_ROWS, MOST_ROWS = 50_000, 800_000
_PARQUET = b"PAR1"
_BOM = b"\xef\xbb\xbf"
_SEPARATORS = ("\t", ";", ",")
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class CsvPart:
    """The bytes `start` to `end` of a file, which begin with line `line`."""

    path: Path
    start: int
    end: int
    line: int
    layout: Layout

    def read(self) -> Read:
        """Return the questions of this part."""
        with self.path.open("rb") as file:
            file.seek(self.start)
            return read_lines(file.read(self.end - self.start), self.layout, self.line)


@dataclass(frozen=True, slots=True)
class ParquetPart:
    """The rows `start` to `end` of a row group, which begin with row `line` of the file."""

    path: Path
    group: int
    start: int
    end: int
    line: int

    def read(self) -> Read:
        """Return the questions of this part."""
        with pq.ParquetFile(self.path) as file:
            columns = [name for name in NAMES if name in file.schema_arrow.names]
            skip, left, found = self.start, self.end - self.start, []
            for batch in file.iter_batches(FEWEST_ROWS, row_groups=[self.group], columns=columns):
                piece = batch.slice(min(skip, len(batch)), left)
                skip, left = skip - min(skip, len(batch)), left - len(piece)
                found.append(piece)
                if not left:
                    break
            return read_rows(pa.Table.from_batches(found), self.line)


Part = CsvPart | ParquetPart


def parts_of(path: Path, tasks: int = 1) -> list[Part]:
    """Return the parts of a list, for so many tasks at once; raises InvalidFields where it is none."""
    try:
        with path.open("rb") as file:
            head = file.read(FEWEST_BYTES)
        size = path.stat().st_size
    except OSError as error:
        raise _refusal(f"It cannot be read: {error.strerror}.") from None
    parts = (
        _parquet_parts(path, tasks)
        if head.startswith(_PARQUET)
        else _csv_parts(path, head, _share(size, tasks))
    )
    if not parts:
        raise _refusal("There is nothing in it.")
    return parts


def _refusal(text: str) -> InvalidFields:
    return InvalidFields({FIELD: text})


def _csv_parts(path: Path, head: bytes, size: int) -> list[Part]:
    if b"\0" in head:
        raise _refusal("It is neither text nor Parquet: it holds a zero byte.")
    begin = len(_BOM) if head.startswith(_BOM) else 0
    spans = list(_spans(path, begin, size))
    lines = (raw.decode("utf-8", "replace") for raw in head[begin:].splitlines())
    first = next((line for line in lines if line.strip()), "")
    separator = next((sign for sign in _SEPARATORS if sign in first), ",")
    try:
        cells = cells_of(first, separator) or [""]
    except csv.Error as problem:
        raise _refusal(f"Its first line is no line of a table: {problem}.") from None
    lowered = tuple(cell.strip().lower() for cell in cells)
    names = lowered if set(NEEDED) <= set(lowered) else ()
    layout = Layout(separator, names, len(cells))
    return [CsvPart(path, start, end, line, layout) for start, end, line in spans]


def _share(size: int, tasks: int) -> int:
    return min(max(-(-size // tasks) + 1, FEWEST_BYTES), MOST_BYTES)


def _spans(path: Path, begin: int, most: int) -> Iterator[tuple[int, int, int]]:
    """Yield spans of whole lines: where they begin and end, and the number of the first line."""
    start, line = begin, 1
    with path.open("rb") as file:
        while True:
            file.seek(start)
            block = file.read(most)
            if not block:
                return
            is_last = len(block) < most
            size = len(block) if is_last else block.rfind(b"\n") + 1
            if not size:
                raise _refusal(
                    f"Line {line:,} is longer than {most >> 20} MB: this is no list of offsets."
                )
            yield start, start + size, line
            line += block.count(b"\n", 0, size)
            start += size


def _parquet_parts(path: Path, tasks: int) -> list[Part]:
    try:
        with pq.ParquetFile(path) as file:
            _check_columns(file.schema_arrow)
            sizes = [file.metadata.row_group(at).num_rows for at in range(file.num_row_groups)]
    except (pa.ArrowException, OSError) as error:
        raise _refusal(
            f"It begins like Parquet and cannot be read: {str(error)[:_SHOWN]}"
        ) from None
    parts, line = list[Part](), 1
    for group, size in enumerate(sizes):
        step = min(max(-(-size // tasks), FEWEST_ROWS), MOST_ROWS)
        for start in range(0, size, step):
            end = min(start + step, size)
            parts.append(ParquetPart(path, group, start, end, line + start))
        line += size
    return parts


def _check_columns(schema: pa.Schema) -> None:
    missing = [name for name in NEEDED if name not in schema.names]
    if missing:
        there = ", ".join(schema.names[:20]) or "none"
        raise _refusal(f"It has no column {missing[0]}: topic, partition, offset, not {there}.")
    for name in NAMES:
        if name not in schema.names:
            continue
        kind = schema.field(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        is_number = name in {"partition", "offset"}
        is_right = pa.types.is_integer(kind) if is_number else is_text(kind)
        if not is_right:
            wanted = "whole numbers are" if is_number else "text is"
            raise _refusal(f"Its column {name} is of the type {kind}: {wanted} needed.")
