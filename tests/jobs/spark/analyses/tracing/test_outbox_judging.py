"""What the events of an outbox come to, by what was read of their topics."""

import json

import pytest

from jobs.spark.analyses.tracing.outbox_events import read_events
from jobs.spark.analyses.tracing.outbox_judging import judged
from jobs.tracing.extractors.extractor import Extractor, preset_extractor
from tests.jobs.spark.analyses.records.given_records import reader_of, record
from tests.jobs.spark.analyses.tracing.given_events import AT_MS, reduced

MARKS = preset_extractor("debezium-transaction").to_mapping()


def event(offset, number, at_ms=None, **values):
    """Return an event that was committed 100 ms before its record time."""
    at_ms = 1_000 * (offset + 1) if at_ms is None else at_ms
    value = {"sequence": number, "ts_ms": at_ms - 100, **values}
    headers = ((b"id", b"e%d" % number),)
    return record(offset, b"k", json.dumps(value).encode(), at_ms, headers=headers)


def mark(offset, transaction, status, counts=None):
    parts = [{"data_collection": n, "event_count": c} for n, c in (counts or {}).items()]
    value = {"id": transaction, "status": status, "ts_ms": 500, "data_collections": parts}
    return record(offset, b"k", json.dumps(value).encode(), 1_000 + offset)


def judge(*readers, marks=(), extra=None, **fields):
    """Judge the events of readers, and the records of a transaction topic."""
    extractor = Extractor.from_mapping(
        {"name": "given", "preset": "debezium-outbox", "fields": fields}
    )
    options = {"extractor": extractor.to_mapping(), "transactions": MARKS, "registry": None}
    done = [reduced(read_events, one, options, **(extra or {})) for one in readers]
    if marks:
        done.append(reduced(read_events, reader_of(marks, topic="marks"), options, is_marks=True))
    return judged(done, extractor, 60_000)


@pytest.mark.parametrize(
    ("first", "extra", "wanted"),
    [
        pytest.param(0, {}, ("missing", ""), id="whole logs"),
        pytest.param(7, {}, ("unknown", "before_range"), id="older records were removed"),
        pytest.param(0, {"is_held": True}, ("unknown", "in_flight"), id="an open transaction"),
        pytest.param(0, {"is_compacted": True}, ("unknown", "compacted"), id="compacted"),
        pytest.param(0, {"at_ms": 30_000}, ("unknown", "in_flight"), id="just written"),
    ],
)
def test_a_gap_is_missing_only_where_its_record_would_have_been_read(first, extra, wanted):
    found = judge(reader_of([event(first, 4), event(first + 1, 6)]), extra=extra)
    (gap,) = found.rows["gaps"]
    assert (gap["state"], gap["reason"]) == wanted
    assert (gap["first"], gap["last"], gap["offset"]) == (5, 5, first)


def test_a_number_that_another_partition_has_is_no_gap():
    parts = [reader_of([event(0, 1), event(1, 3)]), reader_of([event(0, 2)], partition=1)]
    assert judge(*parts).rows["gaps"] == []


def test_numbers_are_counted_in_their_scope():
    records = [event(0, 1, customer="a"), event(1, 7, customer="b"), event(2, 2, customer="a")]
    assert judge(reader_of(records), sequence_scope="value:/customer").rows["gaps"] == []


def test_delays_are_measured_by_topic_and_by_time():
    records = [event(0, 1), event(1, 2), event(2, 3, 70_000), event(3, 4, ts_ms=4_000)]
    found = judge(reader_of(records))
    (topic,) = found.rows["topics"]
    assert (topic["measured"], topic["unmeasured"], topic["p99_ms"]) == (3, 1, 100)
    assert [(row["bucket_ms"], row["events"]) for row in found.rows["delays"]] == [
        (0, 2),
        (60_000, 1),
    ]


@pytest.mark.parametrize(
    ("records", "wanted", "reason"),
    [
        pytest.param([event(0, 1), event(1, 2)], 1_899, "", id="all are there"),
        pytest.param([event(0, 1), event(1, 3)], 899, "", id="a gap after the first"),
        pytest.param([event(0, 1, sequence=None)], None, "no_evidence", id="no sequence"),
        pytest.param([event(0, 1, ts_ms=None)], None, "no_commit_time", id="no commit time"),
        pytest.param([event(0, 1, AT_MS - 1)], None, "in_flight", id="just written"),
        pytest.param([], None, "idle", id="no event"),
    ],
)
def test_a_topic_is_complete_up_to_a_time_only_with_evidence(records, wanted, reason):
    (topic,) = judge(reader_of(records)).rows["topics"]
    assert (topic["complete_up_to_ms"], topic["reason"]) == (wanted, reason)


def test_an_event_that_came_twice_counts_once_for_its_transaction():
    records = [event(0, 1, transaction={"id": "t"}), event(1, 1, transaction={"id": "t"})]
    marks = [mark(0, "t", "BEGIN"), mark(1, "t", "END", {"public.orders": 2})]
    found = judge(reader_of(records, topic="shop.public.orders"), marks=marks)
    (row,) = found.rows["transactions"]
    assert (row["state"], row["seen"], row["missing"]) == ("incomplete", 1, 1)
    assert found.rows["topics"][0]["complete_up_to_ms"] == 499


def test_a_collection_whose_topics_were_not_read_is_unknown_and_does_not_bound():
    marks = [mark(0, "t", "BEGIN"), mark(1, "t", "END", {"public.other": 2})]
    found = judge(reader_of([event(0, 1)], topic="shop.public.orders"), marks=marks)
    assert [(row["state"], row["reason"]) for row in found.rows["transactions"]] == [
        ("unknown", "not_read")
    ]
    assert found.rows["topics"][0]["complete_up_to_ms"] == 499


def test_a_time_that_was_copied_from_the_commit_proves_no_gap():
    records = [event(0, 1, ts_ms=1_000), event(1, 3, ts_ms=2_000)]
    found = judge(reader_of(records))
    assert [row["reason"] for row in found.rows["gaps"]] == ["in_flight"]
    assert (found.rows["topics"][0]["measured"], found.rows["topics"][0]["reason"]) == (
        0,
        "in_flight",
    )


def test_a_count_without_collections_is_unknown():
    value = {"id": "t", "status": "END", "ts_ms": 500, "event_count": 2}
    end = record(1, b"k", json.dumps(value).encode())
    found = judge(reader_of([event(0, 1)]), marks=[mark(0, "t", "BEGIN"), end])
    assert [(row["state"], row["reason"]) for row in found.rows["transactions"]] == [
        ("unknown", "not_read")
    ]


def test_broken_json_is_a_problem_and_no_event_of_a_sequence():
    options = {"extractor": preset_extractor("debezium-outbox").to_mapping(), "registry": None}
    done = reduced(read_events, reader_of([record(0, b"k", b"{")]), options)
    assert "sequence: It is no JSON." in done.tables["problems"]["problem"].to_pylist()
