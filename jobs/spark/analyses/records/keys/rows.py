"""Rows, facts and notes of `key-skew`, from what is known of the keys of topics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from jobs.spark.analyses.analysis import Analysis
from jobs.spark.analyses.records.keys.counting import TopicKeys, hidden
from jobs.spark.analyses.records.keys.placement import (
    Fingerprint,
    apart,
    cause,
    fingerprint,
    hot_ones,
    simulated,
    skew_of,
)
from jobs.spark.analyses.records.keys.summaries import Row

_FEW_RECORDS = 100
# The worst first; the first five are what a verdict names.
_CAUSES = {
    "hot_key": "Hot keys make the skew: more partitions do not help.",
    "bad_partitioner": "The partitioner makes the skew: murmur2 would spread the same keys better.",
    "unexplained": "Neither hot keys nor the partitioner explain the skew.",
    "few_keys": "There are too few keys for so many partitions.",
    "unknown": "Not all records could be read: its skew is not judged.",
    "empty": "It has no records in the range.",
    "one_partition": "It has one partition: there is no skew.",
    "no_keys": "No record has a key.",
    "balanced": "Balanced.",
}
_SEVERE = tuple(_CAUSES)[:5]


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

    def add(self, topic: str, known: TopicKeys, *, is_whole: bool = True) -> None:
        """Judge a topic; both summaries of `known` are settled. `is_whole`: all of it could be read."""
        count, keyed, records = known.count, known.keyed, int(known.records.sum())
        found = fingerprint(known.sample.pairs, count)
        self._known[topic] = known, found
        keys, top, bound = known.best_known()
        distinct = known.sample.distinct()
        hot = hot_ones(top, keyed, count, distinct)
        without = known.records - known.records_of(hot)
        observed, left = skew_of(known.records), skew_of(without)
        simulate = partial(simulated, keys=keys, sample=known.sample.pairs, keyed=keyed, hot=top)
        by_murmur2, *_ = simulate("murmur2", count=count)
        why = cause(observed, left, by_murmur2, (records, keyed, count, distinct))
        excess = (observed.max_mean or 1) - 1
        gone = max(1 - ((left.max_mean or 1) - 1) / excess, 0.0) if excess else None
        sizes = skew_of(known.sizes).max_mean
        head = (topic, count, records, int(known.sizes.sum()), known.nulls, distinct)
        skews = (observed.max_mean, sizes, observed.cv, observed.top_share, left.max_mean, gone)
        prints = (found.name, found.share, found.detail, found.since_ms)
        self._add("topics", *head, why if is_whole else "unknown", *skews, hot.shape[1], *prints)
        for n, number in enumerate(known.records.tolist()):
            share = number / records if records else None
            sums = (number, share, int(known.sizes[n]), int(without[n]))
            self._add("partitions", topic, n, f"{topic}-{n}", *sums)
        for rank, key in enumerate(top.T.tolist(), 1):
            key_hash, number, size, low, high = key[: Row.HIGH + 1]
            text = known.texts.get(key_hash) or hidden(key_hash, self._cluster_id, topic)
            facts = (number / records, size, low if low == high else None, number >= bound)
            self._add("hot_keys", topic, rank, text, number, *facts)
        rule = found.rule or "murmur2"
        for other in sorted({count, *(self._counts or (max(count // 2, 1), 2 * count))}):
            skew, *moved = simulate(rule, count=other)
            self._add("simulation", topic, other, rule, skew.max_mean, skew.top_share, *moved)
        self.notes += _notes(topic, known, found, bound)

    def join(self, first: str, second: str) -> None:
        """Compare the partitions of the keys of two topics that were added."""
        (one, print_one), (other, print_other) = self._known[first], self._known[second]
        keys, n, since = apart(
            *((known.sample.pairs, known.sample.threshold) for known in (one, other))
        )
        sides = (one.count, other.count, print_one.name, print_other.name)
        self._add("joins", first, second, *sides, keys, n, n / keys if keys else None, since)
        if not keys:
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
            "skewed_topics": sum(one in _SEVERE[:-1] for one in causes.values()),
            "hottest_key_share": hot["share"] if hot else None,
            "hottest_key_topic": hot["topic"] if hot else None,
            "keys_compared": sum(row["keys"] for row in joins),
            "keys_apart": sum(row["apart"] for row in joins),
        }


def _notes(topic: str, known: TopicKeys, found: Fingerprint, bound: int) -> Iterator[str]:
    if 0 < known.records.sum() < _FEW_RECORDS * known.count:
        yield f"{topic} has fewer than {_FEW_RECORDS} records per partition: skew may be chance."
    if known.nulls and known.keyed:
        yield f"{topic}: {known.nulls:,} records have no key. Simulation leaves them out."
    if bound:
        yield (
            f"{topic}: keys that were not counted exactly have at most {bound:,} records each. "
            "Simulation spreads the rare ones evenly."
        )
    if known.keyed and not found.rule:
        yield (
            f"{topic}: its partitioner is not known ({found.name}). Simulation places keys by murmur2."
        )


def _verdict(causes: dict[str, str], joins: list[dict[str, Any]]) -> str:
    said = [
        f"{row['share']:.1%} of the keys in {row['first']} and {row['second']} are in different partitions: "
        "a join misses them."
        for row in joins
        if row["apart"]
    ]
    worst = min(causes, key=lambda topic: list(_CAUSES).index(causes[topic]))
    if causes[worst] in _SEVERE:
        said.append(f"{worst}: {_CAUSES[causes[worst]]}")
    else:
        said.append(_CAUSES[causes[worst]] if len(causes) == 1 else "No topic is skewed.")
    return " ".join(said)
