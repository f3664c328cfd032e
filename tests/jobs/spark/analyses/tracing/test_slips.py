"""Slips out of given records: what each is judged, and the same tables however records are read."""

import random
from dataclasses import replace
from itertools import pairwise

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.tracing.digests import digest
from tests.jobs.spark.analyses.tracing.given_slips import NOW, STEPS, Event, rows_of

OLD = NOW - 1_000_000


def path(*topics, slip="a", at_ms=OLD, step_ms=1_000, **more):
    """Return events of a slip, each a second after the one before."""
    return [Event(t, n, at_ms + n * step_ms, slip, more=dict(more)) for n, t in enumerate(topics)]


def test_a_slip_that_reached_its_end_is_complete_and_its_steps_have_dwell_times():
    found = rows_of(path("check", "price", "ship", "end", step_ms=7_000))
    assert found.facts["complete"] == 1
    assert [row["p50_ms"] for row in found.rows["dwell"]] == [7_000] * 3
    funnel = [(r["step"], r["position"], r["entered"], r["left"]) for r in found.rows["funnel"]]
    assert funnel == [("check", 1, 1, 1), ("price", 2, 1, 1), ("ship", 3, 1, 1)]
    assert not any(found.rows[name] for name in ("stuck", "violations"))


FAILED = {"error": "IOException", "original": "price"}


@pytest.mark.parametrize(
    ("events", "wanted"),
    [
        pytest.param(path("check", "ship", "end"), [("incomplete", "price")], id="a step left out"),
        pytest.param(
            path("check", "price", "price", "ship", "end"), [("done_twice", "price")], id="twice"
        ),
        pytest.param(
            [
                *path("check", "price"),
                Event("dlq", 0, OLD + 1_500, "a", more=FAILED),
                Event("price", 9, OLD + 1_700, "a"),
            ],
            [],
            id="again after a failure",
        ),
        pytest.param(
            path("check", done="price,check"),
            [("out_of_order", "check")],
            id="done in another order",
        ),
        pytest.param(
            path("check", done="check,check"),
            [("done_twice", "check")],
            id="done twice by its list",
        ),
        pytest.param(
            [Event("audit", 0, OLD, "a", more={"done": "check,price,ship"})], [], id="all done"
        ),
    ],
)
def test_rules_that_a_slip_breaks(events, wanted):
    found = rows_of(events)
    assert [(row["what"], row["step"]) for row in found.rows["violations"]] == wanted


def test_a_step_that_no_list_of_steps_has_is_unknown():
    mapping = {"topic_steps": {"check": "check", "gift": "wrap"}}
    found = rows_of(path("check", "gift"), mapping)
    assert [(row["what"], row["step"]) for row in found.rows["violations"]] == [
        ("unknown_step", "wrap")
    ]


@pytest.mark.parametrize(
    ("committed", "more", "verdict"),
    [
        pytest.param({"price-0": {"g": 1}}, {}, "not_read", id="not read"),
        pytest.param({"price-0": {"g": 2}}, {}, "read_and_lost", id="read and lost"),
        pytest.param({"check-0": {"g": 2}}, {}, "no_group", id="no group"),
        pytest.param({"price-0": {"g": 2, "h": 0}}, {}, "unknown", id="they disagree"),
        pytest.param({"price-0": {"g": 2}}, {"is_held": True}, "unknown", id="open transaction"),
        pytest.param({"price-0": {"g": 1}}, {"is_held": True}, "not_read", id="not read, open"),
        pytest.param({"price-0": {"g": 2}}, {"is_compacted": True}, "unknown", id="compacted"),
        pytest.param({"price-0": {"g": 2}}, {"committed": None}, "unknown", id="a fault"),
        pytest.param(
            {"price-0": {"g": 2}}, {"fault": "Timed out."}, "unknown", id="not all was read"
        ),
        pytest.param({"price-0": {"g": 2}}, {"begun": [("ship", None)]}, "unknown", id="removed"),
    ],
)
def test_whether_the_next_service_read_a_stuck_slip(committed, more, verdict):
    found = rows_of(path("check", "price"), **{"committed": committed, **more})
    (row,) = found.rows["stuck"]
    assert (row["slip"], row["step"], row["offset"]) == ("a", "price", 1)
    assert row["verdict"] == verdict
    assert row["age_ms"] == NOW - OLD - 1_000


