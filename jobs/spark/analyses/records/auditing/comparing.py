"""The comparison of one partition, in a task of Spark: both sides read together and judged."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types

from jobs.spark.analyses.records.auditing.alignment import HASH, OFFSET, SEGMENT, Alignment, Side
from jobs.spark.analyses.records.auditing.hours import compare_hours
from jobs.spark.analyses.records.auditing.judging import Edges, Judged, judge
from jobs.spark.analyses.records.auditing.matching import mixed
from jobs.spark.analyses.records.chunks import Chunk
from jobs.spark.analyses.records.ranges import Work
from jobs.spark.analyses.records.reading import SpanReader
from jobs.wire.batches.varints import read_varint
from jobs.wire.rebatch.columns import RecordColumns
from jobs.wire.rebatch.table import Int64s

# A partition with more records that have no match is not read to its end.
MOST_LEFT = 2_000_000
_FACTS = struct.Struct(">qqqq")


@dataclass(frozen=True, slots=True)
class _Form:
    """What of records is compared, see the levels of `copy-audit`."""

    level: str
    with_times: bool

    def rows(self, chunk: Chunk) -> Int64s:
        """Return the rows of a chunk for `Alignment`."""
        records, batches = chunk.records, chunk.batches
        if records is None:
            counts, times = batches.column("record_count"), batches.column("max_timestamp")
            hashes = mixed(mixed(batches.checksums + 1, counts), batches.codecs)
            zeros = np.zeros(len(counts), np.int64)
            return np.stack(
                (batches.last_offsets, times, self._timed(hashes, times), zeros, zeros, counts)
            )
        rows = np.stack(
            (
                records.offsets,
                records.times,
                self._timed(records.record_hashes, records.times),
                records.key_hashes,
                (records.value_bytes < 0).astype(np.int64),
                np.ones(len(records), np.int64),
            )
        )
        return rows if self.level != "L3" else np.concatenate((rows, self._digests(records)))

    def _timed(self, hashes: Int64s, times: Int64s) -> Int64s:
        return mixed(hashes, times) if self.with_times else hashes

    def _digests(self, records: RecordColumns) -> Int64s:
        body = memoryview(records.body)
        columns = (
            records.key_at, records.key_bytes, records.value_at, records.value_bytes, records.headers,
            records.times,
        )  # fmt: skip
        found = []
        for key_at, key, value_at, value, headers, time in zip(
            *(one.tolist() for one in columns), strict=True
        ):
            end = value_at + max(value, 0)
            facts = _FACTS.pack(key, value, headers, time if self.with_times else 0)
            if headers:
                end = _headers_end(body, end)
            digest = hashlib.sha256(facts)
            digest.update(body[key_at:end])
            found.append(digest.digest())
        return np.frombuffer(b"".join(found), ">i8").reshape(-1, 4).T.astype(np.int64)


def _headers_end(body: memoryview, at: int) -> int:
    count, at = read_varint(body, at)
    for _ in range(2 * count):
        size, at = read_varint(body, at)
        at += max(size, 0)
    return at


def compare(
    readers: Sequence[SpanReader], work: Work, options: Mapping[str, Any]
) -> Mapping[str, pa.Table]:
    """Return one row: what was found of a pair, in JSON, see `rows`; a work without spans has its reason."""
    told: dict[str, Any] = {"reason": work.extra.get("reason", "")}
    if readers:
        told = _compared(readers, work.extra, str(options["level"]))
    return {"pair": pa.table({"json": [json.dumps(told)]})}


def _compared(
    readers: Sequence[SpanReader], extra: Mapping[str, Any], level: str
) -> dict[str, Any]:
    source, target = readers[:2]
    chunks = iter(target)
    # The times of the target say whether they are compared, before anything is hashed.
    first = next(chunks, None)
    has_broker_times = bool(extra["has_broker_times"]) or (
        first is not None and bool(first.batches.are_log_append_time.any())
    )
    form = _Form(level, not has_broker_times)
    coming = _rows(form, chunks, first)
    edges = Edges(**extra["edges"])
    if level == "L1" and has_broker_times:
        return {"reason": "The target has times of its broker: use L2."}
    if level == "L1":
        rows = _rows(form, iter(source))
        told = compare_hours(rows, coming, edges)
        if edges.is_watched and (source.aborted or source.undecided) and told["findings"]:
            told["stopped"] = (
                "Hours differ, and aborted transactions may have been left out: use L2."
            )
            told |= {"counts": {}, "findings": []}
    else:
        told = _aligned(readers, edges, form, coming)
    for reader in (source, target):
        if reason := _unread(reader):
            told["reason"] = f"The {reader.span.side}: {reason}"
    return told


def _aligned(
    readers: Sequence[SpanReader], edges: Edges, form: _Form, coming: Iterator[Int64s]
) -> dict[str, Any]:
    # What is before the first match is only counted where the other side cannot have it any more.
    loose = [bool(edges.removed[one] or edges.older_unread[one]) for one in Side]
    alignment = Alignment(compacted=edges.is_compacted, edges=(loose[1], loose[0]))
    sides = _rows(form, iter(readers[0])), coming
    ended = [False, False]
    reason = ""
    while not all(ended):
        for side in Side:
            if not ended[side] and alignment.wants(side):
                rows = _some(sides[side])
                if rows is None:
                    ended[side] = True
                else:
                    alignment.feed(side, rows)
        alignment.align(ended=(ended[0], ended[1]))
        if alignment.left_count() > MOST_LEFT:
            reason = f"More than {MOST_LEFT:,} records have no match: the rest was not read."
            break

    def earlier(hashes: Int64s) -> Int64s:
        known = [np.empty((2, 0), np.int64)]
        known += [rows[[HASH, OFFSET]] for rows in _rows(form, iter(readers[2]))]
        both = np.concatenate(known, axis=1)
        found = np.full(len(hashes), -1, np.int64)
        _, here, there = np.intersect1d(hashes, both[0], return_indices=True)
        found[here] = both[1][there]
        return found

    source = readers[0]
    undecided = chain.from_iterable(source.undecided.values())
    judged = judge(alignment, edges, earlier, source.aborted, undecided)
    matched = alignment.matched
    return {name: getattr(judged, name) for name in Judged.__slots__} | {
        "compared": matched.records,
        "next": [one + 1 for one in matched.last] if matched.rows else None,
        "can_resume": judged.can_resume and not reason,
        "stopped": reason,
    }


def _rows(form: _Form, chunks: Iterator[Chunk], first: Chunk | None = None) -> Iterator[Int64s]:
    """Yield the rows of chunks; those of the first one are made now, as its content holds no longer."""
    begin = [] if first is None else [form.rows(first)]
    return chain(begin, map(form.rows, chunks))


def _some(coming: Iterator[Int64s]) -> Int64s | None:
    parts, size = [], 0
    for rows in coming:
        parts.append(rows)
        size += rows.shape[1]
        if size >= SEGMENT:
            break
    return np.concatenate(parts, axis=1) if parts else None


def _unread(reader: SpanReader) -> str:
    outcome = reader.outcome
    if outcome.unreadable_count:
        offset, why = outcome.unreadable[0]
        return f"A batch cannot be read, at offset {offset:,}: it {why}."
    return f"It was not read to its end: {outcome.fault}" if outcome.fault else ""
