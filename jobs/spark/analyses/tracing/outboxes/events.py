"""Events of an outbox, and of a transaction topic, as columns of hashes, numbers and times."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types

from jobs.spark.analyses.records.chunks import Chunk
from jobs.spark.analyses.records.ranges import Work
from jobs.spark.analyses.records.reading import SpanReader
from jobs.spark.analyses.records.running import Tables
from jobs.spark.analyses.tracing.extracting import extraction_of
from jobs.spark.analyses.tracing.planning import problems_table
from jobs.tracing.extractors.columns import ABSENT, Extraction
from jobs.tracing.extractors.slices import mapped
from jobs.wire.rebatch.table import Int64s

HASHED = {
    "id": "id",
    "scope": "sequence_scope",
    "transaction": "transaction",
    "collection": "collection",
}
COLUMNS = ("offset", "time", "appended", "committed", "sequence", *HASHED)
# Of PostgreSQL: the id, and the LSN of the operation, which each record of a transaction has another of.
_WITH_LSN = re.compile(rb"(\d+):\d+")
_MARK_TEXTS = ("status", "collections", "collection_counts")
MARK_COLUMNS = ("offset", "time", "committed", "transaction", "event_count", *_MARK_TEXTS)


def read_events(readers: Sequence[SpanReader], work: Work, options: Mapping[str, Any]) -> Tables:
    """Return `events` (COLUMNS), for a transaction topic `marks` (MARK_COLUMNS), and `problems`.

    Hashes are of 64 bits, 0: absent; `appended` 1: the broker gave the time.
    """
    is_marks = work.extra["is_marks"]
    read, names = (_marks, MARK_COLUMNS) if is_marks else (_events, COLUMNS)
    extractor = options["transactions" if is_marks else "extractor"]
    parts: list[pa.Table] = []
    problems: Counter[str] = Counter()
    for reader in readers:
        for chunk in reader:
            found = extraction_of({**options, "extractor": extractor}, chunk, reader.span)
            columns = read(found, chunk)
            table = pa.table([columns[name] for name in names], names=list(names))
            parts.append(table.filter(pa.array(_are_events(found, chunk))))
            problems.update(found.problems)
    # A work without records has the same columns.
    types = [(name, pa.string() if name in _MARK_TEXTS else pa.int64()) for name in names]
    table = pa.concat_tables([pa.schema(types).empty_table(), *parts])
    return {"marks" if is_marks else "events": table, "problems": problems_table(problems)}


def _are_events(found: Extraction, chunk: Chunk) -> np.ndarray:
    """Return which records have a value or an id: others are tombstones."""
    assert chunk.records is not None  # noqa: S101  only headers have none
    are_events: np.ndarray = (chunk.records.value_bytes >= 0) | found.texts("id").is_present
    return are_events


def _bare(transaction: bytes) -> bytes:
    found = _WITH_LSN.fullmatch(transaction)
    return found[1] if found else transaction


def _events(found: Extraction, chunk: Chunk) -> Mapping[str, Int64s]:
    records = chunk.records
    assert records is not None  # noqa: S101  only headers have none
    committed = found.numbers("committed")
    return {
        "offset": records.offsets,
        "time": records.times,
        "appended": chunk.batches.are_log_append_time[records.batches].astype(np.int64),
        # Events of a snapshot may have the time 0.
        "committed": np.where(committed > 0, committed, ABSENT),
        "sequence": found.numbers("sequence"),
        **{name: found.texts(role).hashes() for name, role in HASHED.items()},
        "transaction": mapped(found.texts("transaction"), _bare).hashes(),
    }


def _marks(found: Extraction, chunk: Chunk) -> Mapping[str, Any]:
    events = _events(found, chunk)
    texts = {role: found.texts(role) for role in _MARK_TEXTS}
    return {
        **{name: events[name] for name in MARK_COLUMNS if name in events},
        "event_count": found.numbers("event_count"),
        **{
            role: pa.array([one.text(n) for n in range(len(one))], pa.string())
            for role, one in texts.items()
        },
    }