def test_the_group_that_the_extractor_names_decides():
    both = {"price-0": {"g": 2, "h": 0}}
    (row,) = rows_of(path("check", "price"), {"groups": {"price": "g"}}, committed=both).rows[
        "stuck"
    ]
    assert (row["verdict"], row["group"], row["committed"]) == ("read_and_lost", "g", 2)


def test_a_group_that_the_extractor_names_is_unknown_where_no_groups_could_be_listed():
    more = {"committed": None, "fault": "Timed out."}
    (row,) = rows_of(path("check", "price"), {"groups": {"price": "g"}}, **more).rows["stuck"]
    assert row["verdict"] == "unknown"


def test_a_slip_that_was_replayed_from_its_dead_letter_and_completes_is_not_failed():
    letter = Event("dlq", 0, OLD + 1_500, "a", more=FAILED)
    again = path("price", "ship", "end", at_ms=OLD + 60_000)
    events = [*path("check", "price"), letter, *(replace(e, offset=e.offset + 5) for e in again)]
    found = rows_of(events)
    assert (found.facts["complete"], found.facts["failed"]) == (1, 0)
    assert not found.rows["violations"]


def test_a_retry_topic_is_no_second_time_at_its_step():
    mapping = {"topic_steps": {**{one: one for one in STEPS}, "price-retry": "price"}}
    events = path("check", "price", "price-retry", "price-retry", "ship", "end")
    found = rows_of(events, mapping)
    assert not found.rows["violations"]
    assert [(r["step"], r["entered"]) for r in found.rows["funnel"]] == [(s, 1) for s in STEPS]
    assert {r["step"]: r["p50_ms"] for r in found.rows["dwell"]}["price"] == 3_000


def test_compaction_may_have_taken_the_record_of_a_step_that_is_missing():
    found = rows_of(path("check", "ship", "end"), is_compacted=True)
    assert (found.facts["complete"], found.facts["incomplete"]) == (1, 0)
    assert "Steps may have lost records to compaction: none is called missing." in found.notes


def test_a_slip_of_several_types_counts_as_the_first_one():
    events = [*path("check", type="standard"), *path("price", at_ms=OLD + 5, type="return")]
    found = rows_of(events)
    assert {row["type"] for row in found.rows["funnel"]} == {"standard"}
    assert "1 slips have several types: the first one counts." in found.notes


def test_the_newest_list_of_steps_counts_where_it_changes_on_the_way():
    fields = {"id": "header:id", "step": "topic", "steps": "header:steps as csv"}
    events = [
        *path("check", steps="check,price,ship"),
        *path("gift", "ship", "end", at_ms=OLD + 1_000, steps="check,gift,ship"),
    ]
    found = rows_of(events, {"fields": fields, "steps": [], "topic_steps": {}})
    assert (found.facts["complete"], found.rows["violations"]) == (1, [])
    assert {r["step"]: r["p50_ms"] for r in found.rows["dwell"]} == dict.fromkeys(
        ("check", "gift", "ship"), 1_000
    )


def test_slips_of_camel_list_the_endpoints_of_their_steps():
    slip = "kafka:price?brokers=b:9092,kafka:ship,kafka:end"
    camel = {"x-slip-id": "a", "routingSlip": slip}
    events = path("price", "ship", slip=None, **camel)
    mapping = {"preset": "camel-header", "fields": {}, "steps": [], "topic_steps": {}}
    found = rows_of(events, mapping, committed={"ship-0": {"g": 1}})
    positions = [(r["step"], r["position"], r["waiting"]) for r in found.rows["funnel"]]
    assert positions == [("price", 1, 0), ("ship", 2, 1)]
    (row,) = found.rows["stuck"]
    assert (row["slip"], row["step"], row["verdict"]) == ("a", "ship", "not_read")
    assert not found.rows["violations"]


def courier(done, left, **more):
    logs = [{"name": one, "executionId": "e"} for one in done]
    message = {"trackingNumber": "a", "activityLogs": logs, **more}
    message["itinerary"] = [{"name": one, "address": "kafka:x"} for one in left]
    return orjson.dumps({"messageType": ["urn:message:RoutingSlip"], "message": message})


