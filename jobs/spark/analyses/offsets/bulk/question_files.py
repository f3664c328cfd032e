"""Lists of offsets that somebody uploads, in parts: CSV or Parquet of (group,) topic, partition, offset.

A part is a span of bytes or rows, and is read a block at a time. What a file says of its own size is not
believed: it is compared with what the file can hold, and with bounds. The file is in a folder that driver
and tasks share.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.compute as pc  # type: ignore[import-untyped] # as above
import pyarrow.parquet as pq  # type: ignore[import-untyped] # as above

from jobs.cluster.errors import InvalidFields
from jobs.numbers import format_bytes
from jobs.replication.translation.questions import FIRST_ROWS, LONGEST_GROUP, MOST_REFUSED_FIRST
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
# Of a list without a given limit of rows.
MOST_ROWS = 50_000_000
# Each part reads all of the offset syncs that it needs: as few parts as memory and tasks allow.
FEWEST_BYTES, MOST_BYTES = 1 << 20, 16 << 20
FEWEST_ROWS, MOST_ROWS_OF_A_PART = 50_000, 800_000
# A list is given up when so many rows of one part are refused.
MOST_REFUSED = 100_000
# Row groups of Parquet beyond the first ones have so many rows each, on average.
MOST_GROUPS, FEWEST_ROWS_OF_A_GROUP = 1_000, 1_000
# Of Parquet: the largest description of itself, and what a column takes beside its values.
MOST_FOOTER_BYTES, BESIDE_BYTES = 8 << 20, 1 << 20
_BLOCK = 1 << 20
_PARQUET = b"PAR1"
_TAIL_BYTES = 8
_BOM = b"\xef\xbb\xbf"
_SEPARATORS = ("\t", ";", ",")
_SHOWN = 200
# Of whole numbers, and of a text of the longest names, with its length.
_NUMBER_BYTES, _TEXT_BYTES = 8, 4 * LONGEST_GROUP + 4


@dataclass(frozen=True, slots=True)
class CsvPart:
    """The bytes `start` to `end` of a file, which begin with line `line`."""

    path: Path
    start: int
    end: int
    line: int
    layout: Layout

    def read(self, most_refused: int = MOST_REFUSED) -> Iterator[Read]:
        """Yield the questions of this part, a block of lines at a time; `most_refused` ends a block."""
        line = self.line
        for block in _blocks(self.path, self.start, self.end, line):
            yield read_lines(block, self.layout, line, most_refused)
            line += block.count(b"\n")


@dataclass(frozen=True, slots=True)
class ParquetPart:
    """So many `rows` of the row groups `first` to `end`, behind `skip`, which begin with row `line`."""

    path: Path
    first: int
    end: int
    skip: int
    rows: int
    line: int

    def read(self, most_refused: int = MOST_REFUSED) -> Iterator[Read]:
        """Yield the questions of this part, a block at a time; raises InvalidFields for fewer rows."""
        skip, left, line = self.skip, self.rows, self.line
        with _opened(self.path) as file:
            columns = [name for name in NAMES if name in file.schema_arrow.names]
            groups = range(self.first, self.end)
            for batch in file.iter_batches(
                FEWEST_ROWS, row_groups=groups, columns=columns, use_threads=False
            ):
                piece = batch.slice(min(skip, len(batch)), left)
                skip, left = skip - min(skip, len(batch)), left - len(piece)
                if len(piece):
                    yield read_rows(piece, line, most_refused)
                line += len(piece)
                if not left:
                    return
        raise refusal(f"It claims {left:,} more rows than there are in it.")


Part = CsvPart | ParquetPart


def refusal(text: str) -> InvalidFields:
    """Return what is said at the argument of a list."""
    return InvalidFields({FIELD: text})


def parts_of(path: Path, tasks: int = 1, most_rows: int = MOST_ROWS) -> list[Part]:
    """Return the parts of a list, for so many tasks at once; raises InvalidFields where it is none.

    Its first rows are read, and what it claims to hold is checked.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_BLOCK)
        size = path.stat().st_size
    except OSError as error:
        raise refusal(f"It cannot be read: {error.strerror}.") from None
    parts: list[Part] = list(
        _parquet_parts(path, size, tasks, most_rows)
        if head.startswith(_PARQUET)
        else _csv_parts(path, head, _share(size, tasks), most_rows)
    )
    _check_first_rows(parts)
    return parts


