"""What tasks find out about the keys of a topic, and how that of several tasks is put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types

from jobs.spark.analyses.records import hot_keys
from jobs.spark.analyses.records.hot_keys import FrequentKeys, SampledKeys
from jobs.spark.analyses.records.partitioning import HOUR_MS, RULES, placed
from jobs.spark.analyses.records.ranges import Work
from jobs.spark.analyses.records.reading import SpanReader
from jobs.visible import visible_line
from jobs.wire.rebatch.columns import RecordColumns, partitioner_hashes
from jobs.wire.rebatch.table import Int64s

MOST_FREQUENT = 32_768
_LEAST_FREQUENT = 1_024
_OFFSETS_A_KEY = 64
SAMPLE = 2_048
# So many keys are answered, found among so many candidates that are counted exactly.
TOP = 100
_CANDIDATES = 1_000
_MOST_PAIRS = 50_000
_MOST_HOURS = 10_000
_LONGEST_KEY = 200
_ROWS = (
    "hash", "records", "bytes", "low", "high", "murmur2", "crc32", "fnv1a", "first_ms", "last_ms",
)  # fmt: skip
_HOURS = ("hour_ms", "keyed", *RULES)
Hours = dict[int, list[int]]


@dataclass(slots=True, eq=False)
class TopicKeys:
    """What is known of the keys of a topic, or of a piece of it.

    `records` and `sizes` (bytes of keys, values and headers) have an entry for each partition. `hours`: by
    Unix ms (-1: no time), keyed records and how many of them each rule explains; empty keys are left out, as
    librdkafka may place them at random.
    """

    count: int
    frequent: FrequentKeys
    sample: SampledKeys
    records: Int64s
    sizes: Int64s
    nulls: int = 0
    hours: Hours = field(default_factory=dict)

    @classmethod
    def empty(cls, count: int, capacity: int = MOST_FREQUENT) -> TopicKeys:
        """Return what is known of no record of a topic with `count` partitions."""
        frequent, sample = FrequentKeys(capacity), SampledKeys(SAMPLE, _MOST_PAIRS)
        return cls(count, frequent, sample, np.zeros(count, np.int64), np.zeros(count, np.int64))

    @property
    def keyed(self) -> int:
        return int(self.records.sum()) - self.nulls

    def settle(self) -> None:
        """Bring both summaries up to date."""
        self.frequent.settle()
        self.sample.settle()

    def take(self, records: RecordColumns, partition: int) -> None:
        """Count records of a partition."""
        sizes = np.maximum(records.key_bytes, 0) + np.maximum(records.value_bytes, 0)
        sizes += records.header_bytes
        self.records[partition] += len(records)
        self.sizes[partition] += int(sizes.sum())
        keyed = records.key_bytes >= 0
        count = int(keyed.sum())
        self.nulls += len(records) - count
        if not count:
            return
        if count < len(records):
            records, sizes = records.only(keyed), sizes[keyed]
        hashes = partitioner_hashes(records)
        keys = np.empty((hot_keys.WIDTH, count), np.int64)
        keys[hot_keys.HASH] = records.key_hashes
        keys[hot_keys.RECORDS] = 1
        keys[hot_keys.BYTES] = sizes
        keys[hot_keys.LOW] = keys[hot_keys.HIGH] = partition
        keys[hot_keys.MURMUR2 : hot_keys.FNV1A + 1] = hashes
        keys[hot_keys.FIRST] = np.where(records.times < 0, hot_keys.NO_FIRST, records.times)
        keys[hot_keys.LAST] = records.times
        found = hot_keys.grouped(keys)
        self.frequent.add(found)
        full = records.key_bytes > 0
        if not full.all():
            found, hashes, keys = hot_keys.grouped(keys[:, full]), hashes[:, full], keys[:, full]
        self.sample.add(found)
        self._count_hours(keys[hot_keys.LAST], hashes, partition)

    def _count_hours(self, times: Int64s, hashes: Int64s, partition: int) -> None:
        hours, at = np.unique(np.where(times < 0, -1, times // HOUR_MS), return_inverse=True)
        counts = [np.bincount(at, minlength=len(hours))]
        for rule, of_rule in zip(RULES, hashes, strict=True):
            fits = placed(rule, of_rule, self.count) == partition
            counts.append(np.bincount(at[fits], minlength=len(hours)))
        found = np.stack([hours, *counts], axis=1).tolist()
        add_hours(self.hours, ((max(one[0] * HOUR_MS, -1), *one[1:]) for one in found))

    def tables(self, partition: int) -> dict[str, pa.Table]:
        """Return what is known of a piece of one partition."""
        self.settle()
        sums = {
            "records": int(self.records[partition]),
            "bytes": int(self.sizes[partition]),
            "nulls": self.nulls,
            "error": self.frequent.error,
            "threshold": self.sample.threshold,
        }
        hours = [(ms, *one) for ms, one in self.hours.items()]
        columns = np.array(hours, np.int64).reshape(len(hours), len(_HOURS)).T
        return {
            "sums": pa.table({name: pa.array([n], pa.uint64()) for name, n in sums.items()}),
            "frequent": pa.table(dict(zip(_ROWS, self.frequent.keys, strict=True))),
            "sample": pa.table(dict(zip(_ROWS, self.sample.pairs, strict=True))),
            "hours": pa.table(dict(zip(_HOURS, columns, strict=True))),
        }

    def merge(self, tables: Mapping[str, pa.Table], partition: int) -> None:
        """Add what a task found in a piece of a partition."""
        (sums,) = tables["sums"].to_pylist()
        self.records[partition] += sums["records"]
        self.sizes[partition] += sums["bytes"]
        self.nulls += sums["nulls"]
        self.frequent.add(_keys(tables["frequent"]), sums["error"])
        self.sample.add(_keys(tables["sample"]), sums["threshold"])
        add_hours(
            self.hours, zip(*(tables["hours"][name].to_pylist() for name in _HOURS), strict=True)
        )


def _keys(table: pa.Table) -> Int64s:
    return np.stack([table[name].to_numpy() for name in _ROWS]).astype(np.int64, copy=False)


def add_hours(hours: Hours, found: Iterable[Sequence[int]]) -> None:
    """Add counts of hours; beyond a bound, those of further hours are counted without their time."""
    for ms, *counts in found:
        at = ms if ms in hours or len(hours) < _MOST_HOURS else -1
        before = hours.setdefault(at, [0] * (len(_HOURS) - 1))
        hours[at] = [one + more for one, more in zip(before, counts, strict=True)]


def read_keys(
    readers: Sequence[SpanReader], work: Work, options: Mapping[str, Any]
) -> dict[str, pa.Table]:
    """Reduce a piece of a partition to its frequent keys and its sample; `options`: `counts` by topic."""
    (reader,) = readers
    span = reader.span
    capacity = min(max(work.offsets // _OFFSETS_A_KEY, _LEAST_FREQUENT), MOST_FREQUENT)
    found = TopicKeys.empty(options["counts"][span.topic], capacity)
    for chunk in reader:
        if chunk.records is not None:
            found.take(chunk.records, span.partition)
    return found.tables(span.partition)


def count_keys(
    readers: Sequence[SpanReader], _work: Work, options: Mapping[str, Any]
) -> dict[str, pa.Table]:
    """Count chosen keys exactly; `options`: their hashes by topic (`chosen`), `shown`: return keys, too."""
    (reader,) = readers
    wanted = np.sort(np.array(options["chosen"][reader.span.topic], np.int64))
    counts = np.zeros((2, len(wanted)), np.int64)
    keys: list[bytes | None] = [None] * len(wanted)
    for chunk in reader:
        records = chunk.records
        if records is None or not len(wanted):
            continue
        at = np.minimum(np.searchsorted(wanted, records.key_hashes), len(wanted) - 1)
        hits = np.flatnonzero((wanted[at] == records.key_hashes) & (records.key_bytes >= 0))
        at = at[hits]
        sizes = records.key_bytes[hits] + np.maximum(records.value_bytes[hits], 0)
        sizes += records.header_bytes[hits]
        counts[0] += np.bincount(at, minlength=len(wanted))
        np.add.at(counts[1], at, sizes)
        if options["shown"]:
            for place, first in zip(*np.unique(at, return_index=True), strict=True):
                if keys[place] is None:
                    keys[place] = (records.key(int(hits[first])) or b"")[: _LONGEST_KEY + 1]
    columns = {"hash": wanted, "records": counts[0], "bytes": counts[1]}
    return {"counts": pa.table({**columns, "key": pa.array(keys, pa.binary())})}


@dataclass(slots=True, eq=False)
class CountedKeys:
    """Exact counts of chosen keys of a topic: by hash, records and bytes of each partition."""

    records: dict[int, dict[int, int]] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)

    def merge(self, table: pa.Table, partition: int) -> None:
        """Add what a task counted in a piece of a partition."""
        for row in table.to_pylist():
            if not row["records"]:
                continue
            of_key = self.records.setdefault(row["hash"], {})
            of_key[partition] = of_key.get(partition, 0) + row["records"]
            self.sizes[row["hash"]] = self.sizes.get(row["hash"], 0) + row["bytes"]
            if row["key"] is not None:
                self.texts[row["hash"]] = key_text(row["key"])

    def exact(self, keys: Int64s) -> Int64s:
        """Return keys with their exact counts and partitions, the largest first."""
        found = keys[:, np.isin(keys[hot_keys.HASH], list(self.records))]
        for column in found.T:
            of_key = self.records[int(column[hot_keys.HASH])]
            column[hot_keys.RECORDS] = sum(of_key.values())
            column[hot_keys.BYTES] = self.sizes[int(column[hot_keys.HASH])]
            column[hot_keys.LOW], column[hot_keys.HIGH] = min(of_key), max(of_key)
        order = np.lexsort((found[hot_keys.HASH], -found[hot_keys.RECORDS]))
        ordered: Int64s = found[:, order]
        return ordered


def candidates(known: TopicKeys, *, is_shown: bool) -> list[int]:
    """Return the hashes of the keys that a second pass has to count; none where all is known exactly."""
    top = known.frequent.top(_CANDIDATES)
    is_spread = bool((top[hot_keys.LOW, :TOP] != top[hot_keys.HIGH, :TOP]).any())
    if not known.frequent.error and not is_shown and not is_spread:
        return []
    found: list[int] = top[hot_keys.HASH].tolist()
    return found


def with_counts(frequent: FrequentKeys, counted: CountedKeys | None) -> tuple[Int64s, Int64s, int]:
    """Return the frequent keys, the top of them, and how many records any other key may have at most.

    Keys that were counted have their exact counts; the bound is 0 where all keys are exact.
    """
    if counted is None:
        return frequent.keys, frequent.top(TOP), 0
    ordered = frequent.top(_CANDIDATES + 1)
    exact = counted.exact(ordered[:, :_CANDIDATES])
    others = ~np.isin(frequent.keys[hot_keys.HASH], exact[hot_keys.HASH])
    keys = np.concatenate([exact, frequent.keys[:, others]], axis=1)
    bound = frequent.error
    if bound and ordered.shape[1] > _CANDIDATES:
        bound += int(ordered[hot_keys.RECORDS, _CANDIDATES])
    return keys, exact[:, :TOP], bound


def key_text(key: bytes) -> str:
    """Return a key for a page: UTF-8 where it is that, else hex; cut where it is long."""
    cut = key[:_LONGEST_KEY]
    more = "…" if len(key) > _LONGEST_KEY else ""
    try:
        text = cut.decode("utf-8", "strict")
    except UnicodeDecodeError as error:
        # A letter may be cut in the middle.
        if not more or error.start < len(cut) - 3:
            return f"0x{cut.hex()}{more}"
        text = cut[: error.start].decode("utf-8")
    return visible_line(text) + more if text else "(empty)"


def hidden(key_hash: int, cluster_id: str, topic: str) -> str:
    """Return a key's hash as 16 hex digits that differ between topics and clusters."""
    name = blake2b(f"{cluster_id}/{topic}".encode(), digest_size=32).digest()
    told = key_hash.to_bytes(8, "big", signed=True)
    return blake2b(told, digest_size=8, key=name).hexdigest()
