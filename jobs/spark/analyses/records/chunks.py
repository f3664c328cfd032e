"""What is read of a span: batches and records as columns, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from jobs.wire.batches.record_batch import COMPRESSION_MASK, TIMESTAMP_TYPE_MASK, BatchHeader
from jobs.wire.rebatch.columns import RecordColumns
from jobs.wire.rebatch.table import Int64s

Bools = npt.NDArray[np.bool_]


class BatchColumns:
    """Facts of whole data batches as arrays: one entry for each batch."""

    def __init__(self, headers: Sequence[BatchHeader], checksums: Sequence[int] = ()) -> None:
        self._fields = np.array(headers, np.int64).reshape(len(headers), len(BatchHeader._fields))
        # CRC-32C of the bytes behind the header; empty unless `only_headers`.
        self.checksums = np.array(checksums, np.int64)

    def __len__(self) -> int:
        return len(self._fields)

    def column(self, name: str) -> Int64s:
        """Return a field of `BatchHeader` by its name."""
        found: Int64s = self._fields[:, BatchHeader._fields.index(name)]
        return found

    @property
    def last_offsets(self) -> Int64s:
        return self.column("base_offset") + self.column("last_offset_delta")

    @property
    def sizes(self) -> Int64s:
        """Bytes as they are in the log, header included."""
        return self.column("batch_length") + 12

    @property
    def codecs(self) -> Int64s:
        return self.column("attributes") & COMPRESSION_MASK

    @property
    def are_log_append_time(self) -> Bools:
        found: Bools = (self.column("attributes") & TIMESTAMP_TYPE_MASK) != 0
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some consecutive data batches of a span, and their records inside of the span.

    `records.batches` are indices of `batches`; those are whole batches, also where the span begins or ends
    inside of one. `records` is None with `only_headers`. It holds until the next chunk is taken.
    """

    batches: BatchColumns
    records: RecordColumns | None


@dataclass(slots=True)
class Outcome:
    """What came of a span.

    `position`: everything before it was read. `removed`: offsets that retention or DeleteRecords removed
    before they were read. `aborted`: records of aborted transactions that were left out. `unreadable`:
    base offset and reason of batches that could not be read, of `unreadable_count`. `fault` says why reading
    ended before the end of the span (empty: it did not).
    """

    position: int
    records: int = 0
    bytes: int = 0
    removed: int = 0
    aborted: int = 0
    unreadable_count: int = 0
    unreadable: list[tuple[int, str]] = field(default_factory=list)
    fault: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether nothing of the span is missing."""
        return not (self.fault or self.unreadable_count or self.removed)