def _check_first_rows(parts: list[Part]) -> None:
    """Raise InvalidFields for a list without rows, and for one that holds mostly something else."""
    rows, refused = 0, 0
    for read in (one for part in parts for one in part.read(MOST_REFUSED_FIRST)):
        if refused + len(read.refused) >= MOST_REFUSED_FIRST:
            last = read.refused["line"][MOST_REFUSED_FIRST - refused - 1].as_py()
            before = pc.sum(pc.less(read.questions["line"], last)).as_py() or 0
            if rows + before + MOST_REFUSED_FIRST - refused <= FIRST_ROWS:
                raise refusal(
                    f"{MOST_REFUSED_FIRST:,} of its first {FIRST_ROWS:,} rows are refused, so the rest was "
                    f"not read. Row {last:,}: {read.refused['reason'][-1].as_py()}"
                )
        rows += len(read.questions) + len(read.refused)
        refused += len(read.refused)
        if rows >= FIRST_ROWS:
            return
    if not rows:
        raise refusal("There is nothing in it.")


def _csv_parts(path: Path, head: bytes, size: int, most_rows: int) -> Iterator[CsvPart]:
    if b"\0" in head:
        raise refusal("It is neither text nor Parquet: it holds a zero byte.")
    begin = len(_BOM) if head.startswith(_BOM) else 0
    lines = (raw.decode("utf-8", "replace") for raw in head[begin:].splitlines())
    first = next((line for line in lines if line.strip()), "")
    separator = next((sign for sign in _SEPARATORS if sign in first), ",")
    try:
        cells = cells_of(first, separator) or [""]
    except csv.Error as problem:
        raise refusal(f"Its first line is no line of a table: {problem}.") from None
    lowered = tuple(cell.strip().lower() for cell in cells)
    names = lowered if set(NEEDED) <= set(lowered) else ()
    layout = Layout(separator, names, len(cells))
    end, line, first_line = begin, 1, 1
    for block in _blocks(path, begin, path.stat().st_size, line):
        if end - begin + len(block) > size and end > begin:
            yield CsvPart(path, begin, end, first_line, layout)
            begin = end
            first_line = line
        end, line = end + len(block), line + block.count(b"\n")
        if line - 1 > most_rows:
            raise refusal(f"It has more lines, and at most {most_rows:,} are taken: split it.")
    if end > begin:
        yield CsvPart(path, begin, end, first_line, layout)


