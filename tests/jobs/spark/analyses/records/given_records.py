"""Spans without a cluster: readers over batches that a test makes, for what kinds do with chunks."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from jobs.spark.analyses.records.chunks import BatchColumns, Chunk, Outcome
from jobs.spark.analyses.records.ranges import Span
from jobs.wire.batches.hashes import checksum
from jobs.wire.batches.record_batch import HEADER_BYTES, BatchHeader
from jobs.wire.batches.records import BatchFields, PlacedRecord, encode_batch
from jobs.wire.rebatch.columns import record_columns


@dataclass
class GivenReader:
    """As `SpanReader`: a chunk for each list of batches."""

    span: Span
    chunks: list[Chunk] = field(default_factory=list)
    outcome: Outcome = field(default_factory=lambda: Outcome(0))
    left_out: list[tuple[int, int]] = field(default_factory=list)
    aborted: list[tuple[int, int]] = field(default_factory=list)
    undecided: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self.chunks)


def record(
    offset: int, key: bytes | None, value: bytes | None = b"v", at_ms: int = -1, **more: object
) -> PlacedRecord:
    """Return a record; its time is 1,000 ms + its offset unless it is given."""
    at = 1_000 + offset if at_ms < 0 else at_ms
    return PlacedRecord(offset=offset, timestamp=at, key=key, value=value, **more)  # type: ignore[arg-type]


def reader_of(
    *batches: Sequence[PlacedRecord],
    topic: str = "orders",
    partition: int = 0,
    side: str = "cluster",
    only_headers: bool = False,
    log_start: int | None = None,
    topic_id: str = "",
    fields: BatchFields | None = None,
) -> GivenReader:
    """Return a reader of one chunk with these batches; keys and records are hashed."""
    made = [encode_batch(list(one), **(fields or {})) for one in batches if one]
    headers = [BatchHeader.decode(one) for one in made]
    start = headers[0].base_offset if headers else 0
    end = headers[-1].next_offset if headers else 0
    first = start if log_start is None else log_start
    span = Span(side, topic, partition, start, end, first, end, topic_id)
    sums = [checksum(one[HEADER_BYTES:]) for one in made] if only_headers else ()
    records = None if only_headers else record_columns(made, hash_keys=True, hash_records=True)
    outcome = Outcome(end, records=sum(one.record_count for one in headers))
    return GivenReader(span, [Chunk(BatchColumns(headers, sums), records)] if made else [], outcome)
