"""The columns of a log as runs: records of partitions and NoOps in a row, and every other record alone.

A run is a row of INT64s, see `Run`; the values of records lie one behind the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from jobs.quorum.timeline.clock import SHORTEST_SILENCE_MS
from jobs.wire.batches.log_batches import LogDamage
from jobs.wire.metadata import compiled
from jobs.wire.metadata import table as t
from jobs.wire.metadata.columns import MetadataColumns
from jobs.wire.metadata.control_records import decode_control_record, encode_control_key
from jobs.wire.metadata.log import LogRecord
from jobs.wire.metadata.records import decode_metadata_record
from jobs.wire.metadata.table import Bytes, Int64s
from jobs.wire.values import LATEST_MS

# How far apart NoOp records usually are is measured on so many of them, each for itself.
MEASURED_NO_OPS = 20_000
PARTITIONS, NO_OPS, RECORD = range(3)
# By type + 1.
_PASSED = np.zeros(1 << 15, bool)
_PASSED[np.add((t.PARTITION_RECORD, t.PARTITION_CHANGE, t.NO_OP), 1)] = True


class Run(NamedTuple):
    """Records of partitions or NoOps in a row, or one record of another type."""

    kind: int
    offset: int
    end_offset: int
    epoch: int
    first_ms: int
    last_ms: int
    batch_offset: int
    position: int
    is_control: int
    type: int
    value_bytes: int


_KIND, _OFFSET, _END, _EPOCH, _FIRST_MS, _LAST_MS, _BATCH_OFFSET, *_, _VALUE_BYTES = range(
    len(Run._fields)
)


class Runs(NamedTuple):
    """Damage, and runs as a line for each field, with their values."""

    damage: Sequence[LogDamage]
    lines: Int64s
    values: Bytes


class RunReader:
    """Reads the columns of a log one behind the other, or joins the runs of its ranges."""

    def __init__(self) -> None:
        self._no_ops = 0

    def read(self, columns: MetadataColumns) -> Runs:
        """Return columns as runs."""
        records = columns.tables.records
        is_passed = _PASSED[columns.type + 1] & (columns.is_control == 0)
        is_passed &= records[t.READING] != t.UNDECODABLE
        kinds = np.where(is_passed, columns.type == t.NO_OP, RECORD)
        times, ends = columns.timestamp_ms, columns.offset + 1
        at = columns.batches[records[t.BATCH], t.BASE_OFFSET]
        fields = kinds, columns.offset, ends, columns.epoch, times, times, at
        begins = self._begins(fields)
        last = _last(begins, len(columns))
        batches = columns.batches[records[t.BATCH, begins]]
        sizes = np.where(is_passed, 0, np.maximum(records[t.VALUE_BYTES], 0))[begins]
        lines = np.stack([
            kinds[begins], columns.offset[begins], ends[last], batches[:, t.EPOCH],
            times[begins], times[last], batches[:, t.BASE_OFFSET], batches[:, t.POSITION],
            columns.is_control[begins], columns.type[begins], sizes,
        ])  # fmt: skip
        values = compiled.pack(columns.content, records[t.VALUE_AT, begins], sizes)
        return Runs(columns.damage, lines, values)

    def join(self, lines: Int64s) -> Int64s:
        """Return runs with those joined that a longer piece of the log would have as one."""
        begins = self._begins([*lines[: _BATCH_OFFSET + 1]])
        joined: Int64s = lines[:, begins]
        last = _last(begins, lines.shape[1])
        joined[_END], joined[_LAST_MS] = lines[_END, last], lines[_LAST_MS, last]
        return joined

    def _begins(self, fields: Iterable[Int64s]) -> Int64s:
        """Return where runs begin: alone are the first NoOps of all, and what comes after a silence.

        `fields` are those of `Run` up to the batch. A run with times that are none ends with its batch.
        """
        kinds, offsets, ends, epochs, first_ms, last_ms, batches = fields
        if not len(kinds):
            return np.empty(0, np.int64)
        steps = first_ms[1:] - last_ms[:-1]
        is_no_op = kinds == NO_OPS
        follows = kinds < RECORD
        follows[0] = False
        follows[1:] &= (kinds[1:] == kinds[:-1]) & (offsets[1:] == ends[:-1])
        follows[1:] &= (epochs[1:] == epochs[:-1]) & (steps >= 0) & (steps <= SHORTEST_SILENCE_MS)
        is_time = (last_ms >= 0) & (last_ms <= LATEST_MS)
        follows[1:] &= is_time[:-1] | (batches[1:] == batches[:-1])
        if self._no_ops <= MEASURED_NO_OPS:
            counts = np.cumsum(np.where(is_no_op, ends - offsets, 0))
            follows &= ~is_no_op | (self._no_ops + counts > MEASURED_NO_OPS)
            self._no_ops += int(counts[-1])
        return np.flatnonzero(~follows)


def _last(begins: Int64s, count: int) -> Int64s:
    return np.append(begins[1:], count)[: len(begins)] - 1


def record_of(run: Run, value: bytes) -> LogRecord:
    """Return the record of a run, decoded."""
    read = (
        decode_control_record(encode_control_key(run.type), value)
        if run.is_control
        else decode_metadata_record(value)
    )
    return LogRecord(
        offset=run.offset, epoch=run.epoch, timestamp_ms=run.first_ms,
        batch_offset=run.batch_offset, position=run.position, is_control=bool(run.is_control),
        type=read.type, version=read.version, data=read.data, unknown=read.unknown,
    )  # fmt: skip
