"""An outbox of a real cluster: a lost event, one that came twice, and transactions that are not whole."""

import json
import time

from jobs.quorum.history.change_json import iso
from jobs.spark.analyses.tracing import outbox
from jobs.tracing.digests import digest
from tests.live.records import Record, write
from tests.live.spark.analyses.asking_events import ask_events
from tests.live.topics import new_topic

EXTRACTOR = {
    "name": "orders",
    "preset": "debezium-outbox",
    "fields": {"collection": "const:public.outbox"},
}


def test_what_an_outbox_lost_and_repeated_is_found_with_its_places(spark, east, tmp_path):
    events, marks = new_topic(east, partitions=2), new_topic(east)
    began = time.time_ns() // 1_000_000 - 3_600_000

    def event(number, transaction, partition=0):
        at_ms = began + number * 1_000
        value = {"sequence": number, "ts_ms": at_ms, "transaction": {"id": transaction}}
        headers = [("id", b"event-%d" % number)]
        return Record(partition, b"k", json.dumps(value).encode(), headers, at_ms + 40 + number)

    def mark(number, transaction, status, counts=None):
        at_ms = began + number * 1_000
        parts = [{"data_collection": n, "event_count": c} for n, c in (counts or {}).items()]
        value = {"id": transaction, "status": status, "ts_ms": at_ms, "data_collections": parts}
        return Record(0, b"k", json.dumps(value).encode(), None, at_ms + 50)

    numbers = [1, 2, 3, 5, 6, 3]
    write(east, events, [event(n, f"t{n // 4}", n % 2) for n in numbers])
    write(
        east,
        marks,
        [
            mark(1, "t0", "BEGIN"),
            mark(3, "t0", "END", {"public.outbox": 3, "public.other": 1}),
            mark(4, "t1", "BEGIN"),
            mark(6, "t1", "END", {"public.outbox": 3}),
            mark(7, "t2", "BEGIN"),
        ],
    )
    found = ask_events(
        spark,
        east,
        tmp_path,
        outbox.ANALYSIS,
        extractor=EXTRACTOR,
        topics=events,
        transactions=marks,
    )
    assert {name: found.facts[name] for name in ("events", "duplicates", "gaps", "missing")} == {
        "events": 6, "duplicates": 1, "gaps": 1, "missing": 1,
    }  # fmt: skip
    (gap,), (again,), (topic,) = found["gaps"], found["duplicates"], found["topics"]
    assert (gap["state"], gap["first"], gap["last"]) == ("missing", 4, 4)
    assert (again["id"], again["offset"], again["again_offset"]) == (digest("event-3"), 1, 3)
    assert (topic["clock"], topic["p50_ms"], topic["max_ms"]) == ("create_time", 43, 46)
    assert [
        (row["transaction"], row["state"], row["reason"], row["collection"], row["missing"])
        for row in found["transactions"]
    ] == [
        (digest("t0"), "unknown", "not_read", "public.other", 1),
        (digest("t1"), "incomplete", "", "public.outbox", 1),
        (digest("t2"), "open", "", "", None),
    ]
    assert found.facts["complete_up_to"] == iso(began + 2_999)
    assert found.facts["complete_from"] is None
