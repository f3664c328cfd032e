"""What tasks find out about keys, beside a naive count; and what is made of it."""

import json
import zlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.cluster.errors import InvalidFields
from jobs.spark.analyses.analysis import checked_arguments
from jobs.spark.analyses.document import arrow_table
from jobs.spark.analyses.records import key_skew
from jobs.spark.analyses.records.keys import summaries
from jobs.spark.analyses.records.keys.counting import TopicKeys, count_keys, hidden, read_keys
from jobs.spark.analyses.records.keys.placement import fingerprint, partitions_by
from jobs.spark.analyses.records.keys.rows import Skews
from jobs.spark.analyses.records.keys.summaries import FrequentKeys, Row, SampledKeys
from jobs.spark.analyses.records.ranges import Span, Work
from jobs.wire.batches.hashes import partition_for_key
from tests.jobs.spark.analyses.records.given_records import reader_of, record

HOUR = 3_600_000
counts_of_keys = st.lists(st.integers(0, 60), max_size=400)


def keys_of(numbers, partition=0):
    """Return an entry for each number, as its hash."""
    keys = np.zeros((summaries.WIDTH, len(numbers)), np.int64)
    keys[Row.HASH] = np.array(numbers, np.int64) * 7_919 + 1
    keys[Row.RECORDS], keys[Row.BYTES] = 1, 10
    keys[Row.LOW] = keys[Row.HIGH] = partition
    return keys


def fnv1a(key):
    hashed = 0x811C9DC5
    for byte in key:
        hashed = (hashed ^ byte) * 0x01000193 & 0xFFFFFFFF
    return hashed


def by_fnv1a(key, count):
    signed = fnv1a(key) - (1 << 32) if fnv1a(key) >> 31 else fnv1a(key)
    return abs(signed) % count


def by_crc32(key, count):
    return zlib.crc32(key) % count


def by_length(key, count):
    return sum(key) // 7 % count


KEYS = [f"customer-{n}".encode() for n in range(300)]


class Topic:
    """A topic that a test writes record by record, and what the reducer makes of it."""

    def __init__(self, count, name="orders"):
        self.count, self.name = count, name
        self.partitions = {}

    def write(self, keys, place, at_ms=HOUR):
        for key in keys:
            found = self.partitions.setdefault(place(key, self.count), [])
            found.append(record(len(found), key, at_ms=at_ms + len(found)))
        return self

    def readers(self):
        return [
            reader_of(records, topic=self.name, partition=partition)
            for partition, records in sorted(self.partitions.items())
        ]

    def known(self):
        known = TopicKeys.empty(self.count)
        for reader in self.readers():
            work = Work((reader.span,))
            tables = read_keys([reader], work, {"counts": {self.name: self.count}})
            known.merge(tables, reader.span.partition)
        known.settle()
        return known


def judged(*topics, counts=()):
    skews = Skews(key_skew.ANALYSIS, "cluster", counts)
    for topic in topics:
        skews.add(topic.name, topic.known())
    return skews


@settings(deadline=None)
@given(st.lists(counts_of_keys, max_size=5), st.integers(1, 30))
def test_a_frequent_key_is_off_by_the_error_at_most_and_the_error_is_bounded(parts, capacity):
    whole = FrequentKeys(capacity)
    for part in parts:
        one = FrequentKeys(capacity)
        one.add(keys_of(part))
        one.settle()
        whole.add(one.keys, one.error)
    whole.settle()
    naive = Counter(keys_of([n for part in parts for n in part])[Row.HASH].tolist())
    found = dict(zip(whole.keys[Row.HASH].tolist(), whole.keys[Row.RECORDS].tolist(), strict=True))
    assert len(found) <= capacity
    assert whole.error <= sum(naive.values()) / (capacity + 1)
    for key, records in naive.items():
        assert found.get(key, 0) <= records <= found.get(key, 0) + whole.error
    assert set(found) <= set(naive)


