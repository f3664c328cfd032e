"""The records of a range of a log dealt out to shares of its partitions, by way of files.

A share gets the changes of its own partitions, and every record that may concern all: those of topics and
brokers, of transactions and elections, whole batches with new partitions. What the records left out would
have told, `framing` says. The files last as long as a log is read, and are for this computer's user only.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from jobs.files import for_this_user_only
from jobs.quorum.log.possible_times import clamp_times
from jobs.quorum.replay.framing import MARKERS, Bools, FramedColumns, leaves_open
from jobs.wire.metadata import compiled
from jobs.wire.metadata import table as t
from jobs.wire.metadata.columns import read_values
from jobs.wire.metadata.table import Bytes, Int64s
from jobs.wire.values import LATEST_MS

# Of a record, and of a batch, what a file has.
_LONG, _SHORT = [t.OFFSET, t.TIMESTAMP], [t.BATCH, t.TYPE, t.VERSION, t.VALUE_BYTES, t.READING]
_BATCH = [t.BASE_OFFSET, t.EPOCH, t.ATTRIBUTES]
# Who gets a record: a share, every one, none.
_ALL, _NONE = -1, -2
_WHOLE = (t.PARTITION_RECORD, *MARKERS)


class Dealer:
    """Writes a file for each share: what it needs of a range; `last_reset` is that of `Dealt`."""

    def __init__(self, folder: Path, number: int, shares: int) -> None:
        self._open = ExitStack()
        paths = [dealt_path(folder, number, share) for share in range(shares)]
        self._files = [
            self._open.enter_context(open(path, "wb", opener=for_this_user_only))  # noqa: SIM115
            for path in paths
        ]
        self._borders = [False] * shares
        self._last_ms: int | None = None
        self.last_reset = -1

    def __enter__(self) -> Dealer:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def deal(self, framed: FramedColumns, *, is_whole: bool = False) -> None:
        """Write the next columns of the range; `is_whole`: every share gets all records."""
        columns = framed.columns
        if not len(columns):
            self._borders = [one or bool(framed.borders.any()) for one in self._borders]
            return
        self._clamp(columns.timestamp_ms)
        owners = self._owners(framed, is_whole=is_whole)
        is_reset = (owners != _ALL) & ~leaves_open(columns, 0, len(columns))
        ended = np.where(is_reset, columns.offset, -1)
        resets = np.maximum.accumulate(np.r_[self.last_reset, ended])
        self.last_reset = int(resets[-1])
        framed = framed._replace(resets=resets[columns.batches[:, t.FIRST]])
        for share, file in enumerate(self._files):
            rows = np.flatnonzero((owners == share) | (owners == _ALL))
            self._borders[share] = _write(file, framed, rows, is_border_before=self._borders[share])

    def _owners(self, framed: FramedColumns, *, is_whole: bool) -> Int64s:
        columns, tables = framed.columns, framed.columns.tables
        owners = np.full(len(columns), _ALL)
        if is_whole or columns.damage or not framed.joined[1:].all():
            return owners
        types = columns.type
        is_data = (tables.records[t.READING] == t.TYPED) & (columns.is_control == 0)
        owners[(types == t.NO_OP) & is_data] = _NONE
        high, low, number = tables.partitions[[t.TOPIC_HIGH, t.TOPIC_LOW, t.PARTITION]]
        owners[tables.partitions[t.RECORD]] = (high ^ low ^ number) % len(self._files)
        is_whole_batch = np.zeros(len(columns.batches), bool)
        batches = tables.records[t.BATCH]
        is_whole_batch[batches[np.isin(types, _WHOLE) & (columns.is_control == 0)]] = True
        owners[is_whole_batch[batches]] = _ALL
        # What follows on this, and what this follows on, is seen by every share.
        owners[[0, -1]] = _ALL
        return owners

    def _clamp(self, times: Int64s) -> None:
        """Make times possible; those that depend on the range before are left to who knows that."""
        first = 0
        if self._last_ms is None:
            known = np.flatnonzero((times >= 0) & (times <= LATEST_MS))
            if not len(known):
                return
            first = int(known[0])
        self._last_ms = clamp_times(times[first:], self._last_ms or 0)


def dealt_path(folder: Path, number: int, share: int) -> Path:
    """Return the file of what a share gets of a range."""
    return folder / f"range-{number}-share-{share}"


def read_pieces(path: Path) -> Iterator[Any]:
    """Yield what was written to a file by `pickle`."""
    with path.open("rb") as file:
        while file.peek(1):
            yield pickle.load(file)  # noqa: S301  this user's own files


def dealt_columns(folder: Path, last_resets: Sequence[int], share: int) -> Iterator[FramedColumns]:
    """Yield what a share got of all ranges; `last_resets` has the `Dealt.last_reset` of each."""
    before = -1
    for number, last_reset in enumerate(last_resets):
        for piece in read_pieces(dealt_path(folder, number, share)):
            framed = _read(*piece)
            yield framed._replace(resets=np.maximum(framed.resets, before))
        before = max(before, last_reset)


def _write(file: BinaryIO, framed: FramedColumns, rows: Int64s, *, is_border_before: bool) -> bool:
    """Write some records; return whether a border lies behind the last batch that has one of them."""
    records = framed.columns.tables.records[:, rows]
    steps = np.diff(records[t.BATCH], prepend=-1) != 0
    batches = records[t.BATCH, steps]
    borders = np.r_[is_border_before, framed.borders].cumsum()
    passed = np.r_[0, borders[batches + 1]]
    if len(rows):
        # Text of other records may hold secrets, and only typed ones are read again.
        sizes = np.where(records[t.READING] == t.TYPED, records[t.VALUE_BYTES], 0)
        values = compiled.pack(framed.columns.content, records[t.VALUE_AT], sizes)
        records[t.BATCH], records[t.VALUE_BYTES] = steps.cumsum() - 1, sizes
        of_batches = np.stack([framed.groups[batches], np.diff(passed) > 0, framed.resets[batches]])
        kept = framed.columns.batches[batches][:, _BATCH]
        longs, shorts = records[_LONG], records[_SHORT].astype(np.int32)
        pickle.dump((longs, shorts, framed.joined[rows], kept, of_batches, values), file)
    return bool(borders[-1] > passed[-1])


def _read(
    longs: Int64s, shorts: Int64s, joined: Bools, kept: Int64s, of_batches: Int64s, values: Bytes
) -> FramedColumns:
    rows = np.empty((t.RECORD_COLUMNS, len(joined)), np.int64)
    rows[_LONG], rows[_SHORT] = longs, shorts
    rows[t.VALUE_AT] = np.cumsum(rows[t.VALUE_BYTES]) - rows[t.VALUE_BYTES]
    batches = np.zeros((len(kept), t.BATCH_FIELDS), np.int64)
    batches[:, _BATCH] = kept
    batches[:, t.FIRST] = np.searchsorted(rows[t.BATCH], np.arange(len(kept)))
    groups, borders, resets = of_batches
    return FramedColumns(read_values(values, batches, rows), groups, borders, resets, joined)
