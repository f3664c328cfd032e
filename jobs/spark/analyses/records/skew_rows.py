"""Rows, facts and notes of `key-skew`, from what is known of the keys of topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jobs.spark.analyses.analysis import Analysis
from jobs.spark.analyses.records import hot_keys
from jobs.spark.analyses.records.partitioning import (
    Fingerprint,
    apart,
    cause,
    fingerprint,
    hot_ones,
    simulated,
    skew_of,
)
from jobs.spark.analyses.records.skew import (
    CountedKeys,
    TopicKeys,
    hidden,
    with_counts,
)
from jobs.wire.rebatch.table import Int64s

_FEW_RECORDS = 100
_CAUSES = {
    "empty": "It has no records in the range.",
    "one_partition": "It has one partition: there is no skew.",
    "no_keys": "No record has a key.",
    "balanced": "Balanced.",
    "hot_key": "Hot keys make the skew: more partitions do not help.",
    "bad_partitioner": "The partitioner makes the skew: murmur2 would spread the same keys better.",
    "few_keys": "There are too few keys for so many partitions.",
    "unknown": "Not all records could be read: its skew is not judged.",
    "unexplained": "Neither hot keys nor the partitioner explain the skew.",
}
# The worst first.
_SEVERITY = ("hot_key", "bad_partitioner", "unexplained", "few_keys", "unknown")


class Skews:
    """Tables of the answer as `rows`, topic by topic; `counts`: partition counts to simulate, else two."""

    def __init__(self, analysis: Analysis, cluster_id: str, counts: Sequence[int]) -> None:
        self._columns = {one.name: [c.name for c in one.columns] for one in analysis.tables}
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in self._columns}
        self.notes: list[str] = []
        self._cluster_id = cluster_id
        self._counts = counts
        self._known: dict[str, tuple[TopicKeys, Fingerprint]] = {}

    def _add(self, table: str, *values: Any) -> None:
        """Add a row, its values in the order of the columns."""
        self.rows[table].append(dict(zip(self._columns[table], values, strict=True)))

    def add(
        self, topic: str, known: TopicKeys, counted: CountedKeys | None, *, is_whole: bool = True
    ) -> None:
        """Judge a topic; both summaries of `known` are settled. `is_whole`: all of it could be read."""
        count, keyed, records = known.count, known.keyed, int(known.records.sum())
        found = fingerprint(known.sample.pairs, known.hours, count)
        self._known[topic] = known, found
        keys, top, bound = with_counts(known.frequent, counted)
        distinct = known.sample.distinct()
        hot = hot_ones(top, keyed, count, distinct)
        without = known.records - _records_of(hot, counted, count)
        observed, left = skew_of(known.records), skew_of(without)
        by_murmur2 = simulated("murmur2", keys, known.sample.pairs, keyed, top, count)
        why = cause(observed, left, by_murmur2.skew, (records, keyed, count, distinct))
        why = why if is_whole else "unknown"
        excess = (observed.max_mean or 1) - 1
        gone = max(1 - ((left.max_mean or 1) - 1) / excess, 0.0) if excess else None
        sizes = skew_of(known.sizes).max_mean
        head = (topic, count, records, int(known.sizes.sum()), known.nulls, distinct, why)
        skews = (observed.max_mean, sizes, observed.cv, observed.top_share, left.max_mean, gone)
        prints = (found.name, found.share, found.detail, found.since_ms)
        self._add("topics", *head, *skews, hot.shape[1], *prints)
        for n, number in enumerate(known.records.tolist()):
            share = number / records if records else None
            where = (topic, n, f"{topic}-{n}")
            self._add("partitions", *where, number, share, int(known.sizes[n]), int(without[n]))
        self._add_hot(topic, top, bound, counted, records)
        for ms, (of_hour, *fits) in sorted(known.hours.items()):
            shares = (fit / of_hour for fit in fits)
            self._add("hours", topic, ms if ms >= 0 else None, of_hour, *shares)
        rule = found.rule or "murmur2"
        for other in sorted({count, *(self._counts or (max(count // 2, 1), 2 * count))}):
            told = simulated(rule, keys, known.sample.pairs, keyed, top, other)
            moved = (told.moved_keys, told.moved_records, told.moved_hot)
            self._add(
                "simulation", topic, other, rule, told.skew.max_mean, told.skew.top_share, *moved
            )
        self._add_notes(topic, known, found, bound, records)

    def _add_hot(
        self, topic: str, top: Int64s, bound: int, counted: CountedKeys | None, records: int
    ) -> None:
        texts = counted.texts if counted is not None else {}
        for rank, key in enumerate(top.T.tolist(), 1):
            key_hash, number, size, low, high = key[: hot_keys.HIGH + 1]
            text = texts.get(key_hash) or hidden(key_hash, self._cluster_id, topic)
            where = low if low == high else None
            facts = (number, number / records, size, where, number >= bound)
            self._add("hot_keys", topic, rank, text, *facts)

    def _add_notes(
        self, topic: str, known: TopicKeys, found: Fingerprint, bound: int, records: int
    ) -> None:
        if 0 < records < _FEW_RECORDS * known.count:
            self.notes.append(
                f"{topic} has fewer than {_FEW_RECORDS} records per partition: skew may be chance."
            )
        if known.nulls and known.keyed:
            self.notes.append(
                f"{topic}: {known.nulls:,} records have no key. Simulation leaves them out."
            )
        if bound:
            self.notes.append(
                f"{topic}: keys that were not counted exactly have at most {bound:,} records each. "
                "Simulation spreads the rare ones evenly."
            )
        if known.keyed and not found.rule:
            self.notes.append(
                f"{topic}: its partitioner is not known ({found.name}). Simulation places keys by murmur2."
            )

    def join(self, first: str, second: str) -> None:
        """Compare the partitions of the keys of two topics that were added."""
        (one, print_one), (other, print_other) = self._known[first], self._known[second]
        told = apart(*((side.sample.pairs, side.sample.threshold) for side in (one, other)))
        sides = (one.count, other.count, print_one.name, print_other.name)
        facts = (told.keys, told.apart, told.share, told.since_ms)
        self._add("joins", first, second, *sides, *facts)
        if not told.keys:
            self.notes.append(f"{first} and {second}: no sampled key is in both.")

    def facts(self) -> dict[str, Any]:
        """Return what an operator reads first."""
        topics = self.rows["topics"]
        causes = {row["topic"]: row["cause"] for row in topics}
        hot = max(self.rows["hot_keys"], key=lambda row: row["share"], default=None)
        joins = self.rows["joins"]
        return {
            "verdict": _verdict(causes, joins),
            "topics": len(topics),
            "records": sum(row["records"] for row in topics),
            "skewed_topics": sum(one in _SEVERITY[:-1] for one in causes.values()),
            "hottest_key_share": hot["share"] if hot else None,
            "hottest_key_topic": hot["topic"] if hot else None,
            "keys_compared": sum(row["keys"] for row in joins),
            "keys_apart": sum(row["apart"] for row in joins),
        }


def _verdict(causes: dict[str, str], joins: list[dict[str, Any]]) -> str:
    said = [
        f"{row['share']:.1%} of the keys in {row['first']} and {row['second']} are in different partitions: "
        "a join misses them."
        for row in joins
        if row["apart"]
    ]
    skewed = sorted(
        (topic for topic in causes if causes[topic] in _SEVERITY),
        key=lambda topic: _SEVERITY.index(causes[topic]),
    )
    if skewed:
        said.append(f"{skewed[0]}: {_CAUSES[causes[skewed[0]]]}")
    elif len(causes) == 1:
        said.append(_CAUSES[next(iter(causes.values()))])
    else:
        said.append("No topic is skewed.")
    return " ".join(said)


def _records_of(hot: Int64s, counted: CountedKeys | None, count: int) -> Int64s:
    """Return the records of hot keys in each partition."""
    found = np.zeros(count, np.int64)
    for key in hot.T.tolist():
        of_key = counted.records.get(key[hot_keys.HASH]) if counted is not None else None
        for partition, records in (of_key or {key[hot_keys.LOW]: key[hot_keys.RECORDS]}).items():
            found[partition] += records
    return found
