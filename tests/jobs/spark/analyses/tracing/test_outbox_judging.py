"""What the events of an outbox come to, by what was read of their topics."""

import json
from dataclasses import replace

import pytest

from jobs.spark.analyses.tracing.outboxes.events import read_events
from jobs.spark.analyses.tracing.outboxes.judging import judged, transactions_of
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


def debezium(offset, value):
    """Return a record as JsonConverter writes it with `schemas.enable`."""
    content = None if value is None else json.dumps({"schema": {}, "payload": value}).encode()
    return record(offset, b"k", content, 1_000)


def change(offset, lsn, total_order, **values):
    transaction = {"id": f"571:{lsn}", "total_order": total_order, "data_collection_order": 1}
    source = {"ts_ms": 500, "txId": 571, "lsn": lsn}
    return debezium(offset, {"op": "c", "source": source, "transaction": transaction, **values})


def postgres_marks(count):
    """Return the BEGIN and END of a transaction of PostgreSQL: each has the LSN of its own record."""
    parts = [{"data_collection": "public.orders", "event_count": count}]
    end = {"status": "END", "id": "571:53195832", "ts_ms": 500, "event_count": count}
    begin = {"status": "BEGIN", "id": "571:53195829", "ts_ms": 500, "event_count": None}
    return [
        debezium(0, {**begin, "data_collections": None}),
        debezium(1, {**end, "data_collections": parts}),
    ]


def judge(*readers, marks=(), extra=None, **fields):
    """Judge the events of readers, and the records of a transaction topic."""
    extractor = Extractor.from_mapping(
        {"name": "given", "preset": "debezium-outbox", "fields": fields}
    )
    options = {"extractor": extractor.to_mapping(), "transactions": MARKS, "registry": None}
    done = [reduced(read_events, one, options, **(extra or {})) for one in readers]
    if marks:
        done.append(reduced(read_events, reader_of(marks, topic="marks"), options, is_marks=True))
    return judged(done, extractor)


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


def test_a_partition_without_records_in_a_range_of_time_hides_nothing():
    idle = reader_of([], partition=1)
    idle = replace(idle, span=replace(idle.span, start=4, end=4, log_end=9))
    events = reader_of([event(7, 4, 400_000), event(8, 6, 401_000)])
    found = judge(events, idle, extra={"from": 100_000, "to": 800_000})
    assert [gap["state"] for gap in found.rows["gaps"]] == ["missing"]
    assert found.complete_from_ms == 220_000


def test_a_number_that_another_partition_has_is_no_gap():
    parts = [reader_of([event(0, 1), event(1, 3)]), reader_of([event(0, 2)], partition=1)]
    assert judge(*parts).rows["gaps"] == []


def test_numbers_are_counted_in_their_scope():
    records = [event(0, 1, customer="a"), event(1, 7, customer="b"), event(2, 2, customer="a")]
    assert judge(reader_of(records), sequence_scope="value:/customer").rows["gaps"] == []


def test_delays_are_measured_by_topic():
    records = [event(0, 1), event(1, 2), event(2, 3, 70_000), event(3, 4, ts_ms=4_000)]
    found = judge(reader_of(records))
    (topic,) = found.rows["topics"]
    assert (topic["measured"], topic["unmeasured"], topic["p99_ms"]) == (3, 1, 100)


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


@pytest.mark.parametrize(
    ("records", "wanted"),
    [
        pytest.param([change(0, 11, 1), change(1, 12, 2)], [], id="whole"),
        pytest.param([change(0, 11, 1)], [("incomplete", "", 1)], id="one is missing"),
        pytest.param(
            [change(0, 11, 1), debezium(1, None), change(2, 12, 2)], [], id="with a tombstone"
        ),
        pytest.param(
            [change(0, 11, 1), record(1, b"k", b"{")], [("unknown", "unread", 1)], id="broken JSON"
        ),
    ],
)
def test_records_of_a_transaction_of_postgresql_have_its_id_and_an_lsn_of_their_own(
    records, wanted
):
    found = judge(reader_of(records, topic="shop.public.orders"), marks=postgres_marks(2))
    rows = found.rows["transactions"]
    assert [(row["state"], row["reason"], row["seen"]) for row in rows] == wanted
    assert found.facts["transactions"] == 1


