"""What is sound to change about the balance of an application, each with the numbers that it rests on.

There is no advice to have equal bytes as such: no assignor of Kafka places by size. A restore has a duration
only where a rate was measured.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from jobs.numbers import (
    format_bytes,
    format_count,
    format_least,
    format_percent,
    format_rate,
    format_span_s,
    format_times,
    sum_of,
)
from jobs.streams.application import Application, Protocol
from jobs.streams.balance.load import (
    RATE,
    STATE,
    Balance,
    Load,
    TaskLoad,
    heaviest,
    is_whole_seen,
)

_MOST_NAMED = 5
# Against the best split, against the mean of a subtopology; and what a move has to leave of the largest load.
_UNEVEN, _HOT, _GAIN = 1.2, 2.0, 0.98
# Below these numbers a skew costs nothing; the restore of a large state takes minutes.
_SMALL_BYTES, _SMALL_RATE, LARGE_BYTES = 10 << 20, 1.0, 1 << 30
# Instances with least state that a move is tried to: each costs as many steps as the largest has tasks.
_MOST_TARGETS = 10


@dataclass(frozen=True, slots=True)
class Advice:
    """What is uneven, why it counts, what to do; `topic` is where `key-skew` counts the keys."""

    kind: str
    what: str
    why: str
    next: str
    topic: str | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """A task that would run elsewhere, and the one that would come back for it (None: none).

    `records` and `size_bytes` are what is restored then: 0 where the target has a copy.
    """

    task: TaskLoad
    back: TaskLoad | None
    source: Load
    target: Load
    largest_per_thread: float
    records: int | None
    size_bytes: int

    @property
    def moved_bytes(self) -> int:
        return (self.task.state_bytes or 0) - ((self.back and self.back.state_bytes) or 0)


def best_move(balance: Balance) -> Move | None:
    """Return the move or swap of tasks that lowers the largest state per thread most; None: none does.

    Tried are moves from the instance with the largest to those with the smallest.
    """
    if balance.state_skew is None:
        return None
    best = min(_moves(balance), key=lambda one: one[:2], default=None)
    heavy = max(balance.instances, key=lambda one: one.bytes_per_thread)
    if best is None or best[0] > heavy.bytes_per_thread * _GAIN:
        return None
    largest, _, task, back, target = best
    restored = [task] if target.process_id not in task.copies else []
    if back is not None and heavy.process_id not in back.copies:
        restored.append(back)
    return Move(task, back, heavy, target, largest, *_sums(restored))


def _moves(balance: Balance) -> Iterator[tuple[float, int, TaskLoad, TaskLoad | None, Load]]:
    """Yield the largest load per thread after a move, its bytes, the task, the one back, the target."""
    own: dict[str, list[TaskLoad]] = defaultdict(list)
    for one in sorted(balance.tasks, key=lambda one: one.state_bytes or 0):
        if one.process_id is not None and one.state_bytes:
            own[one.process_id].append(one)
    heavy, *rest = sorted(balance.instances, key=lambda one: -one.bytes_per_thread)
    for target in rest[-_MOST_TARGETS:]:
        others = max((one.bytes_per_thread for one in rest if one is not target), default=0.0)
        # What to move for the same load per thread on both.
        even = (heavy.bytes_per_thread - target.bytes_per_thread) / (
            1 / heavy.threads + 1 / target.threads
        )
        back = [None, *own[target.process_id]]
        sizes = [0 if one is None else one.state_bytes or 0 for one in back]
        for task in own[heavy.process_id]:
            size = task.state_bytes or 0
            near = bisect_left(sizes, size - even)
            for n in {0, max(0, near - 1), min(near, len(back) - 1)}:
                moved = (size - sizes[n]) / heavy.threads, (size - sizes[n]) / target.threads
                after = heavy.bytes_per_thread - moved[0], target.bytes_per_thread + moved[1]
                yield max(others, *after), size + sizes[n], task, back[n], target


def advice_on(
    application: Application,
    balance: Balance,
    rate_per_s: float | None = None,
) -> tuple[Advice, ...]:
    """Return what is sound; `rate_per_s` is the restore rate that was measured (`lag.restore_rate`).

    What is not known, sizes or tasks that are left out, gives no advice.
    """
    found = [*_hot(application, balance), *_uneven(application, balance, rate_per_s)]
    return (*found, *_without_copy(application, balance, rate_per_s))


def balance_mapping(balance: Balance, advice: Iterable[Advice], by: str = STATE) -> dict[str, Any]:
    """Return a balance with its largest tasks and advice as plain values."""
    told = asdict(replace(balance, tasks=heaviest(balance, by)))
    return told | {"task_count": len(balance.tasks), "advice": [asdict(one) for one in advice]}


def balance_lines(told: dict[str, Any]) -> Iterator[str]:
    """Yield what `balance_mapping` holds as lines for people."""
    yield f"balance  state of the largest instance {format_times(told['state_skew'])} of the best split"
    for one in told["instances"]:
        size = format_least(one["state_bytes"], one["state_unknown"], format_bytes)
        yield (
            f"  {one['place']}  {one['threads']} threads, {one['active']} active, {one['copies']} copies, "
            f"state {size} ({format_percent(one['state_share'])}), {format_rate(one['records_per_s'])}"
        )
    yield from (f"  Advice: {one['what']} {one['why']} {one['next']}" for one in told["advice"])


def _restore(records: int | None, size_bytes: int | None, rate_per_s: float | None) -> str:
    text = f"{format_count(records)} records ({format_bytes(size_bytes)}) at most to restore"
    if rate_per_s is None or records is None:
        return f"{text}; how long it takes is unknown: no restore rate was measured"
    span = format_span_s(records / rate_per_s)
    return f"{text}, at most {span} at the {format_rate(rate_per_s)} that were measured"


def _hot(application: Application, balance: Balance) -> Iterator[Advice]:
    least = {STATE: _SMALL_BYTES, RATE: _SMALL_RATE}
    hot = [
        one
        for one in balance.spreads
        if (one.max_over_mean or 0) >= _HOT and (one.largest or 0) >= least[one.by]
    ]
    for one in sorted(hot, key=lambda one: -(one.max_over_mean or 0))[:_MOST_NAMED]:
        noun, form = ("state", format_bytes) if one.by == STATE else ("records", format_rate)
        yield Advice(
            "hot-partition",
            f"Task {one.task} has {format_percent(one.top_share)} of the {noun} of subtopology "
            f"{one.subtopology} ({form(one.largest)}), {format_times(one.max_over_mean)} the mean of all.",
            "A key is in one partition: more partitions do not help against a hot key.",
            "Count the keys with key-skew. For a hot key: salt it, or aggregate in two stages. Do not change "
            "the partitions of an input topic in place: keys move, their state does not.",
            next(iter(application.subtopologies[one.subtopology].source_topics), None),
        )


def _uneven(
    application: Application, balance: Balance, rate_per_s: float | None
) -> Iterator[Advice]:
    heavy = max(balance.instances, key=lambda one: one.bytes_per_thread, default=None)
    is_uneven = (balance.state_skew or 0) >= _UNEVEN and balance.counts_are_even
    if not is_uneven or heavy is None or (heavy.state_bytes or 0) < _SMALL_BYTES:
        return
    move = best_move(balance)
    custom = "A TaskAssignor (KIP-924) can place tasks by size."
    if application.protocol is Protocol.STREAMS:
        custom = "The broker assigns the tasks of the streams protocol; it takes no TaskAssignor."
    yield Advice(
        "size-skew",
        f"{heavy.place} has {format_percent(heavy.state_share)} of the state "
        f"({format_bytes(heavy.state_bytes)}) with {heavy.stateful} of "
        f"{sum(one.stateful for one in balance.instances)} stateful tasks, "
        f"{format_times(balance.state_skew)} the best split of these tasks over these threads.",
        "The built-in assignors count tasks, not bytes: they move nothing."
        + ("" if move is None else _told(move, balance, rate_per_s)),
        f"{custom} More threads on {heavy.place} lower the load of each thread there, but assignors that "
        "divide tasks by threads then give it more tasks.",
    )


def _told(move: Move, balance: Balance, rate_per_s: float | None) -> str:
    heavy, back = move.source, f", and {move.back.task} the other way" if move.back else ""
    after = ((heavy.state_bytes or 0) - move.moved_bytes) / (balance.state_bytes or 1)
    return (
        f" Moving {move.task.task} from {heavy.place} to {move.target.place}{back}: "
        f"{format_percent(heavy.state_share)} → {format_percent(after)} of the state on {heavy.place}; "
        f"{_restore(move.records, move.size_bytes, rate_per_s)}."
    )


def _without_copy(
    application: Application, balance: Balance, rate_per_s: float | None
) -> Iterator[Advice]:
    alone = [one for one in balance.tasks if one.state_bytes and not one.copies]
    records, size = _sums(alone)
    count = len(balance.instances)
    if not is_whole_seen(application) or size < LARGE_BYTES or count == 1:
        return
    key = "num.standby.replicas=1"
    if application.protocol is Protocol.STREAMS:
        key = "streams.num.standby.replicas=1 in the configuration of the group"
    yield Advice(
        "no-standby",
        f"{len(alone):,} stateful tasks have no standby.",
        f"If all of them move: {_restore(records, size, rate_per_s)}.",
        f"Set {key}. It costs about {format_bytes(size / max(1, count))} more on each of {count} instances.",
    )


def _sums(tasks: Sequence[TaskLoad]) -> tuple[int | None, int]:
    records = sum_of(one.changelog_records for one in tasks)
    size = sum(one.state_bytes or 0 for one in tasks)
    return None if records.unknown else records.value or 0, size