@settings(deadline=None)
@given(st.lists(counts_of_keys, min_size=1, max_size=5), st.integers(1, 30))
def test_a_sample_of_parts_is_the_sample_of_the_whole_with_exact_counts(parts, most):
    whole, merged = SampledKeys(most, 1_000), SampledKeys(most, 1_000)
    for partition, part in enumerate(parts):
        keys = keys_of(part, partition)
        whole.add(keys)
        one = SampledKeys(most, 1_000)
        one.add(keys)
        one.settle()
        merged.add(one.pairs, one.threshold)
    whole.settle()
    merged.settle()
    assert merged.threshold == whole.threshold
    assert merged.pairs.tolist() == whole.pairs.tolist()
    naive = Counter(
        (key, partition)
        for partition, part in enumerate(parts)
        for key in keys_of(part)[Row.HASH].tolist()
    )
    for key, partition, records in zip(
        *merged.pairs[[Row.HASH, Row.LOW, Row.RECORDS]].tolist(), strict=True
    ):
        assert naive[key, partition] == records
    assert len(set(merged.pairs[Row.HASH].tolist())) == min(most, len({key for key, _ in naive}))


def test_a_sample_is_bounded_where_keys_are_in_many_partitions():
    sample = SampledKeys(100, 200)
    for partition in range(50):
        sample.add(keys_of(range(100), partition))
    sample.settle()
    assert 0 < sample.pairs.shape[1] <= 200


def test_distinct_keys_are_estimated_from_a_sample():
    sample = SampledKeys(1_000, 10_000)
    sample.add(keys_of(range(50_000)))
    sample.settle()
    assert sample.distinct() == pytest.approx(50_000, rel=0.1)


@pytest.mark.parametrize(
    ("rule", "place"),
    [("murmur2", partition_for_key), ("crc32", by_crc32), ("fnv1a", by_fnv1a)],
)
def test_a_partitioner_is_recognised(rule, place):
    known = Topic(7).write(KEYS, place).known()
    found = fingerprint(known.sample.pairs, 7)
    assert (found.name, found.share, found.rule) == (rule, 1.0, rule)


