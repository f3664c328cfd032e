"""The slips of the shop's order flow. Pure, and the same for the same seed.

A routing slip lists the steps of a piece of work. The record in `fulfilment.pay` is the slip that waits for
step `pay`; the service of that step extends `slip-done` and writes the slip to the topic of the next step.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Mapping

from jobs.cluster.admin.topics import NewTopicSpec
from jobs.lab.traffic.shop import Headers, ShopRecord, json_bytes

STEPS: Mapping[str, tuple[str, ...]] = {
    "standard": ("validate", "price", "pay", "pack", "ship"),
    "express": ("validate", "price", "pay", "ship"),
    "return": ("validate", "inspect", "refund"),
}
FIRST_STEP = "validate"
# Services that run, and how long they mostly need for a slip, in seconds.
DWELL_S: Mapping[str, float] = {
    "validate": 0.01,
    "price": 0.1,
    "pay": 0.8,
    "pack": 1.5,
    "ship": 0.4,
}
# Its group committed once, and does not run: slips for this step are never read.
DEAD_SERVICE = "inspect"
_LONGEST_S = 6.0

_PARTITIONS = 2


def topic_of(step: str) -> str:
    """Return the topic of slips that wait for a step."""
    return f"fulfilment.{step}"


def group_of(step: str) -> str:
    """Return the consumer group of the service that does a step."""
    return f"fulfilment-{step}"


DONE, DEAD_LETTERS, EVENTS = map(topic_of, ("done", "dlq", "events"))
TOPICS: Mapping[str, NewTopicSpec] = {
    **{topic_of(step): NewTopicSpec(_PARTITIONS) for steps in STEPS.values() for step in steps},
    DONE: NewTopicSpec(_PARTITIONS),
    # One partition each: the sequence of all events is the order of their records.
    DEAD_LETTERS: NewTopicSpec(1),
    EVENTS: NewTopicSpec(1),
}

# One of how many orders, and the first of them: each happens within the first ten slips.
_RETURN, _EXPRESS, _FAILURE, _DUPLICATE = (20, 4), (4, 2), (60, 3), (100, 9)
_LOST_NUMBER, _LOST_STEP = 5, "pack"
_FAILING_STEP = "pay"
_SEQUENCE_GAP_AFTER = 7

_SLIP_HEADERS = ("slip-id", "slip-type", "slip", "slip-done")
_EXCEPTIONS = (
    ("com.example.pay.CardDeclinedException", "The card of order {} was declined."),
    ("java.util.concurrent.TimeoutException", "The bank did not answer for order {} in 5000 ms."),
)


def slip_type(number: int) -> str:
    """Return the type of the slip of an order; orders are numbered from 1."""
    if _is_one_of(number, _RETURN):
        return "return"
    return "express" if _is_one_of(number, _EXPRESS) else "standard"


def first_record(seed: int, number: int) -> ShopRecord:
    """Return the slip of an order before its first step."""
    source = _source(seed, "slip", number)
    headers: Headers = [
        ("slip-id", _uuid(source)),
        ("slip-type", slip_type(number).encode()),
        ("slip", ",".join(STEPS[slip_type(number)]).encode()),
        ("slip-done", b""),
    ]
    value = {"order": number, "total": source.randint(100, 99_999)}
    return ShopRecord(topic_of(FIRST_STEP), b"%d" % number, json_bytes(value), headers)


def next_record(waiting: ShopRecord, partition: int, offset: int) -> ShopRecord | None:
    """Return what a service writes for a record that it read: the slip for the next step, or a dead letter.

    None: the service writes nothing, because the slip is lost in it or the record is no slip. A record with
    more headers than those of a slip was replayed: it neither fails nor is lost again.
    """
    headers = dict(waiting.headers)
    slip, done = (_text(headers.get(name)) for name in ("slip", "slip-done"))
    if not slip or not (waiting.key or b"").isdigit():
        return None
    step, number = waiting.topic.removeprefix(topic_of("")), int(waiting.key or b"")
    if len(headers) == len(_SLIP_HEADERS):
        if (number, step) == (_LOST_NUMBER, _LOST_STEP):
            return None
        if step == _FAILING_STEP and _is_one_of(number, _FAILURE):
            return _dead_letter(waiting, partition, offset)
    all_done = [*(done.split(",") if done else ()), step]
    left = [one for one in slip.split(",") if one not in all_done]
    extended = headers | {"slip-done": ",".join(all_done).encode()}
    return ShopRecord(
        topic_of(left[0]) if left else DONE,
        waiting.key,
        waiting.value,
        [(name, extended.get(name)) for name in _SLIP_HEADERS],
    )


def event_records(seed: int, number: int, now_ms: int) -> list[ShopRecord]:
    """Return the event of an order in the form of Debezium's outbox; one of 100 is there twice.

    `ts_ms` is the commit in the database, about 0.1 s before `now_ms`. `sequence` counts all events, with one
    gap.
    """
    source = _source(seed, "event", number)
    value = {
        "order": number,
        "type": "ReturnRequested" if slip_type(number) == "return" else "OrderPlaced",
        "ts_ms": now_ms - 60 - int(source.expovariate(1 / 40)),
        "sequence": number + (number > _SEQUENCE_GAP_AFTER),
    }
    record = ShopRecord(EVENTS, b"%d" % number, json_bytes(value), [("id", _uuid(source))])
    return [record] * (2 if _is_one_of(number, _DUPLICATE) else 1)


def dwell_s(step: str, source: random.Random) -> float:
    """Return how long a service needs for a slip, in seconds: mostly `DWELL_S`, at times much more."""
    return min(_LONGEST_S, DWELL_S[step] * source.lognormvariate(0, 0.6))


def _dead_letter(failed: ShopRecord, partition: int, offset: int) -> ShopRecord:
    """Return the record in the dead letter topic with the headers that Spring writes."""
    number = int(failed.key or b"")
    exception, message = _EXCEPTIONS[number // _FAILURE[0] % len(_EXCEPTIONS)]
    step = failed.topic.removeprefix(topic_of(""))
    headers: Headers = [
        ("kafka_dlt-original-topic", failed.topic.encode()),
        ("kafka_dlt-original-partition", partition.to_bytes(4, "big")),
        ("kafka_dlt-original-offset", offset.to_bytes(8, "big")),
        ("kafka_dlt-original-consumer-group", group_of(step).encode()),
        ("kafka_dlt-exception-fqcn", exception.encode()),
        ("kafka_dlt-exception-message", message.format(number).encode()),
    ]
    return ShopRecord(DEAD_LETTERS, failed.key, failed.value, [*failed.headers, *headers])


def _is_one_of(number: int, which: tuple[int, int]) -> bool:
    every, first = which
    return number % every == first


def _source(seed: int, what: str, number: int) -> random.Random:
    return random.Random(f"{seed}:{what}:{number}")  # noqa: S311  no secrets


def _uuid(source: random.Random) -> bytes:
    return str(uuid.UUID(int=source.getrandbits(128), version=4)).encode()


def _text(value: str | bytes | None) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value or ""
