"""What tasks find out about the keys of a topic, and how that of several tasks is put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped] # it has no types

from jobs.spark.analyses.records.keys import summaries
from jobs.spark.analyses.records.keys.summaries import Row, SampledKeys, grouped, no_keys
from jobs.spark.analyses.records.ranges import Work
from jobs.spark.analyses.records.reading import SpanReader
from jobs.visible import visible_bytes
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
_LONGEST_KEY = 200


@dataclass(slots=True, eq=False)
class TopicKeys:
    """What is known of the keys of a topic, or of a piece of it.

    `records` and `sizes` (bytes of keys, values and headers) have an entry for each partition. `sample` is
    without empty keys, as librdkafka may place them at random. Of the second pass, `counted` has each chosen
    key and partition with exact counts, and `texts` what is shown of keys, by hash.
    """

    count: int
    frequent: summaries.FrequentKeys
    sample: SampledKeys
    records: Int64s
    sizes: Int64s
    nulls: int = 0
    counted: Int64s = field(default_factory=no_keys)
    texts: dict[int, str] = field(default_factory=dict)

    @classmethod
    def empty(cls, count: int, capacity: int = MOST_FREQUENT) -> TopicKeys:
        """Return what is known of no record of a topic with `count` partitions."""
        frequent, sample = summaries.FrequentKeys(capacity), SampledKeys(SAMPLE, _MOST_PAIRS)
        return cls(count, frequent, sample, np.zeros(count, np.int64), np.zeros(count, np.int64))

    @property
    def keyed(self) -> int:
        return int(self.records.sum()) - self.nulls

    def take(self, records: RecordColumns, partition: int) -> None:
        """Count records of a partition."""
        self.records[partition] += len(records)
        self.sizes[partition] += int(_sizes(records).sum())
        keyed = records if (records.key_bytes >= 0).all() else records.only(records.key_bytes >= 0)
        self.nulls += len(records) - len(keyed)
        keys = _columns(keyed, partition)
        found = grouped(keys)
        self.frequent.add(found)
        full = keyed.key_bytes > 0
        self.sample.add(found if full.all() else grouped(keys[:, full]))

    def tables(self, partition: int) -> dict[str, pa.Table]:
        """Return what is known of a piece of one partition."""
        self.settle()
        sums = (int(self.records[partition]), int(self.sizes[partition]), self.nulls)
        bounds = (self.frequent.error, self.sample.threshold)
        return {
            "sums": pa.table({"sums": pa.array((*sums, *bounds), pa.uint64())}),
            "frequent": _table(self.frequent.keys),
            "sample": _table(self.sample.pairs),
        }

    def merge(self, tables: Mapping[str, pa.Table], partition: int) -> None:
        """Add what a task found in a piece of a partition."""
        records, size, nulls, error, threshold = tables["sums"]["sums"].to_pylist()
        self.records[partition] += records
        self.sizes[partition] += size
        self.nulls += nulls
        self.frequent.add(_keys(tables["frequent"]), error)
        self.sample.add(_keys(tables["sample"]), threshold)

    def merge_counted(self, tables: Mapping[str, pa.Table]) -> None:
        """Add what a task of the second pass counted."""
        pairs = np.concatenate([self.counted, _keys(tables["pairs"])], axis=1)
        self.counted = grouped(pairs, by_partition=True)
        for row in tables["texts"].to_pylist():
            self.texts[row["hash"]] = row["key"]

    def settle(self) -> None:
        """Bring both summaries up to date."""
        self.frequent.settle()
        self.sample.settle()

    def candidates(self, *, is_shown: bool) -> list[int]:
        """Return the hashes of the keys that a second pass has to count; none where all is exact."""
        top = self.frequent.top(_CANDIDATES)
        is_spread = bool((top[Row.LOW, :TOP] != top[Row.HIGH, :TOP]).any())
        found: list[int] = top[Row.HASH].tolist()
        return found if self.frequent.error or is_shown or is_spread else []

    def best_known(self) -> tuple[Int64s, Int64s, int]:
        """Return the frequent keys, the top of them, and how many records any other key has at most.

        Keys that were counted have their exact counts; the bound is 0 where all keys are exact.
        """
        frequent, bound = self.frequent, self.frequent.error
        if not self.counted.shape[1]:
            return frequent.keys, frequent.top(TOP), bound
        exact = grouped(self.counted)
        exact = exact[:, np.lexsort((exact[Row.HASH], -exact[Row.RECORDS]))]
        others = ~np.isin(frequent.keys[Row.HASH], exact[Row.HASH])
        keys = np.concatenate([exact, frequent.keys[:, others]], axis=1)
        if bound and others.any():
            bound += int(frequent.keys[Row.RECORDS, others].max())
        return keys, exact[:, :TOP], bound

    def records_of(self, keys: Int64s) -> Int64s:
        """Return the records of keys in each partition; they were counted, or are in one partition."""
        is_counted = np.isin(self.counted[Row.HASH], keys[Row.HASH])
        pairs = self.counted[:, is_counted] if is_counted.any() else keys
        found = np.zeros(self.count, np.int64)
        np.add.at(found, pairs[Row.LOW], pairs[Row.RECORDS])
        return found


def _sizes(records: RecordColumns) -> Int64s:
    sizes: Int64s = np.maximum(records.key_bytes, 0) + np.maximum(records.value_bytes, 0)
    return sizes + records.header_bytes


def _columns(records: RecordColumns, partition: int) -> Int64s:
    """Return a column for each record of a partition; all have a key."""
    keys = np.empty((summaries.WIDTH, len(records)), np.int64)
    keys[Row.HASH], keys[Row.RECORDS], keys[Row.BYTES] = records.key_hashes, 1, _sizes(records)
    keys[Row.LOW] = keys[Row.HIGH] = partition
    keys[Row.MURMUR2 : Row.FIRST] = partitioner_hashes(records)
    keys[Row.FIRST] = np.where(records.times < 0, summaries.NO_FIRST, records.times)
    keys[Row.LAST] = records.times
    return keys


def _table(keys: Int64s) -> pa.Table:
    return pa.table({str(n): row for n, row in enumerate(keys)})


def _keys(table: pa.Table) -> Int64s:
    return np.stack([column.to_numpy() for column in table.columns]).astype(np.int64, copy=False)


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
    chosen = np.sort(np.array(options["chosen"][reader.span.topic], np.int64))
    pairs, texts = no_keys(), dict[int, str]()
    for chunk in reader:
        if chunk.records is None:
            continue
        hashes = chunk.records.key_hashes
        at = np.minimum(np.searchsorted(chosen, hashes), len(chosen) - 1)
        hits = chunk.records.only((chosen[at] == hashes) & (chunk.records.key_bytes >= 0))
        found = _columns(hits, reader.span.partition)
        pairs = grouped(np.concatenate([pairs, found], axis=1))
        firsts = np.unique(hits.key_hashes, return_index=True)[1] if options["shown"] else ()
        for index in map(int, firsts):
            if (key_hash := int(hits.key_hashes[index])) not in texts:
                texts[key_hash] = visible_bytes(hits.key(index) or b"", _LONGEST_KEY) or "(empty)"
    told = [{"hash": key_hash, "key": key} for key_hash, key in texts.items()]
    schema = pa.schema([("hash", pa.int64()), ("key", pa.string())])
    return {"pairs": _table(pairs), "texts": pa.Table.from_pylist(told, schema)}


def hidden(key_hash: int, cluster_id: str, topic: str) -> str:
    """Return a key's hash as 16 hex digits that differ between topics and clusters."""
    name = blake2b(f"{cluster_id}/{topic}".encode(), digest_size=32).digest()
    told = key_hash.to_bytes(8, "big", signed=True)
    return blake2b(told, digest_size=8, key=name).hexdigest()
