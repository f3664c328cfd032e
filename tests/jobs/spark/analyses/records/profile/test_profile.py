"""Profiles of topics, beside a count that is made record by record."""

import math
from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.spark.analyses.records.profile.around import around
from jobs.spark.analyses.records.profile.counting import count_records
from jobs.spark.analyses.records.profile.merging import changes_of, profiles_of
from jobs.spark.analyses.records.profile.planning import works_of
from jobs.spark.analyses.records.profile.tallies import MOST_BUCKETS
from jobs.spark.analyses.records.ranges import Span, Work
from jobs.spark.analyses.records.running import Reduced
from jobs.spark.analyses.task import AnalysisTask
from jobs.wire.batches.record_batch import Codec
from tests.jobs.spark.analyses.records.given_records import reader_of, record

MINUTE = 60_000
PLANNED = 100 * MINUTE
LARGE = 1 << 20


def profile(
    *readers, begun=(), ended=(), policy="delete", from_ms=None, to_ms=None, planned_ms=PLANNED
):
    """Count each reader in a work of its own, and merge."""

    def reduced():
        for number, reader in enumerate(readers):
            extra = {
                "planned_ms": planned_ms,
                "policy": policy,
                "are_begun": [number in begun],
                "are_ended": [number in ended],
            }
            work = Work((reader.span,), extra)
            tables = count_records([reader], work, {"width_ms": MINUTE})
            yield Reduced(work, tables, (reader.outcome,))

    (found,) = profiles_of(reduced(), MINUTE, from_ms, to_ms)
    return found


def at_minutes(*counts, first=10, **more):
    """Return a reader with so many records in each minute, one batch a minute."""
    batches, offset = [], 0
    for minute, count in enumerate(counts, first):
        batches.append(
            [record(offset + n, b"k", at_ms=minute * MINUTE + n * 10) for n in range(count)]
        )
        offset += count
    return reader_of(*batches, **more)


times = st.one_of(st.just(None), st.integers(0, 12 * MINUTE), st.integers(PLANNED, 2 * PLANNED))
contents = st.one_of(st.none(), st.binary(max_size=300))
headers = st.lists(st.tuples(st.binary(max_size=3), contents), max_size=2).map(tuple)
one_record = st.tuples(times, contents, contents, headers)
partitions = st.lists(
    st.lists(st.lists(one_record, min_size=1, max_size=8), min_size=1, max_size=4), max_size=3
)


def made(batches, partition, codec):
    offset, given_batches = 0, []
    for batch in batches:
        placed = []
        for at_ms, key, value, heads in batch:
            one = record(offset, key, value, headers=heads)
            object.__setattr__(one, "timestamp", -1 if at_ms is None else at_ms)
            placed.append(one)
            offset += 1
        given_batches.append(placed)
    return given_batches, reader_of(*given_batches, partition=partition, fields={"codec": codec})


def size_of(one):
    return len(one.key or b"") + len(one.value or b"") + sum(
        len(name) + len(value or b"") for name, value in one.headers
    )  # fmt: skip


def rank(records, share):
    sizes = sorted(map(size_of, records))
    size = sizes[math.ceil(share * len(sizes)) - 1]
    return pytest.approx(size, rel=0.01, abs=0.5)


def expected(partitions_):
    buckets = defaultdict(list)
    out_of_order = defaultdict(int)
    for batches in partitions_:
        latest = -1
        for one in (one for batch in batches for one in batch):
            bucket = None if one.timestamp < 0 else one.timestamp // MINUTE * MINUTE
            buckets[bucket].append(one)
            out_of_order[bucket] += 0 <= one.timestamp < latest
            latest = max(latest, one.timestamp)
    return {
        bucket: {
            "records": len(found),
            "null_keys": sum(one.key is None for one in found),
            "tombstones": sum(one.value is None for one in found),
            "with_headers": sum(bool(one.headers) for one in found),
            "out_of_order": out_of_order[bucket],
            "future": sum(one.timestamp > PLANNED for one in found),
            "record_bytes_max": max(map(size_of, found)),
            "record_bytes_p50": rank(found, 0.5),
            "record_bytes_p95": rank(found, 0.95),
            "distinct_keys": pytest.approx(len({one.key for one in found} - {None}), abs=1),
        }
        for bucket, found in buckets.items()
    }


