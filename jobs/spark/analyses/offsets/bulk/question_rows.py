"""Rows of a list of offsets, read in arrays.

What is plainly right is read at once; every other row goes through `jobs.replication.translation.questions`,
so that the same rows are refused in the same words. A quoted value ends with its line. Of rows that are
refused only the first are kept; texts are looked at before they are copied for each row.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.compute as pc  # type: ignore[import-untyped] # as above

from jobs.replication.translation.questions import (
    HIGHEST_OFFSET,
    HIGHEST_PARTITION,
    LONGEST_GROUP,
    LONGEST_TOPIC,
    Questions,
)

NAMES = ("group", "topic", "partition", "offset")
NEEDED = NAMES[1:]
QUESTIONS = pa.schema(
    [
        ("line", pa.int64()),
        ("group", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int64()),
        ("offset", pa.int64()),
    ]
)
REFUSED = pa.schema([("line", pa.int64()), ("text", pa.string()), ("reason", pa.string())])
SHOWN = 200
# Numbers of fewer digits than the highest that there may be; all others are looked at one by one.
_PARTITION, _OFFSET = r"^[0-9]{1,9}$", r"^[0-9]{1,18}$"
Bools = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]


class Read(NamedTuple):
    """What a part holds, both in the order of their lines; see `QUESTIONS` and `REFUSED`."""

    questions: pa.Table
    refused: pa.Table


class Layout(NamedTuple):
    """How a CSV is written; `names`: what its fields are, by its first row.

    Without a line of names (`names` empty) a row has three fields, or four with the group first. `fields` is
    how many the first row has.
    """

    separator: str
    names: tuple[str, ...]
    fields: int

    def names_of(self, fields: int) -> tuple[str, ...]:
        """Return what the fields of a row are."""
        return self.names or (NAMES if fields == len(NAMES) else NEEDED)


def read_lines(data: bytes, layout: Layout, first: int, most_refused: int) -> Read:
    """Return the questions of some lines of a CSV; `first` is the number of the first one.

    What follows the row that is the last to be refused, by `most_refused`, may not be there.
    """
    lines = _lines(data)
    is_filled = pc.greater(pc.utf8_length(_trimmed(lines)), 0)
    numbers = first + np.flatnonzero(is_filled.to_numpy(zero_copy_only=False))
    lines = lines.filter(is_filled)
    is_split = pc.and_(
        pc.equal(pc.count_substring(lines, layout.separator), layout.fields - 1),
        pc.invert(pc.match_substring(lines, '"')),
    ).to_numpy(zero_copy_only=False)
    names = layout.names_of(layout.fields)
    if len(names) != layout.fields:
        is_split[:] = False
    if layout.names and len(lines) and first == 1:
        lines, numbers, is_split = lines.slice(1), numbers[1:], is_split[1:]
    cells = pc.split_pattern(lines.filter(pa.array(is_split)), layout.separator).flatten()
    width = len(names)
    columns = {
        name: _trimmed(cells.take(pa.array(np.arange(at, len(cells), width))))
        for at, name in enumerate(names)
        if name in NAMES
    }
    found = _plain(columns, numbers[is_split])
    is_unusual = ~is_split
    is_unusual[np.flatnonzero(is_split)[~found.is_right]] = True
    unusual = np.flatnonzero(is_unusual)
    texts = lines.take(pa.array(unusual)).to_pylist()
    rows = zip(numbers[unusual].tolist(), texts, strict=True)
    return _with_unusual(found.table, _odd_lines(layout, rows, most_refused))


def _lines(data: bytes) -> pa.Array:
    """Return the lines of a text, without copying it; what is no UTF-8 has signs that stand for it."""
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) + 1
    if data and not data.endswith(b"\n"):
        ends = np.append(ends, len(data))
    offsets = np.concatenate(([0], ends)).astype(np.int32)
    lines = pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(data))
    try:
        lines.validate(full=True)
    except pa.ArrowInvalid:
        return _lines(data.decode("utf-8", "replace").encode())
    return lines


def _trimmed(texts: pa.Array) -> pa.Array:
    return pc.utf8_trim_whitespace(texts)


class _Plain(NamedTuple):
    """Rows that are right, and which of those that were looked at they are."""

    table: pa.Table
    is_right: Bools


def _plain(columns: Mapping[str, pa.Array], lines: Numbers) -> _Plain:
    """Return what is plainly right of rows of trimmed texts."""
    topic, partition, offset = (columns[name] for name in NEEDED)
    group = columns.get("group")
    is_right = _all(
        *_are_names(topic, group),
        pc.match_substring_regex(partition, _PARTITION),
        pc.match_substring_regex(offset, _OFFSET),
    )
    right = is_right.to_numpy(zero_copy_only=False)
    table = _table(
        lines[right],
        None if group is None else group.filter(is_right),
        topic.filter(is_right),
        pc.cast(partition.filter(is_right), pa.int64()),
        pc.cast(offset.filter(is_right), pa.int64()),
    )
    return _Plain(table, right)


def _table(
    lines: Numbers,
    group: pa.Array | None,
    topic: pa.Array,
    partition: pa.Array,
    offset: pa.Array,
) -> pa.Table:
    if group is None:
        groups = pa.nulls(len(lines), pa.string())
    else:
        groups = pc.if_else(pc.equal(group, ""), pa.scalar(None, pa.string()), group)
    return pa.table([pa.array(lines, pa.int64()), groups, topic, partition, offset], QUESTIONS)


def read_rows(rows: pa.RecordBatch, first: int, most_refused: int) -> Read:
    """Return the questions of rows of a Parquet file; `first` is the number of the first one.

    Its texts are dictionaries. `most_refused`: as of `read_lines`.
    """
    numbers = np.arange(first, first + len(rows))
    columns = {name: _plain_column(rows[name]) for name in rows.schema.names}
    rows = pa.table(columns)
    topic, partition, offset = (columns[name] for name in NEEDED)
    topic, group = _trimmed(topic), columns.get("group")
    if group is not None:
        group = _trimmed(pc.fill_null(group, ""))
    is_right = _all(
        *_are_names(topic, group),
        _is_between(partition, HIGHEST_PARTITION),
        _is_between(offset, HIGHEST_OFFSET),
    )
    is_right = pc.fill_null(is_right, False)  # noqa: FBT003  the value to fill in
    right = is_right.to_numpy(zero_copy_only=False)
    found = _table(
        numbers[right],
        None if group is None else group.filter(is_right),
        topic.filter(is_right),
        pc.cast(partition.filter(is_right), pa.int64()),
        pc.cast(offset.filter(is_right), pa.int64()),
    )
    unusual = np.flatnonzero(~right)
    values = rows.take(pa.array(unusual)).to_pylist()
    refused_rows = zip(numbers[unusual].tolist(), values, strict=True)
    return _with_unusual(found, _odd_rows(refused_rows, most_refused))


def _are_names(topic: pa.Array, group: pa.Array | None) -> list[pa.Array]:
    """Return which topics and groups (both trimmed) are such by their length."""
    length = pc.utf8_length(topic)
    found = [pc.greater(length, 0), pc.less_equal(length, LONGEST_TOPIC)]
    if group is not None:
        found.append(pc.less_equal(pc.utf8_length(group), LONGEST_GROUP))
    return found


def _all(first: pa.Array, *rest: pa.Array) -> pa.Array:
    for one in rest:
        first = pc.and_(first, one)
    return first


def _is_between(numbers: pa.Array, highest: int) -> pa.Array:
    """Return which numbers are from 0 to the highest, whichever of Arrow's whole numbers they are."""
    if pa.types.is_uint64(numbers.type):
        return pc.less_equal(numbers, pa.scalar(highest, pa.uint64()))
    wide = pc.cast(numbers, pa.int64())
    return pc.and_(pc.greater_equal(wide, 0), pc.less_equal(wide, highest))


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type of Arrow is text."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _plain_column(column: pa.Array) -> pa.Array:
    """Return a column without its dictionary; of a longer text so much that its length shows as too large."""
    if not pa.types.is_dictionary(column.type):
        return column
    texts = column.dictionary
    if is_text(texts.type):
        try:
            texts.validate(full=True)
        except pa.ArrowInvalid:
            bare = texts.cast(pa.binary()).to_pylist()
            texts = pa.array(
                None if one is None else one.decode("utf-8", "replace") for one in bare
            )
        texts = pc.utf8_slice_codeunits(texts, 0, LONGEST_GROUP + 1)
    return pa.DictionaryArray.from_arrays(column.indices, texts).cast(texts.type)