def test_bodies_of_masstransit_say_where_a_slip_is_and_why_it_failed():
    fault = [{"name": "Ship", "exceptionInfo": {"exceptionType": "System.TimeoutException"}}]
    bodies = (
        courier([], ["Check", "Ship"]),
        courier(["Check"], ["Ship"]),
        courier(["Check"], ["Ship"], activityExceptions=fault),
    )
    events = [Event("bus", n, OLD + n * 1_000, value=body) for n, body in enumerate(bodies)]
    mapping = {"preset": "masstransit", "fields": {}, "steps": [], "topic_steps": {}}
    failed = rows_of(events, mapping)
    assert [(r["step"], r["left"], r["failed"]) for r in failed.rows["funnel"]] == [
        ("Check", 1, 0),
        ("Ship", 0, 1),
    ]
    whole = rows_of(
        [*events, Event("bus", 3, OLD + 9_000, value=courier(["Check", "Ship"], []))], mapping
    )
    assert (whole.facts["complete"], whole.facts["failed"]) == (1, 0)
    assert not whole.rows["violations"]


def test_a_young_slip_is_not_stuck_and_a_failed_one_is_not_waiting():
    young = path("check", at_ms=NOW - 59_000)
    failed = [Event("dlq", 0, OLD, "b", more=FAILED)]
    found = rows_of([*young, *failed])
    assert (found.facts["in_progress"], found.facts["failed"], found.facts["stuck"]) == (1, 1, 0)
    assert [(r["step"], r["failed"], r["waiting"]) for r in found.rows["funnel"]] == [
        ("check", 0, 1),
        ("price", 1, 0),
    ]


def test_a_range_that_ends_early_says_nothing_of_stuck_slips():
    found = rows_of(path("check"), unread=1)
    assert (found.facts["stuck"], found.rows["stuck"]) == (None, [])
    assert "Stuck slips are unknown: the range ends before the end of a log." in found.notes


def test_a_slip_that_began_before_the_range_is_not_judged_by_what_it_lacks():
    found = rows_of(path("price", "end"), begun=[("check", OLD + 1)])
    assert (found.facts["cut"], found.facts["incomplete"]) == (1, 0)
    assert any(note.startswith("1 slips are cut") for note in found.notes)


def test_clocks_that_disagree_are_counted_and_break_no_rule():
    events = [
        Event("check", 0, OLD + 5_000, "a"),
        Event("price", 0, OLD, "a"),
        Event("ship", 0, OLD + 6_000, "a"),
    ]
    found = rows_of(events)
    assert (found.facts["clock_skew"], found.facts["out_of_order"]) == (1, 0)
    assert [(row["step"], row["p50_ms"]) for row in found.rows["dwell"]] == [("price", 6_000)]
    assert any("up to 5,000 ms" in note for note in found.notes)


def test_steps_left_say_where_a_slip_is_as_masstransit_writes_them():
    fields = {"id": "header:id", "done": "header:done as csv", "remaining": "header:left as csv"}
    events = [
        Event("bus", 0, OLD, "a", more={"left": "check,price"}),
        Event("bus", 1, OLD + 10, "a", more={"done": "check", "left": "price"}),
        Event("bus", 2, OLD + 30, "a", more={"done": "check,price", "left": ","}),
    ]
    found = rows_of(events, {"fields": fields, "topic_steps": {}, "steps": []})
    assert [(row["step"], row["p50_ms"]) for row in found.rows["dwell"]] == [
        ("price", 20),
        ("check", 10),
    ]
    assert found.facts["complete"] == 1


def test_pointers_lead_to_the_steps_in_the_lookup_topic():
    mapping = {
        "fields": {
            "id": "header:id",
            "pointer": "header:slip",
            "lookup_key": "header:id",
            "lookup_steps": "header:steps as csv",
        },
        "steps": [],
        "lookup_topic": "all-slips",
    }
    events = [
        Event("check", 0, OLD, "a", more={"slip": "s1"}),
        Event("ship", 0, OLD, "b", more={"slip": "gone"}),
        Event("all-slips", 0, OLD, "s1", more={"steps": "price,check"}),
        Event("all-slips", 1, OLD, "s1", more={"steps": "ship,price,check"}),
    ]
    found = rows_of(events, mapping)
    assert found.facts["unresolved_pointers"] == 1
    positions = {row["step"]: row["position"] for row in found.rows["funnel"]}
    assert positions == {"check": 3, "ship": None}
    assert found.facts["slips"] == 2