def test_a_tombstone_takes_no_evidence_from_its_topic():
    marks = postgres_marks(1)
    records = [change(0, 11, 1), debezium(1, None)]
    (topic,) = judge(reader_of(records, topic="shop.public.orders"), marks=marks).rows["topics"]
    assert (topic["events"], topic["complete_up_to_ms"], topic["reason"]) == (1, 499, "")


def test_without_ids_an_event_that_came_twice_is_known_by_its_sequence():
    records = [change(0, 11, 1, sequence=7), change(1, 11, 1, sequence=7)]
    found = judge(reader_of(records, topic="shop.public.orders"), marks=postgres_marks(2))
    assert [row["state"] for row in found.rows["transactions"]] == ["incomplete"]


def test_begin_and_end_may_lie_in_two_partitions():
    begin, end = postgres_marks(1)
    options = {"extractor": MARKS, "transactions": MARKS, "registry": None}
    done = [
        reduced(read_events, reader_of(one, topic="marks", partition=n), options, is_marks=True)
        for n, one in enumerate([[end], [begin]])
    ]
    (one,) = transactions_of(done).values()
    assert (one.begin_ms, one.end_ms, one.parts) == (1_000, 1_000, [("public.orders", 1)])


def test_an_end_without_counts_is_unknown_and_an_empty_transaction_is_whole():
    marks = [mark(0, "t", "BEGIN"), mark(1, "t", "END"), mark(2, "u", "BEGIN")]
    ended = record(3, b"k", b'{"id": "u", "status": "END", "ts_ms": 500, "event_count": 0}')
    rows = judge(reader_of([event(0, 1)]), marks=[*marks, ended]).rows["transactions"]
    assert [(row["state"], row["reason"], row["expected"]) for row in rows] == [
        ("unknown", "not_read", None)
    ]


def test_a_mark_that_cannot_be_read_may_be_the_end_of_an_open_transaction():
    marks = [mark(0, "t", "BEGIN"), record(1, b"k", b"{")]
    rows = judge(reader_of([event(0, 1)]), marks=marks).rows["transactions"]
    assert [(row["state"], row["reason"]) for row in rows] == [("unknown", "unread")]


def test_events_of_a_transaction_beyond_the_range_are_unknown():
    reader = reader_of([change(0, 11, 1)], topic="shop.public.orders")
    later = replace(reader.span, log_end=reader.span.end + 9)
    rows = judge(replace(reader, span=later), marks=postgres_marks(2)).rows["transactions"]
    assert [(row["state"], row["reason"]) for row in rows] == [("unknown", "in_flight")]


def test_an_id_that_comes_again_in_another_partition_is_a_duplicate():
    found = judge(reader_of([event(0, 1)]), reader_of([event(5, 1)], partition=1))
    (row,) = found.rows["duplicates"]
    assert (row["records"], row["partition"], row["again_partition"]) == (2, 0, 1)


def test_an_event_without_its_scope_is_in_no_sequence():
    records = [event(0, 1), event(1, 9), event(2, 1, customer="a")]
    assert judge(reader_of(records), sequence_scope="value:/customer").rows["gaps"] == []


def test_the_last_number_of_a_scope_is_no_evidence_that_none_follows():
    records = [event(0, 1, customer="a"), event(1, 1, customer="b")]
    (topic,) = judge(reader_of(records), sequence_scope="value:/customer").rows["topics"]
    assert (topic["complete_up_to_ms"], topic["reason"]) == (None, "no_evidence")


def test_a_commit_time_of_0_is_none():
    (topic,) = judge(reader_of([event(0, 1, ts_ms=0)])).rows["topics"]
    assert (topic["unmeasured"], topic["reason"]) == (1, "no_commit_time")


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