class _Unusual:
    """Rows that were looked at one by one: those that are questions all the same, and those refused.

    It is full with `most` rows refused.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.questions: list[tuple[int, str | None, str, int, int]] = []
        self.refused: list[tuple[int, str, str]] = []
        self._reader = Questions()

    @property
    def is_full(self) -> bool:
        return len(self.refused) >= self._most

    def take(self, line: int, text: str, values: Mapping[str, Any]) -> None:
        found = self._reader
        found.take(line, values)
        for problem in found.problems:
            self.refuse(line, text, problem.text)
        for one in found.questions:
            self.questions.append((line, one.group or None, *one.where, one.offset))
        found.problems.clear()
        found.questions.clear()
        # How many make a list given up is counted by its reader.
        found.problem_count = 0

    def refuse(self, line: int, text: str, reason: str) -> None:
        """Take a row that is no question."""
        self.refused.append((line, text if len(text) <= SHOWN else f"{text[:SHOWN]}…", reason))


def _odd_lines(layout: Layout, rows: Iterable[tuple[int, str]], most: int) -> _Unusual:
    found = _Unusual(most)
    for line, written in rows:
        if found.is_full:
            break
        text = written.strip("\r\n")
        try:
            cells = cells_of(text, layout.separator)
        except csv.Error as problem:
            found.refuse(line, text, f"It is no line of a table: {problem}.")
            continue
        if not any(cell.strip() for cell in cells):
            continue
        names = layout.names_of(len(cells))
        if len(names) == len(cells):
            found.take(line, text, dict(zip(names, cells, strict=True)))
        else:
            reason = f"Fields: {len(cells)}. Needed: topic, partition and offset."
            found.refuse(line, text, reason)
    return found


def _odd_rows(rows: Iterable[tuple[int, Mapping[str, Any]]], most: int) -> _Unusual:
    found = _Unusual(most)
    for line, values in rows:
        if found.is_full:
            break
        text = ",".join("" if value is None else str(value) for value in values.values())
        found.take(line, text, values)
    return found


def _with_unusual(questions: pa.Table, unusual: _Unusual) -> Read:
    if unusual.questions:
        columns: Sequence[Sequence[Any]] = list(zip(*unusual.questions, strict=True))
        added = pa.table(
            [
                pa.array(values, field.type)
                for values, field in zip(columns, QUESTIONS, strict=True)
            ],
            QUESTIONS,
        )
        questions = pa.concat_tables([questions, added]).sort_by("line")
    lines, texts, reasons = zip(*unusual.refused, strict=True) if unusual.refused else ((), (), ())
    refused = pa.table(
        [pa.array(lines, pa.int64()), pa.array(texts, pa.string()), pa.array(reasons, pa.string())],
        REFUSED,
    )
    return Read(questions, refused)


def cells_of(text: str, separator: str) -> list[str]:
    """Return the fields of a line; raises csv.Error."""
    if '"' not in text and len(text) < csv.field_size_limit():
        return text.split(separator)
    return next(csv.reader([text], delimiter=separator), [])
