"""Batches of a metadata log on their way into an archive: only whole, undamaged ones, in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jobs.wire.batches.log_batches import DamageKind, LogDamage
from jobs.wire.batches.record_batch import (
    BatchHeader,
    has_possible_offsets,
    has_valid_crc,
    iterate_batches,
)
from jobs.wire.errors import RecordFormatError


class LogBroken(ValueError):
    """Bytes that cannot be the log's: damaged, or not at the end of the log; the message says where."""


class Batch(NamedTuple):
    """A whole batch: its header, and a view of all its bytes."""

    header: BatchHeader
    content: memoryview

    @property
    def epoch(self) -> int:
        """The leader's epoch in which it was written."""
        return self.header.partition_leader_epoch

    @property
    def end_offset(self) -> int:
        """The offset after its last one."""
        return self.header.next_offset


@dataclass(slots=True)
class Run:
    """Batches that follow each other, at the bytes `start` to `end` of whatever they were read from."""

    start: int
    end: int
    first: BatchHeader
    last: BatchHeader
    batches: int = 1

    @classmethod
    def of(cls, batch: Batch, end: int) -> Run:
        """Begin a run with a batch that ends at this byte."""
        return cls(end - len(batch.content), end, batch.header, batch.header)

    def add(self, batch: Batch, end: int) -> None:
        """Take the next batch, which ends at this byte."""
        self.last, self.end, self.batches = batch.header, end, self.batches + 1

    @property
    def size_bytes(self) -> int:
        return self.end - self.start


def mapped(path: Path) -> memoryview:
    """Return the bytes of a file without reading them all into memory."""
    if path.stat().st_size == 0:
        return memoryview(b"")
    return np.memmap(path, np.uint8, "r").data


def checked_batches(records: bytes | memoryview) -> Iterator[Batch]:
    """Yield whole batches; one that is cut off at the end is left out. Raises `LogBroken`."""
    try:
        for header, content in iterate_batches(records):
            if not has_possible_offsets(header):
                raise LogBroken(
                    f"No log has the offsets {header.base_offset} to {header.last_offset}."
                )
            if not has_valid_crc(content):
                raise LogBroken(f"The batch at offset {header.base_offset} has a wrong CRC.")
            yield Batch(header, content)
    except RecordFormatError as error:
        raise LogBroken(f"{error}.") from None


def whole_batches(records: bytes | memoryview) -> Iterator[Batch]:
    """Yield the undamaged batches at the beginning of bytes, up to whatever is something else."""
    try:
        yield from checked_batches(records)
    except LogBroken:
        return


def check_snapshot(path: Path) -> None:
    """Raise `LogBroken` when a file is no whole snapshot.

    Control batches begin and end it (header and footer), and no batch is damaged.
    """
    size, seen = path.stat().st_size, 0
    begins = ends = False
    for batch in checked_batches(mapped(path)):
        ends = batch.header.is_control
        begins = ends if not seen else begins
        seen += len(batch.content)
    if not begins or not ends or seen != size:
        raise LogBroken(
            f"The snapshot {path.name} is not whole: {seen} of its {size} bytes are batches, "
            "and a header and a footer must begin and end it."
        )


def hole_before_empty(path: Path, follower: Path | None, end: int) -> list[LogDamage]:
    """Return the damage of a segment that ends too early, where no batch of the next one shows the hole."""
    if follower is None or follower.stat().st_size:
        return []
    text = (
        f"the segment ends, and the next one, which is empty, begins at offset {int(follower.stem)}"
    )
    size = path.stat().st_size
    return [LogDamage(size, None, DamageKind.CUT_OFF, text, path.name, end)]
