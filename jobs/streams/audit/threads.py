"""Rules about the threads of an application: too many, too few, uneven, warm-ups. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.checks.check import Unit, check
from jobs.numbers import format_span_ms
from jobs.severity import Severity
from jobs.streams.application import Protocol
from jobs.streams.audit.conditions import (
    Condition,
    Seen,
    lasts,
    listed,
    most,
    some,
    streams_check,
    unknown,
)

MOST_WARM_UPS = 200
# fmt: off
IDLE = streams_check("streams_idle_threads", "More Kafka Streams threads than tasks",
    "Does every thread have a task?", "There are more threads than tasks, and some have no task at all.",
    severity=Severity.INFO, is_advice=True, thresholds=(lasts(600),),
    runbook="More threads or instances do not add throughput. Stop some, add standbys, or have more "
    "partitions in a new application.")
UNEVEN = streams_check("streams_tasks_uneven", "Kafka Streams tasks spread unevenly",
    "Do threads have about equally many active tasks?",
    "The active tasks of two threads differ by more than the number of subtopologies, each of which may "
    "differ by one. Not judged while warm-ups run or a rebalance is planned.",
    severity=Severity.INFO, is_advice=True, thresholds=(lasts(3_600),),
    runbook="Look whether instances have different numbers of threads, and whether copies are too far behind "
    "to take over (acceptable.recovery.lag).")
TOO_FEW = streams_check("streams_too_few_threads", "Kafka Streams threads fall behind",
    "Do the threads keep up with their input?",
    "The input lag grows from collection to collection, and each thread has two or more active tasks.",
    severity=Severity.INFO, is_advice=True, thresholds=(lasts(1_800),),
    runbook="Add instances, or threads where cores are idle. A hot partition needs another key instead.")
WARM_UP = streams_check("streams_warm_up_endless", "Kafka Streams warm-up does not end",
    "Do warm-ups catch up?",
    "A task has had a warm-up on one instance for longer than the threshold, as far as crosslog watched it. "
    "With the classic protocol warm-ups are inferred.",
    runbook="The copy is behind by more than acceptable.recovery.lag at every probing rebalance. Look at the "
    "restore rate of the instance, and at max.warmup.replicas.", effect="warm-up does not end",
    thresholds=(most(7_200, Unit.SECONDS, "Time that one warm-up lasts."),))
OVERDUE = streams_check("streams_probing_overdue", "Kafka Streams probing rebalance overdue",
    "Do probing rebalances happen when they are planned?",
    "The planned probing rebalance is in the past by more than the threshold, by default twice "
    "probing.rebalance.interval.ms (classic protocol).", effect="probing rebalance overdue",
    runbook="Only the member that the assignor chose starts it: look for a thread that does not poll.",
    thresholds=(most(1_200, Unit.SECONDS, "Time since the planned rebalance."),))
# fmt: on


@check(IDLE, UNEVEN)
def judge_spread(seen: Seen) -> Iterator[Condition]:
    """Compare threads with tasks, and threads with each other."""
    application = seen.application
    threads = application.threads
    if not seen.is_all:
        yield from (unknown(IDLE), unknown(UNEVEN))
        return
    idle = [one.client_id for one in threads if not any(one.now)]
    active = [len(one.now.active) for one in threads]
    if idle and len(threads) > len(application.tasks):
        text = (
            f"has {len(threads):,} threads for {len(application.tasks):,} tasks: {len(idle):,} have none, "
            f"{some(idle)}."
        )
        yield Condition(IDLE, text, {"threads": len(idle), "first": listed(idle)})
    if application.next_rebalance_ms is not None or any(one.now.warm_up for one in threads):
        yield unknown(UNEVEN)
    elif active and max(active) - min(active) > max(1, len(application.subtopologies)):
        text = f"has threads with {min(active):,} to {max(active):,} active tasks."
        yield Condition(UNEVEN, text, {"least": min(active), "most": max(active)})


@check(TOO_FEW)
def judge_throughput(seen: Seen) -> Iterator[Condition]:
    """Look whether the input lag grows; the memory has the lag before, and with what it began to grow."""
    lag, known = seen.lag_records, seen.memory.pop("lag", None)
    if lag is not None:
        seen.memory["lag"] = [lag, seen.now_ms, lag]
    if lag is None or known is None or not seen.is_watched or not seen.is_all:
        yield unknown(TOO_FEW)
        return
    first, since_ms, before = known
    threads = seen.application.threads
    if lag <= before or not threads:
        return
    seen.memory["lag"] = [first, since_ms, lag]
    least = min(len(one.now.active) for one in threads)
    if least > 1:
        text = (
            f"falls behind: its input lag has grown from {first:,} to {lag:,} records in "
            f"{format_span_ms(seen.now_ms - since_ms)}, and each of its {len(threads):,} threads has "
            f"{least:,} or more active tasks."
        )
        yield Condition(TOO_FEW, text, {"lag_before": first, "lag": lag, "threads": len(threads)})


@check(WARM_UP, OVERDUE)
def judge_warm_ups(seen: Seen) -> Iterator[Condition]:
    """Look for warm-ups that do not end; the memory has when each was first seen."""
    application = seen.application
    known = seen.memory.pop("warm_ups", {}) if seen.is_watched else {}
    now = sorted(
        (str(task), one.place)
        for one in application.processes
        for thread in one.threads
        for task in thread.now.warm_up
    )[:MOST_WARM_UPS]
    since = {
        f"{task} at {place}": known.get(f"{task} at {place}", seen.now_ms) for task, place in now
    }
    seen.memory["warm_ups"] = since
    if since:
        name, since_ms = min(since.items(), key=lambda one: (one[1], one[0]))
        lasted_ms = seen.now_ms - since_ms
        text = f"has had a warm-up of {name} for {format_span_ms(lasted_ms)} at least."
        yield Condition(WARM_UP, text, {"warm_ups": len(since)}, value=lasted_ms / 1000)
    elif not seen.is_all:
        yield unknown(WARM_UP)
    planned_ms = application.next_rebalance_ms
    if planned_ms is not None and planned_ms <= 0:
        # A rebalance at once hides when the next probing one is planned.
        yield unknown(OVERDUE)
    elif planned_ms is not None and planned_ms < seen.now_ms:
        late_ms = seen.now_ms - planned_ms
        text = f"has a probing rebalance that is overdue by {format_span_ms(late_ms)}."
        yield Condition(OVERDUE, text, {"planned_ms": planned_ms}, value=late_ms / 1000)
    elif application.protocol is Protocol.CLASSIC and seen.unread:
        yield unknown(OVERDUE)


CHECKS = (IDLE, UNEVEN, TOO_FEW, WARM_UP, OVERDUE)
RULES = (judge_spread, judge_throughput, judge_warm_ups)
