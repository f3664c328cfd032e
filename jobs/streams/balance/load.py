"""How tasks, state and records are spread over the instances of an application.

The state of a task is the leader's log size of its changelogs: an upper bound, since compaction lags. Records
are those written to its source partitions between two collections. Skew compares the largest instance, by
thread, with the best split that any assignment of these tasks to these threads can have at most: the mean, or
the largest task where that is more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from jobs.numbers import sum_of
from jobs.streams.application import Application, Process, Role, TaskId
from jobs.streams.lag import StateOfTask, input_rates, states_of_tasks
from jobs.streams.observation import Facts

MOST_TASKS = 100
STATE, RATE = "state_bytes", "records_per_s"


@dataclass(frozen=True, slots=True)
class TaskLoad:
    """What a task takes; `place` None: no active thread; `copies` are process ids. None: not known."""

    task: str
    subtopology: str
    place: str | None
    process_id: str | None
    copies: tuple[str, ...]
    state_bytes: int | None
    changelog_records: int | None
    records_per_s: float | None


@dataclass(frozen=True, slots=True)
class Load:
    """What an instance has.

    Sums are of what is known, None without any; `..._unknown` is how many tasks have no number. `state_share`
    is None unless all sizes are known. `idle_threads` are threads beyond its tasks, copies counted.
    """

    place: str
    process_id: str
    threads: int
    active: int
    stateful: int
    copies: int
    state_bytes: int | None
    state_unknown: int
    state_share: float | None
    bytes_with_copies: int | None
    records_per_s: float | None
    rate_unknown: int
    idle_threads: int | None

    @property
    def bytes_per_thread(self) -> float:
        return (self.state_bytes or 0) / self.threads


@dataclass(frozen=True, slots=True)
class Spread:
    """How uneven the tasks of a subtopology are `by` state or rate, and the largest `task`.

    None where a number is not known, or all are 0.
    """

    subtopology: str
    tasks: int
    by: str
    task: str | None = None
    largest: float | None = None
    top_share: float | None = None
    max_over_mean: float | None = None


@dataclass(frozen=True, slots=True)
class Balance:
    """An application's load. What follows from all tasks is None where some or their sizes are not known.

    `state_skew` is the largest instance against the best split, `max_over_mean` against the mean.
    `counts_are_even`: each instance has its share of stateful tasks. `rate_span_ms` is between the readings.
    """

    tasks: tuple[TaskLoad, ...]
    instances: tuple[Load, ...]
    thread_count: int
    spreads: tuple[Spread, ...]
    state_bytes: int | None
    state_unknown: int
    state_skew: float | None
    max_over_mean: float | None
    counts_are_even: bool | None
    idle_threads: int | None
    rate_span_ms: int | None


def balance_of(
    application: Application, facts: Facts, states: Mapping[TaskId, StateOfTask] | None = None
) -> Balance:
    """Return how the load is spread; `states` are of the same facts (None: computed here)."""
    states = states_of_tasks(application, facts) if states is None else states
    sizes, rates = sizes_of(application, states), input_rates(application, facts)
    tasks = []
    for task, placements in application.placements.items():
        runs = next((one.process for one in placements if one.role is Role.ACTIVE), None)
        place, process_id = (runs.place, runs.process_id) if runs else (None, None)
        copies = {one.process.process_id for one in placements if one.role is not Role.ACTIVE}
        records = states[task].records if task in states else None
        load = (tuple(sorted(copies)), sizes[task], records, rates.get(task))
        tasks.append(TaskLoad(str(task), task.subtopology, place, process_id, *load))
    is_whole = is_whole_seen(application)
    total = sum_of(sizes[task] for one in application.threads for task in one.now.active)
    # An instance without a task has 0 where that is all that it has.
    nothing = [0] if is_whole else []
    whole_bytes = total.value if is_whole and not total.unknown else None

    def load_of(process: Process) -> Load:
        threads = process.threads
        active = [task for one in threads for task in one.now.active]
        copies = [task for one in threads for task in (*one.now.standby, *one.now.warm_up)]
        state = sum_of([sizes[task] for task in active] or nothing)
        stateful = sum(sizes[task] != 0 for task in active)
        share = (state.value or 0) / whole_bytes if whole_bytes else None
        both = sum_of([sizes[task] for task in (*active, *copies)] or nothing).value
        rate = sum_of([rates.get(task) for task in active] or nothing)
        idle = max(0, len(threads) - len(active) - len(copies)) if is_whole else None
        counts = (len(threads), len(active), stateful, len(copies))
        return Load(process.place, process.process_id, *counts, *state, share, both, *rate, idle)

    instances = tuple(map(load_of, application.processes))
    mentions = sum(len(own) for own in application.placements.values())
    return Balance(
        tuple(tasks),
        instances,
        len(application.threads),
        tuple(_spreads(tasks, is_whole=is_whole)),
        *total,
        _skew(instances, tasks, whole_bytes),
        max(one.state_share or 0 for one in instances) * len(instances) if whole_bytes else None,
        _are_even(instances) if whole_bytes else None,
        max(0, len(application.threads) - mentions) if is_whole else None,
        None if facts.before is None else facts.observed_at_ms - facts.before.observed_at_ms,
    )


def sizes_of(
    application: Application, states: Mapping[TaskId, StateOfTask]
) -> dict[TaskId, int | None]:
    """Return bytes of state of each task: 0 without state, None where not known or a store is not settled."""
    known: dict[str, int | None] = {
        name: 0 for name, one in application.subtopologies.items() if one.is_stateful is False
    }
    for one in application.stores.values():
        if not one.is_global and (len(one.candidates) > 1 or one.changelog is None):
            known |= dict.fromkeys(one.candidates)
    return {
        task: states[task].size_bytes
        if task in states and known.get(task.subtopology, 0) is not None
        else known.get(task.subtopology)
        for task in application.placements
    }


def is_whole_seen(application: Application) -> bool:
    """Say whether all tasks are known: nothing is left out, and the bytes of all members can be read."""
    return not application.left_out and not any(one.problem for one in application.threads)


def heaviest(balance: Balance, by: str = STATE) -> tuple[TaskLoad, ...]:
    """Return the largest tasks by `STATE` or `RATE`; those without a number come last."""
    known = [one for one in balance.tasks if getattr(one, by) is not None]
    known.sort(key=lambda one: -getattr(one, by))
    return (*known, *(one for one in balance.tasks if getattr(one, by) is None))[:MOST_TASKS]


def _skew(instances: Sequence[Load], tasks: Iterable[TaskLoad], total: int | None) -> float | None:
    if not total:
        return None
    threads = [one.threads for one in instances]
    largest = max(one.state_bytes or 0 for one in tasks if one.place)
    best = max(total / sum(threads), largest / max(threads))
    return max(one.bytes_per_thread for one in instances) / best


def _are_even(instances: Sequence[Load]) -> bool:
    by_thread = sum(one.stateful for one in instances) / sum(one.threads for one in instances)
    return all(abs(one.stateful - by_thread * one.threads) < 1 for one in instances)


def _spreads(tasks: Iterable[TaskLoad], *, is_whole: bool) -> Iterator[Spread]:
    by_name: dict[str, list[TaskLoad]] = defaultdict(list)
    for one in tasks:
        by_name[one.subtopology].append(one)
    for name, own in by_name.items():
        for by in (STATE, RATE):
            values = [getattr(one, by) for one in own]
            if not is_whole or None in values or not any(values):
                yield Spread(name, len(own), by)
                continue
            mean, most = fmean(values), max(values)
            top = own[values.index(most)].task
            yield Spread(name, len(own), by, top, most, most / sum(values), most / mean)
