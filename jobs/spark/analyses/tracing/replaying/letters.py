"""The dead letters among the records of a span, as tables: runs in the tasks of Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types
import pyarrow.compute as pc  # type: ignore[import-untyped] # as above

from jobs.spark.analyses.records.chunks import Chunk
from jobs.spark.analyses.records.ranges import Span
from jobs.spark.analyses.records.reading import SpanReader
from jobs.spark.analyses.tracing.extracting import extraction_of
from jobs.tracing.extractors.columns import ABSENT, Extraction
from jobs.tracing.extractors.slices import Codebook, Slices
from jobs.tracing.replay.headers import COUNT
from jobs.wire.rebatch.columns import RecordColumns, header_slices
from jobs.wire.rebatch.table import Int64s

# Longer texts of steps and errors are cut.
_LONGEST = 200
# The end of the year 9999: later times are unknown.
_LAST_MS = 253_402_300_799_999
CHOSEN = ("step", "error", "original_topic")
# Gets some of the rows.
Only = Callable[[pa.Table], Extraction]


def letters_in(
    reader: SpanReader, options: Mapping[str, Any], told: Counter[str]
) -> Iterator[tuple[pa.Table, Only]]:
    """Yield the chosen dead letters of each chunk, and what extracts more of some rows until the next chunk.

    `options`: `extractor`, and exact texts of `CHOSEN`. A record with an error or an original topic is a dead
    letter. Columns: `row` (the index in the chunk), place, `at_ms`, those of `CHOSEN`, `attempts`, `replays`
    (0 without a count, null for one that cannot be read), `bytes`. Counts records and letters into `told`,
    and sentences about values that cannot be read.
    """
    span = reader.span
    counting = {**options, "extractor": _counting(options["extractor"])}
    for chunk in reader:
        records = chunk.records
        if records is None or not len(records):
            continue
        found = extraction_of(counting, chunk, span)
        is_letter = found.texts("error").is_present | found.texts("original_topic").is_present
        told["records"] += len(records)
        told["letters"] += int(is_letter.sum())
        letters = _columns(found, records).filter(pa.array(is_letter))
        for name in CHOSEN:
            if options.get(name):
                letters = letters.filter(pc.equal(letters[name], options[name]))
        told.update(found.problems)
        count = len(letters)
        letters = letters.add_column(1, "topic", pa.repeat(span.topic, count))
        letters = letters.add_column(2, "partition", pa.repeat(pa.scalar(span.partition), count))
        yield letters, partial(_only, counting, chunk, span)


def with_originals(letters: pa.Table, found: Extraction) -> pa.Table:
    """Return letters with the partitions and offsets of their originals: these cost more than the rest."""
    for name in ("original_partition", "original_offset"):
        letters = letters.append_column(name, _numbers(found.numbers(name)))
    return letters


def _only(options: Mapping[str, Any], chunk: Chunk, span: Span, letters: pa.Table) -> Extraction:
    records = chunk.records
    kept = records.only(letters["row"].to_numpy()) if records is not None else None
    return extraction_of(options, Chunk(chunk.batches, kept), span)


def told_table(told: Counter[str]) -> pa.Table:
    """Return counted sentences as a table."""
    return pa.table({"name": pa.array(told, pa.string()), "count": pa.array(told.values(), "i8")})


def _columns(found: Extraction, records: RecordColumns) -> pa.Table:
    times = found.numbers("time")
    times = np.where((times >= 0) & (times <= _LAST_MS), times, ABSENT)
    size = np.maximum(records.key_bytes, 0) + np.maximum(records.value_bytes, 0)
    columns = {
        "row": np.arange(len(records)),
        "offset": records.offsets,
        "at_ms": _numbers(times),
        **{name: _strings(found.texts(name)) for name in CHOSEN},
        "attempts": _numbers(found.numbers("attempt")),
        "replays": _numbers(_replays(found, records)),
        "bytes": size + records.header_bytes,
    }
    return pa.table(columns)


def _replays(found: Extraction, records: RecordColumns) -> Int64s:
    counts = found.numbers("replays")
    _, sizes = header_slices(records, [COUNT])[COUNT]
    absent = np.where(sizes < 0, 0, ABSENT)
    return np.where(counts < 0, absent, counts)


def _numbers(values: Int64s) -> pa.Array:
    return pa.array(values, mask=values == ABSENT)


def _strings(texts: Slices) -> pa.Array:
    book = Codebook()
    codes = book.codes(texts)
    known = pa.array([text[:_LONGEST] for text in book.texts], pa.string())
    found = pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), known)
    return found.cast(pa.string())


def _counting(extractor: Mapping[str, Any]) -> dict[str, Any]:
    """Return an extractor that knows the header in which redrive counts, before its own count."""
    fields = extractor.get("fields", {})
    own = fields.get("replays")
    counted = f"header:{COUNT} as int" + (f" | {own}" if own else "")
    return {**extractor, "fields": {**fields, "replays": counted}}