def test_keys_by_an_own_rule_are_custom_and_spread_ones_are_sticky():
    turns = iter(range(10**6))
    custom = Topic(5).write(KEYS * 2, by_length).known()
    sticky = Topic(5).write(KEYS * 4, lambda _key, count: next(turns) // 7 % count).known()
    names = [fingerprint(one.sample.pairs, 5).name for one in (custom, sticky)]
    assert names == ["custom", "sticky"]


def test_a_change_of_the_partitioner_is_dated():
    topic = Topic(6).write(KEYS, partition_for_key, HOUR).write(KEYS, by_crc32, 9 * HOUR)
    known = topic.known()
    found = fingerprint(known.sample.pairs, 6)
    assert (found.name, found.detail) == ("mixed", "murmur2, then crc32.")
    assert 9 * HOUR <= found.since_ms < 9 * HOUR + 600


def test_two_producers_at_the_same_time_are_told_from_a_change():
    topic = Topic(6)
    for hour in (1, 2, 3):
        topic.write(KEYS[::2], partition_for_key, hour * HOUR)
        topic.write(KEYS[1::2], by_crc32, hour * HOUR)
    known = topic.known()
    found = fingerprint(known.sample.pairs, 6)
    assert found.name == "mixed"
    assert found.detail.endswith("at least two producers.")


def test_a_topic_that_grew_shows_its_former_partition_count():
    topic = Topic(8).write(KEYS, lambda key, _count: partition_for_key(key, 3), HOUR)
    known = topic.write(KEYS, partition_for_key, 5 * HOUR).known()
    found = fingerprint(known.sample.pairs, 8)
    assert found.detail == "murmur2 with 3 partitions, then murmur2."
    assert 5 * HOUR <= found.since_ms < 5 * HOUR + 600


@pytest.mark.parametrize(
    ("topic", "cause", "partitioner"),
    [
        pytest.param(Topic(3), "empty", "unknown", id="empty"),
        pytest.param(
            Topic(1).write(KEYS, by_crc32), "one_partition", "unknown", id="one-partition"
        ),
        pytest.param(Topic(2).write([None] * 9, lambda *_: 1), "no_keys", "unknown", id="no-keys"),
        pytest.param(
            Topic(4).write([b"a"] * 50, partition_for_key), "hot_key", "unknown", id="one-key"
        ),
        pytest.param(
            Topic(6).write(KEYS + [b"hot"] * 200, partition_for_key), "hot_key", "murmur2", id="hot"
        ),
        pytest.param(
            Topic(6).write(KEYS * 2, lambda key, _count: by_crc32(key, 2)),
            "bad_partitioner",
            "mixed",
            id="two-of-six-used",
        ),
        pytest.param(Topic(6).write(KEYS, partition_for_key), "balanced", "murmur2", id="balanced"),
        pytest.param(
            Topic(40).write(KEYS[:45] * 3, partition_for_key), "few_keys", "murmur2", id="few-keys"
        ),
    ],
)
def test_the_cause_of_skew_is_named(topic, cause, partitioner):
    (row,) = judged(topic).rows["topics"]
    assert (row["cause"], row["partitioner"]) == (cause, partitioner)


def test_a_topic_that_could_not_be_read_whole_is_not_judged():
    topic = Topic(6).write(KEYS, partition_for_key)
    skews = Skews(key_skew.ANALYSIS, "cluster", [])
    skews.add("orders", topic.known(), is_whole=False)
    assert skews.rows["topics"][0]["cause"] == "unknown"
    assert skews.facts()["skewed_topics"] == 0
    assert "not judged" in skews.facts()["verdict"]


def test_a_bound_on_records_keeps_the_skew_of_partitions():
    spans = [Span("cluster", "t", n, 10, 10 + size, 0, 900) for n, size in enumerate((100, 800, 0))]
    found = key_skew.alike(spans, 90)
    assert [one.offsets for one in found] == [10, 80, 0]
    assert [one.end for one in found] == [110, 810, 10]
    assert [one.is_cut for one in found] == [True, True, False]
    assert key_skew.alike(spans, 900) == spans


def test_hot_keys_are_hashed_with_their_share_and_partition():
    topic = Topic(6).write(KEYS + [b"hot"] * 200, partition_for_key)
    skews = judged(topic)
    first = skews.rows["hot_keys"][0]
    assert (first["records"], first["share"], first["rank"]) == (200, 0.4, 1)
    assert first["partition"] == partition_for_key(b"hot", 6)
    assert first["bytes"] == 200 * len(b"hotv")
    assert len(first["key"]) == 16
    assert "hot" not in json.dumps(skews.rows["hot_keys"], default=str).replace("hot_keys", "")
    assert skews.facts()["hottest_key_share"] == 0.4
    (row,) = skews.rows["topics"]
    assert (row["hot"], row["explained"]) == (1, pytest.approx(0.9, abs=0.1))
    assert hidden(-5, "a", "t") != hidden(-5, "a", "u")


def test_a_second_pass_counts_chosen_keys_exactly_and_shows_them():
    topic = Topic(4).write(KEYS + [b"hot"] * 50 + [b"\xff"] * 7 + [None], lambda *_: 2)
    known = topic.known()
    options = {"chosen": {"orders": known.frequent.top(2)[Row.HASH].tolist()}, "shown": True}
    for reader in topic.readers():
        known.merge_counted(count_keys([reader], Work((reader.span,)), options))
    exact = known.counted[:, np.argsort(-known.counted[Row.RECORDS])]
    assert exact[[Row.RECORDS, Row.BYTES, Row.LOW]].T.tolist() == [[50, 200, 2], [7, 14, 2]]
    assert [known.texts[key] for key in exact[Row.HASH].tolist()] == ["hot", "0xff"]


def test_another_partition_count_is_simulated_as_it_would_be():
    keys = KEYS + [b"hot"] * 100
    skews = judged(Topic(6).write(keys, partition_for_key), counts=[6, 12])
    same, double = skews.rows["simulation"]
    assert (same["moved_keys"], same["moved_records"], same["moved_hot"]) == (0, 0, 0)
    load = Counter(partition_for_key(key, 12) for key in keys)
    assert double["max_mean"] == pytest.approx(max(load.values()) / (len(keys) / 12))
    moved = [key for key in keys if partition_for_key(key, 6) != partition_for_key(key, 12)]
    assert double["moved_records"] == pytest.approx(len(moved) / len(keys))


def test_keys_of_two_topics_that_are_apart_are_counted_and_dated():
    one = Topic(6, "orders").write(KEYS, partition_for_key)
    same = Topic(6, "payments").write(KEYS, partition_for_key)
    other = Topic(6, "refunds").write(KEYS, by_crc32, 4 * HOUR)
    skews = judged(one, same, other)
    skews.join("orders", "payments")
    skews.join("orders", "refunds")
    alike, unlike = skews.rows["joins"]
    assert (alike["keys"], alike["apart"], alike["since_ms"]) == (300, 0, None)
    apart = [key for key in KEYS if partition_for_key(key, 6) != by_crc32(key, 6)]
    assert (unlike["keys"], unlike["apart"]) == (300, len(apart))
    assert (unlike["first_partitioner"], unlike["second_partitioner"]) == ("murmur2", "crc32")
    assert HOUR <= unlike["since_ms"] < HOUR + 600
    assert "different partitions" in skews.facts()["verdict"]


def test_fnv1a_takes_the_absolute_value_of_a_signed_number():
    keys = np.zeros((summaries.WIDTH, 2), np.int64)
    keys[Row.FNV1A] = [0xFFFFFFFF, 5]
    assert partitions_by("fnv1a", keys, 4).tolist() == [1, 1]


@pytest.mark.parametrize(
    "given_counts", ["x", "0", "abc", "1,200000", ",".join(map(str, range(1, 22)))]
)
def test_partition_counts_are_numbers(given_counts):
    with pytest.raises(InvalidFields) as caught:
        checked_arguments(
            key_skew.ANALYSIS, {"cluster": "east", "topics": "t", "partitions": given_counts}
        )
    assert "partitions" in caught.value.errors


def test_a_partitioner_that_an_unknown_one_replaced_is_dated():
    topic = Topic(6).write(KEYS, partition_for_key, HOUR).write(KEYS, by_length, 9 * HOUR)
    found = fingerprint(topic.known().sample.pairs, 6)
    assert (found.name, found.detail) == ("mixed", "murmur2, then no known rule.")
    assert 9 * HOUR <= found.since_ms < 9 * HOUR + 600


def test_a_partitioner_that_replaced_an_unknown_one_is_dated():
    topic = Topic(6).write(KEYS, by_length, HOUR).write(KEYS, by_crc32, 9 * HOUR)
    found = fingerprint(topic.known().sample.pairs, 6)
    assert (found.name, found.detail, found.rule) == (
        "mixed",
        "No known rule, then crc32.",
        "crc32",
    )
    assert HOUR <= found.since_ms < HOUR + 600


@pytest.mark.parametrize("key", [b"", b"x" * 2**20], ids=["no bytes", "1 MB"])
def test_a_key_of_any_size_is_hot_and_shown_short(key):
    topic = Topic(4).write([key] * 50 + KEYS[:9], partition_for_key)
    known = topic.known()
    options = {"chosen": {"orders": known.candidates(is_shown=True)}, "shown": True}
    for reader in topic.readers():
        known.merge_counted(count_keys([reader], Work((reader.span,)), options))
    skews = Skews(key_skew.ANALYSIS, "cluster", [])
    skews.add("orders", known)
    first = skews.rows["hot_keys"][0]
    assert (first["key"], first["records"]) == ("x" * 200 + "…" if key else "(empty)", 50)
    assert skews.rows["topics"][0]["cause"] == "hot_key"


@pytest.mark.parametrize("key", [None, b"", b"k"], ids=["null", "empty", "one"])
@pytest.mark.parametrize("count", [1, 3])
def test_records_of_one_key_have_every_table(key, count):
    skews = judged(Topic(count).write([key] * 5, lambda *_: 0), Topic(count, "none"))
    skews.join("orders", "none")
    assert [row["partitioner"] for row in skews.rows["topics"]] == ["unknown"] * 2
    assert skews.rows["joins"][0]["share"] is None
    for table in key_skew.ANALYSIS.tables:
        assert arrow_table(table, skews.rows[table.name]).num_rows == len(skews.rows[table.name])


def test_a_sample_with_too_many_pairs_keeps_whole_keys():
    sample = SampledKeys(100, 205)
    for partition in range(50):
        sample.add(keys_of(range(100), partition))
    sample.settle()
    assert Counter(sample.pairs[Row.HASH].tolist()).most_common()[-1][1] == 50
    assert sample.pairs.shape[1] == 200
