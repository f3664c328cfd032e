"""Spans of one partition's records, of which those that lie near each other are read at once."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from jobs.cluster.errors import ClusterFault
from jobs.cluster.record_fingerprints import RecordFingerprint
from jobs.replication.translation.record_comparison import FingerprintReader, Span

# To read so many records costs no more than to begin once more.
NEAR = 1_000


class SharedReading:
    """A reader of spans that were named before, best asked for in their order; keeps what it read last."""

    def __init__(self, read: FingerprintReader, spans: Iterable[Span], most_records: int) -> None:
        self._read = read
        self._blocks = joined(spans, most_records)
        self._kept: tuple[Span, Sequence[RecordFingerprint] | None] | None = None
        self._faults: dict[Span, ClusterFault] = {}
        # How many records the last answer had.
        self.records = 0

    def __call__(self, start: int, end: int | None) -> Sequence[RecordFingerprint] | None:
        """Return the records of a span; None when there are too many. Raises `ClusterFault`."""
        found = self._found(start, end)
        self.records = len(found or ())
        return found

    def _found(self, start: int, end: int | None) -> Sequence[RecordFingerprint] | None:
        block = self._block_of(start, end)
        try:
            found = self._whole(block)
        except ClusterFault as fault:
            if fault.retriable or block == (start, end):
                raise
            # Its beginning may not be in the log any more.
            return self._whole((start, end))
        if found is None or block == (start, end):
            return found
        first, last = (
            len(found) if one is None else bisect_left(found, one, key=lambda record: record.offset)
            for one in (start, end)
        )
        return found[first:last]

    def _whole(self, block: Span) -> Sequence[RecordFingerprint] | None:
        """Read a block, or tell what came of it before."""
        if block in self._faults:
            raise self._faults[block]
        if self._kept is None or self._kept[0] != block:
            try:
                self._kept = (block, self._read(*block))
            except ClusterFault as fault:
                if not fault.retriable:
                    self._faults[block] = fault
                raise
        return self._kept[1]

    def _block_of(self, start: int, end: int | None) -> Span:
        at = bisect_right(self._blocks, start, key=lambda one: one[0])
        for block in reversed(self._blocks[max(at - 2, 0) : at]):
            if block == (start, end) or (end is not None and (block[1] or 0) >= end):
                return block
        return (start, end)


def joined(spans: Iterable[Span], most_records: int) -> list[Span]:
    """Return what to read for some spans: near ones together, as far as that are not too many records."""
    blocks: list[Span] = []
    for start, end in sorted(set(spans), key=lambda span: (span[0], span[1] is None, span[1] or 0)):
        first, last = blocks[-1] if blocks else (0, None)
        is_near = last is not None and end is not None and start - last <= NEAR
        if is_near and last is not None and end is not None:
            whole = max(last, end)
            if whole - first <= most_records:
                blocks[-1] = (first, whole)
                continue
        blocks.append((start, end))
    return blocks
