"""Pointers of claim checks: read as columns in tasks, then compared with the objects of a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types

from jobs.spark.analyses.records.chunks import Chunk
from jobs.spark.analyses.records.ranges import Work
from jobs.spark.analyses.records.reading import SpanReader
from jobs.spark.analyses.records.running import Reduced, Tables
from jobs.spark.analyses.tracing.extracting import extraction_of
from jobs.spark.analyses.tracing.object_store import Objects
from jobs.spark.analyses.tracing.planning import problems_table
from jobs.tracing.claims import compare, is_within, object_path
from jobs.tracing.digests import digest
from jobs.tracing.extractors.columns import Extraction
from jobs.tracing.extractors.slices import slices_of
from jobs.tracing.outbox import IN_FLIGHT_MS, spread
from jobs.wire.rebatch.table import Int64s

MOST_LISTED = 1_000
_SIZES = ("object_p50", "object_p95", "object_p99", "object_max")
_LARGEST = ("largest", "largest_partition", "largest_offset")
COLUMNS = ("offset", "time", "object", "stated")


def read_claims(readers: Sequence[SpanReader], work: Work, options: Mapping[str, Any]) -> Tables:
    """Return `claims` (COLUMNS), one row of `sums`, and `problems`.

    `object`: a hash of its bucket and key, 0 where it is not in the option `store`. `stated`: its size as the
    pointer has it. Bytes are those of key, value and headers; `large` ones are inline.
    """
    parts: list[pa.Table] = []
    sums, problems = Counter[str](), Counter[str]()
    largest = (-1, -1)
    for reader in readers:
        for chunk in reader:
            found = extraction_of(options, chunk, reader.span)
            largest = max(largest, _add_chunk(chunk, found, options, sums, parts))
            problems.update(found.problems)
    types = [(name, pa.int64()) for name in COLUMNS]
    row = {**sums, "largest": largest[0], "largest_offset": largest[1]}
    return {
        "claims": pa.concat_tables([pa.schema(types).empty_table(), *parts]),
        "sums": pa.Table.from_pylist([row]),
        "problems": problems_table(problems),
    }


def _add_chunk(
    chunk: Chunk,
    found: Extraction,
    options: Mapping[str, Any],
    sums: Counter[str],
    parts: list[pa.Table],
) -> tuple[int, int]:
    """Add a chunk; returns size and offset of its largest value that is inline."""
    records = chunk.records
    assert records is not None  # noqa: S101  only headers have none
    uris = found.texts("uri")
    is_flagged = found.numbers("is_claim") == 1 if options["has_flag"] else uris.is_present
    is_claim = is_flagged & uris.is_present & (records.value_bytes >= 0)
    sizes = records.value_bytes + np.maximum(records.key_bytes, 0) + records.header_bytes
    sizes += records.value_bytes < 0
    inline = np.where(is_claim, -1, records.value_bytes)
    is_large = inline > options["large_bytes"]
    masks = {"claims": is_claim, "large": is_large, "records": np.ones(len(records), np.bool_)}
    for name, mask in masks.items():
        sums[name] += int(mask.sum())
        sums[f"{name}_bytes"] += int(sizes[mask].sum())
    sums["without_uri"] += int((is_flagged & ~uris.is_present & (records.value_bytes >= 0)).sum())
    at = np.flatnonzero(is_claim)
    paths = [object_path(uris.text(int(index)) or "") for index in at]
    sums["unclear"] += paths.count(None)
    objects = _objects(paths, options["store"])
    columns = (records.offsets[at], records.times[at], objects, found.numbers("object_bytes")[at])
    parts.append(pa.table(columns, names=list(COLUMNS)))
    top = int(np.argmax(inline)) if len(inline) else -1
    return (int(inline[top]), int(records.offsets[top])) if top >= 0 else (-1, -1)


def _objects(paths: Sequence[str | None], store: str | None) -> Int64s:
    inside = (path if store and path and is_within(path, [store]) else None for path in paths)
    return slices_of(None if path is None else path.encode() for path in inside).hashes()


class Claims:
    """The pointers of all tasks, an entry of each array for each; `work` is an index of `done`."""

    def __init__(self, done: Sequence[Reduced]) -> None:
        tables = [one.tables["claims"] for one in done]
        self._work = np.repeat(np.arange(len(done)), [len(one) for one in tables])
        self._offset, self._time, self._object, self._stated = (
            np.concatenate([one[name].to_numpy() for one in tables]) for name in COLUMNS
        )
        self._spans = [one.work.spans[0] for one in done]
        self._sums = [one.tables["sums"].to_pylist()[0] for one in done]
        self._settled_ms = min(one.work.extra["at_ms"] for one in done) - IN_FLIGHT_MS
        sums = ("records", "claims", "without_uri", "large", "large_bytes")
        self.facts: dict[str, Any] = {name: self.total(name) for name in sums}

    def total(self, name: str) -> int:
        """Return a sum of all tasks."""
        return sum(one.get(name) or 0 for one in self._sums)

    def compare(
        self, objects: Objects | None, *, is_shown: bool, with_orphans: bool
    ) -> dict[str, list[dict[str, Any]]]:
        """Return the rows of each table; counts of what is unknown are None among the facts."""
        self.facts["not_checked"] = int((self._object == 0).sum())
        self.facts |= dict.fromkeys(("objects", "dangling", "orphans", "orphan_bytes"))
        if objects is None:
            return {"topics": list(self._topics(self._stated, None)), "dangling": [], "orphans": []}
        hashes = slices_of(unquote(one).encode() for one in objects.paths).hashes()
        found = compare(self._object, hashes, objects.sizes, objects.changed_ms, self._settled_ms)
        lost = (self._object != 0) & (found.sizes < 0)
        orphans = found.orphans if with_orphans else found.orphans[:0]
        self.facts |= {"objects": len(objects.paths), "dangling": int(lost.sum())}
        if with_orphans:
            self.facts["orphans"] = len(orphans)
            self.facts["orphan_bytes"] = int(objects.sizes[orphans].sum())
        uris = [(index, f"s3://{objects.paths[index]}") for index in orphans[:MOST_LISTED]]
        return {
            "topics": list(
                self._topics(np.where(found.sizes >= 0, found.sizes, self._stated), lost)
            ),
            "dangling": [self._place(int(index)) for index in np.flatnonzero(lost)[:MOST_LISTED]],
            "orphans": [
                {
                    "uri": uri if is_shown else digest(uri),
                    "bytes": int(objects.sizes[index]),
                    "changed_ms": int(objects.changed_ms[index]),
                }
                for index, uri in uris
            ],
        }

    def _place(self, index: int) -> dict[str, Any]:
        span, at_ms = self._spans[self._work[index]], int(self._time[index])
        place = {"topic": span.topic, "partition": span.partition}
        return {
            **place, "offset": int(self._offset[index]), "at_ms": at_ms if at_ms >= 0 else None
        }  # fmt: skip

    def _topics(self, sizes: Int64s, lost: np.ndarray | None) -> Iterator[dict[str, Any]]:
        for topic in sorted({one.topic for one in self._spans}):
            works = [n for n, span in enumerate(self._spans) if span.topic == topic]
            sums: Counter[str] = Counter()
            for number in works:
                sums.update({name: value or 0 for name, value in self._sums[number].items()})
            top = max(works, key=lambda number: self._sums[number]["largest"])
            largest, largest_offset = (self._sums[top][n] for n in ("largest", "largest_offset"))
            place = (largest, self._spans[top].partition, largest_offset)
            is_own = np.isin(self._work, works)
            known = sizes[is_own & (sizes >= 0)]
            object_bytes = int(known.sum()) if len(known) else None
            total = sums["records_bytes"] + (object_bytes or 0)
            yield {
                "topic": topic,
                **{name: sums[name] for name in ("records", "claims", "large", "large_bytes")},
                "bytes": sums["records_bytes"],
                "claim_share": sums["claims"] / sums["records"] if sums["records"] else None,
                "object_bytes": object_bytes,
                "object_share": None if object_bytes is None else object_bytes / total,
                **dict(zip(_SIZES, spread(known), strict=True)),
                "dangling": None if lost is None else int((lost & is_own).sum()),
                **dict(zip(_LARGEST, place if largest >= 0 else (None,) * 3, strict=True)),
            }
