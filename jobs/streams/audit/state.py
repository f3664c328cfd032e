"""Rules about state: its copies, how far they are, tasks that commit nothing, its size. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from heapq import nlargest

from jobs.checks.check import Unit, check
from jobs.numbers import format_bytes, format_count, format_span_s, sum_of
from jobs.streams.audit.conditions import (
    Condition,
    Seen,
    listed,
    most,
    some,
    streams_check,
    unknown,
)
from jobs.streams.lag import NOT_KEPT, InputLag, changelog_sums, copy_lag
from jobs.streams.observation import Facts

# How many names evidence has, and how many tasks are remembered.
_NAMED, _REMEMBERED = 20, 200
_QUIET = "quiet"

NO_STANDBY = streams_check(
    id="streams_no_standby",
    title="Kafka Streams state on one instance only",
    question="Does every task with state have a copy?",
    rule="Tasks with state have no standby and no warm-up. Not judged while it is not known which "
    "subtopologies have state.",
    runbook="Set num.standby.replicas to 1 (streams groups: streams.num.standby.replicas of the group).",
    is_advice=True,
)
ONE_RACK = streams_check(
    id="streams_copies_in_one_rack",
    title="Kafka Streams copies in one rack",
    question="Are the copies of each task in more than one rack?",
    rule="All copies of a task with state are in one rack, and the application has members in several "
    "racks. Members without client.rack: not judged.",
    runbook="Set client.rack, and rack.aware.assignment.tags or the rack-aware assignment strategy.",
    is_advice=True,
)
STANDBY_BEHIND = streams_check(
    id="streams_standby_behind",
    title="Kafka Streams standby behind",
    question="Are standbys close to the state that they copy?",
    rule="When the last rebalance was first seen, a standby was behind its changelogs by more records than "
    "the threshold. It may have caught up since: members tell their positions only when they join.",
    runbook="Kafka Streams moves a task to a standby only within acceptable.recovery.lag. Look whether "
    "restores are slow, or instances restart often.",
    thresholds=(
        most(
            10_000,
            Unit.RECORDS,
            "Records of one task (acceptable.recovery.lag of the application).",
            most=1e12,
        ),
    ),
    is_advice=True,
)
QUIET = streams_check(
    id="streams_restoring_or_stuck",
    title="Kafka Streams task restores or is stuck",
    question="Does every task with state commit while its input grows?",
    rule="A task with state has a thread and records to read, its input grew, and neither the offsets nor "
    "the metadata of its commits changed for longer than the threshold. A task that restores commits "
    "nothing, and neither does one that fails on the same record: the group does not tell them apart.",
    runbook="Look at the state of the task and at exceptions in the log of its instance.",
    thresholds=(most(600, Unit.SECONDS, "Time without a new commit."),),
)
UNEVEN = streams_check(
    id="streams_state_uneven",
    title="Kafka Streams state uneven",
    question="Do instances with equally many tasks have equally much state?",
    rule="The instance with the most bytes of changelogs of active tasks has more than the threshold times "
    "the mean, while the numbers of tasks with state differ by at most one. A changelog bounds the size of "
    "its state. With n instances the ratio is n at most. Not judged without all sizes.",
    runbook="Assignors count tasks and not bytes. Look for hot keys, or give the instance more room.",
    thresholds=(most(2, Unit.COUNT, "Largest divided by mean.", least=1, most=1_000),),
    is_advice=True,
)


@check(NO_STANDBY, ONE_RACK)
def judge_copies(seen: Seen) -> Iterator[Condition]:
    """Look for tasks with state that one instance, or one rack, has alone."""
    if not seen.is_all or not seen.is_state_known:
        yield from map(unknown, (NO_STANDBY, ONE_RACK))
        return
    placements = seen.application.placements
    tasks = [task for task in placements if task.subtopology in seen.stateful]
    alone = [task for task in tasks if not seen.copies[task]]
    if alone:
        size = sum_of(map(seen.sizes.get, alone))
        is_whole = seen.is_settled and not size.unknown
        told = f"{'' if is_whole else 'at least '}{format_bytes(size.value)}"
        yield Condition(
            NO_STANDBY,
            f"has {len(alone):,} of {len(tasks):,} tasks with state on one instance only: {some(alone)}. "
            f"Their changelogs have {told if size.value is not None else 'an unknown size'}.",
            {
                "tasks": listed(alone),
                "task_count": len(alone),
                "size_bytes": size.value if is_whole else None,
            },
        )
    racks = {one.rack for one in seen.application.threads}
    copied = [task for task in tasks if len(placements[task]) > 1]
    shared = (
        ((task, {one.thread.rack for one in placements[task]}) for task in copied)
        if len(racks - {None}) > 1
        else ()
    )
    close = [task for task, own in shared if len(own) == 1 and None not in own]
    if close:
        yield Condition(
            ONE_RACK,
            f"has all copies of {len(close):,} tasks in one rack each: {some(close)}.",
            {"tasks": listed(close), "task_count": len(close)},
        )
    elif copied and None in racks:
        yield unknown(ONE_RACK)


@check(STANDBY_BEHIND)
def judge_standbys(seen: Seen) -> Iterator[Condition]:
    """Compare how far standbys were when the last rebalance was first seen."""
    if seen.joined is NOT_KEPT or not seen.is_settled:
        yield unknown(STANDBY_BEHIND)
        return
    ends = changelog_sums(seen.application, seen.joined, lambda one: one.ends)
    lags = [
        (copy_lag(one, task, ends)[1], task)
        for one in seen.application.threads
        for task in one.now.standby
    ]
    known = nlargest(_NAMED, ((records, task) for records, task in lags if records is not None))
    is_whole = seen.is_all and all(records is not None for records, _ in lags)
    if known:
        records, task = known[0]
        at = datetime.fromtimestamp(seen.joined.observed_at_ms / 1000, UTC)
        yield Condition(
            STANDBY_BEHIND,
            f"had a standby of task {task} up to {format_count(records)} records behind when its last "
            f"rebalance was first seen, {at:%Y-%m-%d %H:%M:%S} UTC; it may have caught up since.",
            {"records": {str(one): lag for lag, one in known}, "at": at.isoformat()},
            value=records,
            is_at_least=not is_whole,
        )
    elif not is_whole:
        yield unknown(STANDBY_BEHIND)


@check(QUIET)
def judge_commits(seen: Seen) -> Iterator[Condition]:
    """Look for tasks with state whose commits do not change while their input grows.

    The memory has since when of each, from the reading before on.
    """
    before, facts = seen.before, seen.facts
    if before is None or not before.committed or not facts.committed:
        # A commit may be missed now: what was remembered does not follow any more.
        seen.memory.pop(_QUIET, None)
        yield unknown(QUIET)
        return
    remembered = seen.memory.get(_QUIET, {})
    # Of a long time between two readings it is not known when the records came.
    since_ms = before.observed_at_ms if seen.is_watched else facts.observed_at_ms
    quiet: dict[str, int] = {}
    is_whole = seen.is_all and seen.is_state_known
    running = {task for one in seen.application.threads for task in one.now.active}
    old, new, stateful, inputs = (
        before.committed.get,
        facts.committed.get,
        seen.stateful,
        seen.inputs,
    )
    for task, places in seen.application.tasks.items():
        if task.subtopology not in stateful or task not in running:
            continue
        if list(map(old, places)) == list(map(new, places)):
            name = str(task)
            waits = _waits(inputs[task], before, is_growing=name not in remembered)
            is_whole &= waits is not None
            if waits:
                quiet[name] = remembered.get(name, since_ms)
    longest = sorted(sorted(quiet), key=quiet.__getitem__)
    seen.memory[_QUIET] = {name: quiet[name] for name in longest[:_REMEMBERED]}
    if longest:
        waited_s = (facts.observed_at_ms - quiet[longest[0]]) / 1000
        yield Condition(
            QUIET,
            f"has {len(longest):,} tasks with state that restore or are stuck: {some(longest)}. No commit "
            f"for {format_span_s(waited_s)}, and their input grew.",
            {"tasks": longest[:_NAMED], "task_count": len(longest), "longest_s": waited_s},
            value=waited_s,
            is_at_least=not is_whole,
        )
    elif not is_whole:
        yield unknown(QUIET)


def _waits(inputs: Sequence[InputLag], before: Facts, *, is_growing: bool) -> bool | None:
    """Return whether a task has records to read, and `is_growing`: got some since; None: not known."""
    has_records = has_grown = False
    is_known = True
    for (name, number), _, end, records, *_ in inputs:
        topic = before.topics.get(name)
        was = None if topic is None else topic.ends.get(number)
        has_records |= bool(records)
        has_grown |= end is not None and was is not None and end > was
        is_known &= None not in (end, was, records)
    waits = has_records and (not is_growing or has_grown)
    return waits or (False if is_known else None)


@check(UNEVEN)
def judge_sizes(seen: Seen) -> Iterator[Condition]:
    """Compare the bytes of state that processes with equally many tasks have."""
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    is_known = seen.is_all and seen.is_state_known and seen.is_settled
    processes = seen.application.processes if is_known else ()
    for process in processes:
        for task in (one for thread in process.threads for one in thread.now.active):
            if task.subtopology in seen.stateful:
                size = seen.sizes.get(task)
                is_known &= size is not None
                counts[process.process_id] += 1
                sizes[process.process_id] += size or 0
    total = sizes.total()
    if not is_known:
        yield unknown(UNEVEN)
    elif (
        total
        and len(counts) == len(processes) > 1
        and max(counts.values()) - min(counts.values()) <= 1
    ):
        largest = max(processes, key=lambda one: sizes[one.process_id])
        most_bytes = sizes[largest.process_id]
        ratio = most_bytes * len(processes) / total
        yield Condition(
            UNEVEN,
            f"has {format_bytes(most_bytes)} of {format_bytes(total)} of state on instance {largest.place}: "
            f"{ratio:.3g} times the mean of {len(processes):,} instances, with equally many tasks.",
            {
                "place": largest.place,
                "size_bytes": most_bytes,
                "total_bytes": total,
                "ratio": ratio,
            },
            value=ratio,
        )


CHECKS = (NO_STANDBY, ONE_RACK, STANDBY_BEHIND, QUIET, UNEVEN)
RULES = (judge_copies, judge_standbys, judge_commits, judge_sizes)
