"""Rules about time: of records, of tasks that read them, of windows that are emitted at their end. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.checks.check import Unit, check
from jobs.numbers import format_count, format_span_ms
from jobs.streams.audit.conditions import Condition, Seen, most, streams_check, unknown
from jobs.streams.lag import InputLag
from jobs.streams.observation import Facts

# Records of at most this much event time are a burst.
_SHORT_MS = 60_000

LATE = streams_check(
    id="streams_event_time_behind",
    title="Kafka Streams event time behind",
    question="Are the timestamps of the records that applications read recent?",
    rule="Records were written to a partition since the collection before, the task has committed all that "
    "was there then, and the newest timestamp of the partition is older than the threshold: lag is small, "
    "and the time of the records is behind. With LogAppendTime this does not happen.",
    runbook="Look at the producer: it is late, writes history, or its clock differs from this one.",
    thresholds=(most(3_600, Unit.SECONDS, "Age of the newest timestamp."),),
    is_advice=True,
)
BURST = streams_check(
    id="streams_backlog_of_short_time",
    title="Kafka Streams backlog of a burst",
    question="Does a task have many records of a short event time to read?",
    rule="A partition has more records to read than the threshold, and its newest timestamp is at most 60 s "
    "ahead of stream time: lag in time does not show this backlog.",
    runbook="Look for a burst or a hot key. More threads help only with more tasks than threads.",
    thresholds=(most(100_000, Unit.RECORDS, "Records of one partition.", most=1e12),),
    is_advice=True,
)
WATERMARK = streams_check(
    id="streams_watermark_behind",
    title="Kafka Streams windows not emitted",
    question="Are windows emitted soon after they close?",
    rule="The newest emitted window of a store that emits windows at their end closed longer before the "
    "stream time of its task than the threshold. Of several partitions the smallest stream time counts. "
    "Stores that commits do not name are not judged.",
    runbook="Set the threshold to window + grace of the application. Look whether records arrive that move "
    "stream time without closing windows.",
    thresholds=(
        most(86_400, Unit.SECONDS, "Set it to window + grace of the application.", least=1),
    ),
)


@check(LATE)
def judge_age(seen: Seen) -> Iterator[Condition]:
    """Look for new records that are read without lag and are old by their timestamps."""
    before = seen.before
    if before is None:
        yield unknown(LATE)
        return
    ages = [
        (age_ms, one.place)
        for inputs in seen.inputs.values()
        for one in inputs
        if (age_ms := _age_ms(one, before, seen.facts)) != 0
    ]
    known = [(age_ms, place) for age_ms, place in ages if age_ms is not None]
    is_whole = seen.is_all and len(known) == len(ages)
    if known:
        age_ms, (topic, number) = max(known)
        yield Condition(
            LATE,
            f"reads new records of {topic}-{number} whose timestamps are at least "
            f"{format_span_ms(age_ms)} old, without lag.",
            {"topic": topic, "partition": number, "age_s": age_ms / 1000},
            value=age_ms / 1000,
            is_at_least=not is_whole,
        )
    elif not is_whole:
        yield unknown(LATE)


def _age_ms(one: InputLag, before: Facts, now: Facts) -> int | None:
    """Return how old new records are at least, 0: none, or of now, or there is lag; None: not known."""
    topic, number = one.place
    old = before.topics.get(topic)
    was = None if old is None else old.ends.get(number)
    if one.end is None or was is None:
        return None
    if one.end <= was or one.committed is None or one.committed < was:
        return 0
    newest_ms = now.topics[topic].newest_ms.get(number)
    # It was written after the collection before, and is as old as it was then.
    return None if newest_ms is None or newest_ms < 0 else max(0, before.observed_at_ms - newest_ms)


@check(BURST)
def judge_bursts(seen: Seen) -> Iterator[Condition]:
    """Look for many records to read of little event time."""
    waiting = [one for inputs in seen.inputs.values() for one in inputs if one.records != 0]
    known = [one for one in waiting if one.records and one.event_time_ms is not None]
    is_whole = seen.is_all and len(known) == len(waiting)
    short = [
        (one.records or 0, one.place) for one in known if (one.event_time_ms or 0) <= _SHORT_MS
    ]
    if short:
        records, (topic, number) = max(short)
        yield Condition(
            BURST,
            f"has {format_count(records)} records of {topic}-{number} to read, within "
            f"{format_span_ms(_SHORT_MS)} of event time.",
            {"topic": topic, "partition": number, "records": records},
            value=records,
            is_at_least=not is_whole,
        )
    elif not is_whole:
        yield unknown(BURST)


@check(WATERMARK)
def judge_watermarks(seen: Seen) -> Iterator[Condition]:
    """Compare emitted windows with the stream time of their tasks."""
    worst = None
    for task, inputs in seen.inputs.items() if seen.windows else ():
        closes: dict[str, int] = {}
        for one in inputs:
            for store, close_ms in one.window_close_ms.items():
                closes[store] = max(close_ms, closes.get(store, close_ms))
        times = [one.stream_time_ms for one in inputs if one.stream_time_ms is not None]
        for store, close_ms in closes.items() if times else ():
            behind_ms = min(times) - close_ms
            if close_ms >= 0 and (worst is None or behind_ms > worst[0]):
                worst = behind_ms, store, task
    is_whole = seen.is_all and bool(seen.facts.committed)
    if worst is not None:
        behind_ms, store, task = worst
        yield Condition(
            WATERMARK,
            f"has emitted windows of store {store} of task {task} up to "
            f"{format_span_ms(behind_ms)} before its stream time.",
            {"store": store, "task": str(task), "behind_s": behind_ms / 1000},
            value=behind_ms / 1000,
            is_at_least=not is_whole,
        )
    elif not is_whole:
        yield unknown(WATERMARK)


CHECKS = (LATE, BURST, WATERMARK)
RULES = (judge_age, judge_bursts, judge_watermarks)