def _share(size: int, tasks: int) -> int:
    return min(max(-(-size // tasks) + _BLOCK, FEWEST_BYTES), MOST_BYTES)


def _blocks(path: Path, start: int, end: int, line: int) -> Iterator[bytes]:
    """Yield whole lines, up to a block of them at a time; raises InvalidFields for a line that is longer."""
    with path.open("rb") as file:
        while start < end:
            file.seek(start)
            block = file.read(min(_BLOCK, end - start))
            if not block:
                return
            if start + len(block) < end:
                block = block[: block.rfind(b"\n") + 1]
            if not block:
                raise refusal(
                    f"Line {line:,} is longer than {_BLOCK >> 20} MB: this is no list of offsets."
                )
            yield block
            start, line = start + len(block), line + block.count(b"\n")


def _parquet_parts(path: Path, size: int, tasks: int, most_rows: int) -> Iterator[ParquetPart]:
    with _opened(path) as file:
        groups = [file.metadata.row_group(at) for at in range(file.num_row_groups)]
        sizes = [group.num_rows for group in groups]
        if min(sizes, default=0) < 0 or sum(sizes) > most_rows:
            raise refusal(
                f"It claims {sum(sizes):,} rows, and at most {most_rows:,} are taken: split it."
            )
        if len(sizes) > MOST_GROUPS + sum(sizes) // FEWEST_ROWS_OF_A_GROUP:
            raise refusal(f"It has {len(sizes):,} row groups: write it again with larger ones.")
        for at, group in enumerate(groups):
            _check_group(at + 1, group, size)
    step = min(max(-(-sum(sizes) // tasks), FEWEST_ROWS), MOST_ROWS_OF_A_PART)
    return _spans(path, sizes, step)


def _spans(path: Path, sizes: list[int], step: int) -> Iterator[ParquetPart]:
    """Yield parts of up to so many rows: small row groups together, large ones cut."""
    first, together, line = 0, 0, 1
    for at, size in enumerate(sizes):
        if together and together + size > step:
            yield ParquetPart(path, first, at, 0, together, line)
            line, together = line + together, 0
        if not together:
            first = at
        if size <= step:
            together += size
            continue
        for start in range(0, size, step):
            rows = min(step, size - start)
            yield ParquetPart(path, at, at + 1, start, rows, line)
            line += rows
    if together:
        yield ParquetPart(path, first, len(sizes), 0, together, line)


def _check_group(number: int, group: pq.RowGroupMetaData, size: int) -> None:
    """Raise InvalidFields where a row group claims what a file of this size, or its own rows, cannot hold."""
    for column in (group.column(at) for at in range(group.num_columns)):
        name = column.path_in_schema
        if name not in NAMES:
            continue
        value_bytes = _NUMBER_BYTES if name in {"partition", "offset"} else _TEXT_BYTES
        start = column.dictionary_page_offset or column.data_page_offset
        if start < 0 or not 0 <= column.total_compressed_size <= size - start:
            raise refusal(
                f"Its column {name} claims {column.total_compressed_size:,} bytes in row group {number:,}: "
                f"more than the file has, {size:,}."
            )
        if column.num_values != group.num_rows:
            raise refusal(
                f"Its column {name} claims {column.num_values:,} values for {group.num_rows:,} rows in row "
                f"group {number:,}."
            )
        if column.total_uncompressed_size > group.num_rows * value_bytes + BESIDE_BYTES:
            raise refusal(
                f"Its column {name} claims {format_bytes(column.total_uncompressed_size)} for "
                f"{group.num_rows:,} rows in row group {number:,}: values are too long."
            )


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file whose description of itself is bounded and has the columns that are needed.

    Its texts come as dictionaries. Raises InvalidFields, for what is found while it is read, too.
    """
    _check_footer(path)
    try:
        with pq.ParquetFile(path) as described:
            schema, known = described.schema_arrow, described.metadata
        _check_columns(schema)
        texts = [name for name in ("group", "topic") if name in schema.names]
        with pq.ParquetFile(
            path, metadata=known, read_dictionary=texts, buffer_size=_BLOCK
        ) as file:
            yield file
    except MemoryError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, InvalidFields):
            raise
        raise refusal(f"It begins like Parquet and cannot be read: {str(error)[:_SHOWN]}") from None


def _check_footer(path: Path) -> None:
    with path.open("rb") as file:
        size = path.stat().st_size
        file.seek(max(0, size - _TAIL_BYTES))
        tail = file.read()
    length = int.from_bytes(tail[:4], "little")
    if not tail.endswith(_PARQUET) or length > size - _TAIL_BYTES - len(_PARQUET):
        raise refusal("It begins like Parquet and cannot be read: its end is missing.")
    if length > MOST_FOOTER_BYTES:
        raise refusal(
            f"Its row groups take {format_bytes(length)} to describe, and at most "
            f"{format_bytes(MOST_FOOTER_BYTES)} are read: write it with fewer and larger ones."
        )


def _check_columns(schema: pa.Schema) -> None:
    missing = [name for name in NEEDED if name not in schema.names]
    if missing:
        there = ", ".join(schema.names[:20])[:_SHOWN] or "none"
        raise refusal(f"It has no column {missing[0]}: topic, partition, offset, not {there}.")
    for name in NAMES:
        if name not in schema.names:
            continue
        if schema.names.count(name) > 1:
            raise refusal(f"It has more than one column {name}.")
        kind = schema.field(name).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        is_number = name in {"partition", "offset"}
        is_right = pa.types.is_integer(kind) if is_number else is_text(kind)
        if not is_right:
            wanted = "whole numbers are" if is_number else "text is"
            raise refusal(
                f"Its column {name} is of the type {str(kind)[:_SHOWN]}: {wanted} needed."
            )
