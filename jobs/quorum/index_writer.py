"""Writes the index of a metadata log: parts that each begin with everything that was so then."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped] # it has no types

from jobs.quorum.changes import Anomaly, AnyChange, PartitionChange
from jobs.quorum.histories import LogItem, read_changes
from jobs.quorum.image import MetadataImage
from jobs.quorum.index_rows import (
    DOCUMENTS,
    PARTITIONS,
    document_key,
    document_row,
    partition_key,
    partition_row,
)
from jobs.quorum.keyed_rows import RowsBuilder, write_table

# A part holds about so many changes besides the state that it begins with.
PART_CHANGES = 250_000
TICKS = pa.schema([pa.field("offset", pa.int64()), pa.field("latest_ms", pa.int64())])
META = "part.json"


class IndexWriter:
    """Takes changes in the order of the log and writes parts of `part_changes` into a folder.

    A part is a folder named FIRST-LAST-ROWS by offsets, there whole or not at all: `partitions.arrow`,
    `documents.arrow` (everything else, as the records of a snapshot), `ticks.arrow` (which offset was the
    last at which time) and `part.json`. Everything that was so at its first offset is in it, so no other part
    is needed to answer.
    """

    def __init__(self, folder: Path, *, part_changes: int = PART_CHANGES) -> None:
        self._folder = folder
        self._part_changes = part_changes
        self._partitions = RowsBuilder(PARTITIONS, partition_key)
        self._documents = RowsBuilder(DOCUMENTS, document_key)
        self._ticks: dict[int, int] = {}
        self._unknown: list[list[int | None]] = []
        self._first: int | None = None
        self._last = -1
        self._written: Path | None = None
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, change: AnyChange, image: MetadataImage) -> None:
        """Take the next change; `image` is the state that `read_changes` folds along the way."""
        at = change.effective_offset
        self._note_unknown(change, image)
        if self._is_full and at > self._last:
            self._next_part()
        self._first = at if self._first is None else self._first
        self._last = max(self._last, at)
        self._ticks[at] = image.latest_ms
        if isinstance(change, PartitionChange):
            self._partitions.add(partition_row(change))
        elif not isinstance(change, Anomaly):
            row = document_row(change)
            if row is not None:
                self._documents.add(row)

    def flush(self) -> None:
        """Write the part that is growing; a shorter one of before is taken away afterwards."""
        if self._first is None:
            return
        rows = self._partitions.count + self._documents.count
        name = f"{max(self._first, 0):020d}-{max(self._last, 0):020d}-{rows:010d}"
        path = self._folder / name
        if path != self._written:
            self._write(path)
            if self._written is not None:
                shutil.rmtree(self._written)
            self._written = path

    @property
    def _is_full(self) -> bool:
        return self._partitions.count + self._documents.count >= self._part_changes

    def _next_part(self) -> None:
        self.flush()
        self._partitions = self._partitions.carried()
        self._documents = self._documents.carried()
        last = max(self._ticks)
        self._ticks = {last: self._ticks[last]}
        self._unknown = [one for one in self._unknown if one[1] is None]
        self._first, self._written = last, None

    def _note_unknown(self, change: AnyChange, image: MetadataImage) -> None:
        is_open = bool(self._unknown) and self._unknown[-1][1] is None
        if image.unknown_before is None:
            if is_open:
                self._unknown[-1][1] = change.effective_offset
        elif not is_open:
            start = change.offset if change.since_offset is None else change.since_offset + 1
            self._unknown.append([start, None])

    def _write(self, path: Path) -> None:
        growing = path.with_name(f"{path.name}.growing")
        shutil.rmtree(growing, ignore_errors=True)
        growing.mkdir()
        write_table(growing / "partitions.arrow", self._partitions.table())
        write_table(growing / "documents.arrow", self._documents.table())
        ticks = sorted(self._ticks.items())
        rows = [{"offset": offset, "latest_ms": latest} for offset, latest in ticks]
        write_table(growing / "ticks.arrow", pa.Table.from_pylist(rows, TICKS))
        told = {"unknown": self._unknown, "first": self._first, "last": self._last}
        (growing / META).write_text(json.dumps(told))
        growing.replace(path)


def write_index(
    folder: Path, items: Iterable[LogItem], *, part_changes: int = PART_CHANGES
) -> None:
    """Index a whole log."""
    image = MetadataImage()
    writer = IndexWriter(folder, part_changes=part_changes)
    for change in read_changes(items, image):
        writer.add(change, image)
    writer.flush()
