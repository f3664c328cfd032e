import json
import random
import uuid
from collections import Counter

import pytest

from jobs.lab.traffic import fulfilment
from jobs.lab.traffic.fulfilment import (
    DWELL_S,
    STEPS,
    TOPICS,
    dwell_s,
    event_records,
    first_record,
    next_record,
    slip_type,
    topic_of,
)
from jobs.lab.traffic.shop import ShopRecord

FAILING, RETURN, LOST, EXPRESS, ORDINARY = 3, 4, 5, 6, 7


def done(number, count):
    """The slip of an order after so many steps."""
    record = first_record(1, number)
    for _ in range(count):
        record = next_record(record, 0, 0)
    return record


def way(number):
    """Every topic in which the slip of an order is, from the first on, until a service writes nothing."""
    record, topics = first_record(1, number), []
    while record is not None:
        topics.append(record.topic)
        is_served = record.topic in map(topic_of, DWELL_S)
        record = next_record(record, 0, 0) if is_served else None
    return [topic.removeprefix("fulfilment.") for topic in topics]


def test_the_same_seed_makes_the_same_slips_and_another_one_others():
    assert first_record(5, 9) == first_record(5, 9)
    assert first_record(5, 9) != first_record(6, 9)


def test_a_new_slip_has_an_id_a_type_all_steps_and_none_done():
    record = first_record(1, ORDINARY)
    assert (record.topic, record.key) == ("fulfilment.validate", b"7")
    assert record.headers[1:] == [
        ("slip-type", b"standard"),
        ("slip", b"validate,price,pay,pack,ship"),
        ("slip-done", b""),
    ]
    assert record.headers[0][0] == "slip-id"
    assert uuid.UUID(record.headers[0][1].decode()).version == 4
    assert set(json.loads(record.value)) == {"order", "total"}


def test_a_service_extends_what_is_done_and_keeps_all_else():
    before, after = done(ORDINARY, 1), done(ORDINARY, 2)
    assert (before.topic, after.topic) == ("fulfilment.price", "fulfilment.pay")
    assert after.headers == [*before.headers[:3], ("slip-done", b"validate,price")]
    assert (after.key, after.value) == (before.key, before.value)


@pytest.mark.parametrize(
    ("number", "topics"),
    [
        pytest.param(ORDINARY, ["validate", "price", "pay", "pack", "ship", "done"], id="standard"),
        pytest.param(EXPRESS, ["validate", "price", "pay", "ship", "done"], id="express"),
        pytest.param(RETURN, ["validate", "inspect"], id="return-waits-for-the-dead-service"),
        pytest.param(LOST, ["validate", "price", "pay", "pack"], id="lost-in-pack"),
        pytest.param(FAILING, ["validate", "price", "pay", "dlq"], id="dead-letter"),
    ],
)
def test_a_slip_goes_its_way(number, topics):
    assert way(number) == topics


def test_a_finished_slip_has_all_steps_done():
    headers = dict(done(ORDINARY, 5).headers)
    assert headers["slip-done"] == headers["slip"]


def test_a_dead_letter_has_its_slip_and_the_headers_of_spring():
    failed = done(FAILING, 2)
    letter = next_record(failed, 1, 258)
    assert (letter.key, letter.value) == (failed.key, failed.value)
    assert letter.headers == [
        *failed.headers,
        ("kafka_dlt-original-topic", b"fulfilment.pay"),
        ("kafka_dlt-original-partition", b"\0\0\0\1"),
        ("kafka_dlt-original-offset", b"\0\0\0\0\0\0\1\2"),
        ("kafka_dlt-original-consumer-group", b"fulfilment-pay"),
        ("kafka_dlt-exception-fqcn", b"com.example.pay.CardDeclinedException"),
        ("kafka_dlt-exception-message", b"The card of order 3 was declined."),
    ]


@pytest.mark.parametrize(
    ("number", "steps", "topic"),
    [
        pytest.param(FAILING, 2, "fulfilment.pack", id="failed-before"),
        pytest.param(LOST, 3, "fulfilment.ship", id="lost-before"),
    ],
)
def test_a_replayed_slip_moves_on_without_the_headers_of_the_replay(number, steps, topic):
    before = done(number, steps)
    replayed = ShopRecord(before.topic, before.key, before.value, [*before.headers, ("n", b"1")])
    after = next_record(replayed, 0, 0)
    assert after.topic == topic
    assert [name for name, _ in after.headers] == [name for name, _ in before.headers]


@pytest.mark.parametrize(
    ("key", "headers"),
    [
        pytest.param(b"7", [], id="no-headers"),
        pytest.param(None, [("slip", b"pay")], id="no-key"),
        pytest.param(b"order-7", [("slip", b"pay")], id="key-is-no-order"),
    ],
)
def test_a_record_that_is_no_slip_is_passed_over(key, headers):
    assert next_record(ShopRecord("fulfilment.pay", key, b"{}", headers), 0, 0) is None


def test_returns_dead_letters_and_express_slips_have_their_shares():
    types = Counter(map(slip_type, range(1, 601)))
    assert types == {"standard": 420, "express": 150, "return": 30}
    letters = [n for n in range(1, 601) if "dlq" in way(n)]
    assert letters == list(range(3, 601, 60))


def test_every_step_has_a_topic():
    steps = {step for way in STEPS.values() for step in way}
    assert {topic_of(step) for step in steps} < set(TOPICS)


def test_an_event_has_the_form_of_the_outbox():
    (event,) = event_records(1, RETURN, now_ms=5000)
    assert (event.topic, event.key) == ("fulfilment.events", b"4")
    assert [name for name, _ in event.headers] == ["id"]
    value = json.loads(event.value)
    assert (value["order"], value["type"], value["sequence"]) == (4, "ReturnRequested", 4)
    assert value["ts_ms"] < 5000


def test_one_of_a_hundred_events_is_there_twice():
    counts = Counter(e.headers[0][1] for n in range(1, 201) for e in event_records(1, n, 5000))
    assert Counter(counts.values()) == {1: 198, 2: 2}


def test_the_sequence_of_events_has_one_gap_early():
    events = [event_records(1, number, 5000)[0] for number in range(1, 201)]
    sequence = [json.loads(event.value)["sequence"] for event in events]
    assert set(range(1, 202)) - set(sequence) == {8}


@pytest.mark.parametrize("step", DWELL_S)
def test_a_service_needs_some_milliseconds_to_some_seconds(step):
    source = random.Random(1)
    times = [dwell_s(step, source) for _ in range(500)]
    assert 0 < min(times) < DWELL_S[step] < max(times) <= fulfilment._LONGEST_S