@given(partitions=partitions.filter(bool), codec=st.sampled_from(Codec))
@settings(deadline=None)
def test_each_bucket_says_what_its_records_are(partitions, codec):
    pairs = [made(batches, number, codec) for number, batches in enumerate(partitions)]
    rows = list(profile(*(reader for _, reader in pairs)).rows())
    wanted = expected([batches for batches, _ in pairs])
    assert {
        row["bucket_ms"]: {name: row[name] for name in wanted[row["bucket_ms"]]} for row in rows
    } == wanted
    stored = sum(int(chunk.batches.sizes.sum()) for _, reader in pairs for chunk in reader.chunks)
    assert sum(row["bytes"] for row in rows) == pytest.approx(stored, abs=len(rows))


def test_the_largest_record_is_named_and_those_above_1_mib_count_for_a_claim_check():
    small = reader_of([record(5, b"k", b"v")], partition=0)
    large = reader_of([record(7, b"k", b"v" * 3 * LARGE), record(8, b"k", b"w" * 99)], partition=3)
    total = profile(small, large).total()
    assert (total["largest_partition"], total["largest_offset"]) == (3, 7)
    assert (total["large"], total["record_bytes_max"]) == (1, 3 * LARGE + 1)
    assert total["large_share"] == pytest.approx(1, abs=0.001)


@pytest.mark.parametrize(
    ("codec", "least", "most"),
    [
        pytest.param(Codec.NONE, 0.98, 1.02, id="not compressed"),
        pytest.param(Codec.LZ4, 10, 200, id="compressed"),
    ],
)
def test_the_compression_ratio_is_of_what_records_take(codec, least, most):
    batch = [record(n, b"k", b"v" * 90) for n in range(200)]
    total = profile(reader_of(batch, fields={"codec": codec})).total()
    assert least < total["compression_ratio"] < most


def test_times_that_brokers_gave_are_used_and_counted():
    reader = reader_of([record(0, b"k")], fields={"log_append_time_ms": 5 * MINUTE})
    found = profile(reader)
    assert found.total()["log_append"] == 1
    assert [row["bucket_ms"] for row in found.rows()] == [5 * MINUTE]


def test_a_batch_at_the_border_of_two_parts_is_counted_once():
    batch = [record(n, b"k") for n in range(10)]
    whole = reader_of(batch)
    first, second = (reader_of(batch) for _ in range(2))
    for one, start, end in ((first, 0, 4), (second, 4, 10)):
        (chunk,) = one.chunks
        object.__setattr__(chunk, "records", chunk.records.only(slice(start, end)))
        one.span = Span("cluster", "orders", 0, start, end, 0, 10)
    parts, all_ = profile(first, second).total(), profile(whole).total()
    near = ("bytes_per_s", "compression_ratio", "expanded")
    for name in near:
        assert parts.pop(name) == pytest.approx(all_.pop(name), rel=0.03)
    assert parts == all_


def test_an_empty_topic_has_a_row_of_zeros():
    found = profile(reader_of())
    assert list(found.rows()) == []
    total = found.total()
    assert (total["records"], total["bytes"], total["distinct_keys"]) == (0, 0, 0)
    assert (total["record_bytes_p50"], total["records_per_s"]) == (None, None)


