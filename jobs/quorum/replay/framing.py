"""What surrounds the records of a log: which batches belong together, and what the records follow on.

It is read off all records once, so that a share of them (see `dealing`) is folded as within the whole.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from jobs.quorum.image.image import LARGEST_BATCH_RECORDS
from jobs.wire.batches.record_batch import CONTROL_MASK
from jobs.wire.metadata import table as t
from jobs.wire.metadata.columns import MetadataColumns
from jobs.wire.metadata.table import Int64s

Bools = npt.NDArray[np.bool_]
MARKERS = (t.BEGIN_TRANSACTION, t.END_TRANSACTION, t.ABORT_TRANSACTION)
# By type + 1: records that leave the creation of a topic open in their version 0.
_CREATION = np.zeros(1 << 15, bool)
_CREATION[np.add((t.TOPIC, 4, t.CLEAR_ELR, t.NO_OP), 1)] = True
# In every version, whether they can be decoded or not.
_ALWAYS = np.zeros(1 << 15, bool)
_ALWAYS[np.add((t.PARTITION_RECORD, *MARKERS), 1)] = True


class FramedColumns(NamedTuple):
    """Columns of a log, all of its records or a share of them.

    By batch: `groups`, one number for batches that were written together; `borders`, 1 where the creation of
    a topic ends before the batch; `resets`, the last offset left out before it that ends one, too (-1: none).
    By record: `joined`, whether it follows on the record before it, which may be left out.
    """

    columns: MetadataColumns
    groups: Int64s
    borders: Int64s
    resets: Int64s
    joined: Bools


class Framing:
    """Frames the columns of a log one behind the other."""

    def __init__(self) -> None:
        self._count = 0
        self._group = self._next_offset = -1

    def frame(self, columns: MetadataColumns) -> FramedColumns:
        """Return columns with what surrounds their records."""
        batches = columns.batches
        if not len(batches):
            nothing = np.empty(0, np.int64)
            return FramedColumns(columns, nothing, nothing, nothing, np.empty(0, bool))
        counts = np.diff(batches[:, t.FIRST], append=len(columns))
        borders = np.r_[self._count, counts[:-1]] < LARGEST_BATCH_RECORDS
        begins = borders | (batches[:, t.ATTRIBUTES] & CONTROL_MASK != 0)
        at = np.maximum.accumulate(np.where(begins, np.arange(len(batches)), -1))
        ends = batches[:, t.BASE_OFFSET] + batches[:, t.LAST_DELTA] + 1
        groups = np.where(at < 0, self._group, ends[at])
        joined = np.diff(columns.offset, prepend=self._next_offset - 1) == 1
        self._count, self._group = int(counts[-1]), int(groups[-1])
        if len(columns):
            self._next_offset = int(columns.offset[-1]) + 1
        nothing_left_out = np.full(len(batches), -1)
        return FramedColumns(columns, groups, borders.astype(np.int64), nothing_left_out, joined)


def leaves_open(columns: MetadataColumns, first: int, last: int) -> Bools:
    """Return for records whether the creation of a topic may continue behind them."""
    rows = slice(first, last)
    numbers = columns.type[rows] + 1
    is_read = columns.tables.records[t.READING, rows] != t.UNDECODABLE
    found: Bools = _CREATION[numbers] & is_read & (columns.version[rows] == 0)
    found |= _ALWAYS[numbers]
    found |= columns.is_control[rows] != 0
    return found