def test_ids_are_digests_unless_they_are_to_be_shown():
    arguments = {"ids": "digests", "slip": digest("a")}
    found = rows_of(path("check", "price"), arguments=arguments)
    assert found.rows["stuck"][0]["slip"] == digest("a")
    assert [(r["step"], r["dwell_ms"], r["what"]) for r in found.rows["timeline"]] == [
        ("check", 1_000, "entered"),
        ("price", None, "entered"),
    ]


def test_an_extractor_that_matches_nothing_says_what_it_looked_for():
    mapping = {"fields": {"id": "value:/order/id"}}
    found = rows_of([Event("check", 0, OLD), Event("check", 1, OLD)], mapping)
    assert (found.facts["slips"], found.facts["records_without_id"]) == (0, 2)
    assert "No record has an id. The extractor looks for: value:/order/id." in found.notes
    assert "2 values: id: It is no JSON." in found.notes
    assert not any(found.rows.values())


def test_a_time_that_no_calendar_has_is_no_time():
    found = rows_of([Event("check", 0, OLD, "a"), Event("check", 1, 10**18, "a")])
    assert [row["offset"] for row in found.rows["stuck"]] == [0]
    assert any(note.startswith("1 records have no time") for note in found.notes)


def test_an_id_of_megabytes_is_no_id():
    found = rows_of([Event("check", 0, OLD, "x" * (10 << 20))])
    assert (found.facts["slips"], found.facts["records_without_id"]) == (0, 1)


TOPICS = [*STEPS, "end", "dlq"]
EVENTS = st.lists(
    st.tuples(
        st.sampled_from("abc"), st.sampled_from(TOPICS), st.integers(0, 9), st.integers(0, 1)
    ),
    max_size=30,
)


@settings(deadline=None, max_examples=60)
@given(EVENTS, st.integers(1, 5), st.randoms(use_true_random=False))
def test_tables_are_those_of_an_oracle_however_records_are_cut_into_works(rows, size, chance):
    offsets: dict[tuple[str, int], int] = {}
    events = []
    for slip, topic, second, partition in rows:
        offset = offsets[topic, partition] = offsets.get((topic, partition), -1) + 1
        more = {"error": "E", "original": "price"} if topic == "dlq" else {"type": f"t{slip}"}
        events.append(Event(topic, offset, OLD + second * 1_000, slip, partition, more))
    whole = rows_of(events)
    mixed = list(events)
    random.Random(chance.random()).shuffle(mixed)
    assert rows_of(mixed, size=size).rows == whole.rows
    assert (whole.facts | oracle(events)) == whole.facts
    for row in whole.rows["funnel"]:
        assert row["entered"] == row["left"] + row["failed"] + row["waiting"]


def oracle(events):
    """Return facts by a plain walk over each slip."""
    names = ("complete", "failed", "stuck", "incomplete", "done_twice", "clock_skew")
    found = dict.fromkeys(names, 0)
    for slip in {one.id for one in events}:
        kept = [one for one in events if one.id == slip]
        kept.sort(key=lambda e: (e.at_ms, PLACES[e.topic], e.topic, e.partition, e.offset))
        topics = [one.topic for one in kept]
        had = {"price" if topic == "dlq" else topic for topic in topics}
        is_over, is_failed = "end" in topics, topics[-1] == "dlq"
        facts = (
            is_over,
            not is_over and is_failed,
            not (is_over or is_failed),
            is_over and not had >= set(STEPS),
            sum(is_twice(step, topics) for step in STEPS),
            skews(kept),
        )
        for name, count in zip(names, facts, strict=True):
            found[name] += count
    return found


PLACES = {"check": 0, "price": 1, "dlq": 1, "ship": 2, "end": 9}


def is_twice(step, topics):
    """Return whether a slip came to a step once more than it failed there before."""
    places = [n for n, topic in enumerate(topics) if topic == step]
    return any(
        count > (topics[:place].count("dlq") if step == "price" else 0)
        for count, place in enumerate(places)
    )


def skews(kept):
    """Return how often a step begins before the one before it."""
    firsts = {one.topic: one.at_ms for one in reversed(kept)}
    pairs = pairwise([*STEPS, "end"])
    return sum(b in firsts and a in firsts and firsts[b] < firsts[a] for a, b in pairs)