def test_records_without_a_time_and_of_far_times_are_counted_and_complete_nothing_of_the_future():
    batch = [record(n, b"k", at_ms=at_ms) for n, at_ms in enumerate([0, 9_999_999_999_999])]
    for at_ms in (-1, -(2**62), 2**62):
        batch.append(record(len(batch), b"k"))
        object.__setattr__(batch[-1], "timestamp", at_ms)
    found = profile(reader_of(*([one] for one in batch)))
    rows = {row["bucket_ms"]: (row["records"], row["complete"]) for row in found.rows()}
    future = {9_999_999_999_999 // MINUTE * MINUTE: (1, False)}
    assert rows == {0: (1, True), None: (3, False), **future}
    assert list(changes_of(found)) == []


def test_records_of_too_many_buckets_leave_no_bucket_complete():
    batch = [record(n, b"k", at_ms=n * MINUTE) for n in range(MOST_BUCKETS + 10)]
    found = profile(reader_of(batch), planned_ms=10**12)
    assert (found.total()["complete_buckets"], list(changes_of(found))) == (0, [])


@pytest.mark.parametrize("side", ["begun", "ended"])
def test_a_partition_of_which_no_record_was_read_leaves_no_bucket_complete(side):
    found = profile(at_minutes(2, 2, 2), reader_of(partition=1), **{side: {1}})
    assert found.total()["complete_buckets"] == 0


@pytest.mark.parametrize(
    ("options", "complete"),
    [
        pytest.param({}, [11, 12, 13], id="the first minute begins with the first record"),
        pytest.param({"from_ms": 10 * MINUTE}, [10, 11, 12, 13], id="a range of times"),
        pytest.param({"from_ms": 10 * MINUTE + 1}, [11, 12, 13], id="a range within a minute"),
        pytest.param({"begun": {0}}, [11, 12, 13], id="older records were removed or cut off"),
        pytest.param({"begun": {1}}, [13], id="those of one partition were"),
        pytest.param({"ended": {1}}, [11], id="a partition ends earlier"),
        pytest.param({"planned_ms": 13 * MINUTE}, [11, 12], id="a minute that is not over"),
    ],
)
def test_a_bucket_is_complete_when_all_its_records_were_read(options, complete):
    early = reader_of([record(0, b"k", at_ms=10 * MINUTE + 5)])
    first = at_minutes(0, 2, 2, 2, first=10)
    second = reader_of([record(0, b"k", at_ms=12 * MINUTE + 5)], partition=1)
    rows = profile(early, second, first, **options).rows()
    assert [row["bucket_ms"] // MINUTE for row in rows if row["complete"]] == complete


def test_the_rate_of_a_bucket_is_of_the_time_that_was_read():
    rows = list(profile(at_minutes(60, 30), planned_ms=11 * MINUTE + 30_000).rows())
    assert [row["records_per_s"] for row in rows] == [1.0, 1.0]


def test_records_of_too_many_buckets_are_counted_apart():
    batch = [record(n, b"k", at_ms=n * MINUTE) for n in range(MOST_BUCKETS + 10)]
    found = profile(reader_of(batch))
    assert found.overflow == 10
    last = list(found.rows())[-1]
    assert (last["bucket_ms"], last["records"]) == (None, 10)


def test_a_change_of_rate_is_found_in_its_bucket_and_not_in_a_compacted_topic():
    reader = at_minutes(*[20] * 10, *[60] * 10)
    (change,) = (
        one for one in changes_of(profile(reader, to_ms=30 * MINUTE)) if one["series"] == "records_per_s"
    )  # fmt: skip
    assert (change["at_ms"], change["before"], change["after"]) == (20 * MINUTE, 20 / 60, 1.0)
    assert change["factor"] == 3
    assert list(changes_of(profile(reader, policy="compact,delete"))) == []


def test_records_that_end_are_a_change_to_a_rate_of_0():
    found = changes_of(profile(at_minutes(*[20] * 10), planned_ms=40 * MINUTE))
    assert [(one["series"], one["at_ms"], one["after"]) for one in found] == [
        ("records_per_s", 20 * MINUTE, 0),
        ("bytes_per_s", 20 * MINUTE, 0),
    ]


def test_a_change_of_a_topic_that_has_had_no_records_for_a_year_is_found():
    reader = at_minutes(*[20] * 10, *[60] * 10)
    found = changes_of(profile(reader, planned_ms=500_000 * MINUTE))
    rates = [one for one in found if one["series"] == "records_per_s"]
    assert [(one["at_ms"] // MINUTE, one["after"]) for one in rates] == [(20, 1.0), (30, 0)]


def span(topic="orders", partition=0, start=0, end=10, **more):
    return Span("cluster", topic, partition, start, end, **{"log_start": 0, "log_end": end, **more})


@pytest.mark.parametrize(
    ("one", "offsets", "edges"),
    [
        pytest.param(span(), (None, None), (False, False), id="a whole log"),
        pytest.param(span(is_cut=True), (None, None), (True, False), id="the newest of it"),
        pytest.param(span(start=5, log_start=5), (None, None), (True, False), id="retention"),
        pytest.param(span(start=5), (None, None), (False, False), id="a range of times"),
        pytest.param(span(start=5), (5, None), (True, False), id="from an offset"),
        pytest.param(span(end=0), (5, None), (True, False), id="from an offset behind its end"),
        pytest.param(span(log_end=20), (None, 10), (False, True), id="up to an offset"),
    ],
)
def test_a_plan_says_whether_more_records_are_or_were_around_a_span(one, offsets, edges):
    arguments = {"from_offset": offsets[0], "to_offset": offsets[1]}
    (work,) = works_of([one], arguments, PLANNED, {"orders": "delete"})
    assert (work.extra["are_begun"], work.extra["are_ended"]) == ([edges[0]], [edges[1]])


def test_an_open_transaction_ends_the_last_part_of_its_partition():
    spans = [span("a", end=9_000_000), span("a", 1)]
    arguments = {"from_offset": None, "to_offset": None}
    works = list(works_of(spans, arguments, PLANNED, {}, {spans[0].where}))
    assert [one.extra["are_ended"] for one in works] == [[False], [False], [True, False]]


def test_a_work_has_spans_of_one_topic_and_a_long_span_is_several():
    spans = [span("a", n) for n in range(5_000)] + [span("b", end=9_000_000), span("c", end=0)]
    works = works_of(spans, {"from_offset": None, "to_offset": None}, PLANNED, {})
    assert [(one.spans[0].topic, len(one.spans)) for one in works] == [
        *[("a", 500)] * 10,
        *[("b", 1)] * 3,
        ("c", 1),
    ]


def change(at_ms, topic="orders"):
    return {"topic": topic, "series": "records_per_s", "at_ms": at_ms, "factor": 3.0}


def test_recorded_events_near_a_change_are_listed_with_their_distance(tmp_path):
    times_ms = [8 * MINUTE, 9 * MINUTE + 30_000, 20 * MINUTE, 23 * MINUTE, 24 * MINUTE]
    events = [
        {"at_ms": at_ms, "kind": "finding", "text": "Broker 3 is down.", "where": "east"}
        for at_ms in times_ms
    ]
    task = AnalysisTask(None, tmp_path, tmp_path, tmp_path, {"events": {"events": events}})
    rows, notes = around(task, [change(20 * MINUTE), change(20 * MINUTE, "b")], MINUTE, None)
    assert [row["distance_s"] for row in rows] == [-630, 0, 180]
    assert rows[0]["change"] == "orders: records per s x 3.00; b: records per s x 3.00"
    assert (rows[0]["text"], notes) == ("east Broker 3 is down.", [])


def test_without_events_and_log_what_happened_is_unknown(tmp_path):
    task = AnalysisTask(None, tmp_path, tmp_path, tmp_path)
    rows, (note,) = around(task, [change(MINUTE)], MINUTE, None)
    assert (rows, note[:45]) == ([], "What happened around the changes is unknown: ")
