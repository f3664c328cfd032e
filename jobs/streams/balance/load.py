"""How tasks, state and records are spread over the instances of an application.

The state of a task is the leader's log size of its changelogs: an upper bound, since compaction lags. Records
are those written to its source partitions between two collections. Skew compares the largest instance, by
thread, with the best split that any assignment of these tasks to these threads can have at most: the mean, or
the largest task where that is more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

from jobs.numbers import sum_of
from jobs.streams.application import Application, Role, TaskId
from jobs.streams.lag import StateOfTask, input_rates, states_of_tasks
from jobs.streams.observation import Facts

MOST_TASKS = 100
BY_BYTES, BY_RATE = "bytes", "rate"


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
    """What an instance or a thread has.

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
    """How uneven the tasks of a subtopology are; `task` is the largest, with `largest` of it."""

    task: str
    largest: float
    top_share: float
    max_over_mean: float
    cv: float


@dataclass(frozen=True, slots=True)
class SubtopologyLoad:
    """A subtopology; a spread is None where a number is not known, or all are 0."""

    subtopology: str
    tasks: int
    state: Spread | None
    rate: Spread | None

    @property
    def spreads(self) -> tuple[tuple[str, Spread | None], ...]:
        return ("state", self.state), ("records/s", self.rate)


@dataclass(frozen=True, slots=True)
class Balance:
    """An application's load. What follows from all tasks is None where some or their sizes are not known.

    `state_skew` is the largest instance against the best split, `max_over_mean` against the mean.
    `counts_are_even`: each instance has its share of stateful tasks. `rate_span_ms` is between the readings.
    """

    tasks: tuple[TaskLoad, ...]
    instances: tuple[Load, ...]
    threads: tuple[Load, ...]
    subtopologies: tuple[SubtopologyLoad, ...]
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
    active, copies = _held(application)
    tasks = []
    for task, placements in application.placements.items():
        runs = [one for one in placements if one.role is Role.ACTIVE][:1]
        state = states.get(task)
        tasks.append(
            TaskLoad(
                str(task),
                task.subtopology,
                runs[0].process.place if runs else None,
                runs[0].process.process_id if runs else None,
                tuple(
                    sorted({p.process.process_id for p in placements if p.role is not Role.ACTIVE})
                ),
                sizes[task],
                None if state is None else state.records,
                rates.get(task),
            )
        )
    is_whole = _is_whole(application)
    total = sum_of(sizes[task] for own in active.values() for task in own)
    whole_bytes = total.value if is_whole and not total.unknown else None

    def load(place: str, process_id: str, members: Collection[str]) -> Load:
        mine = [task for one in members for task in active[one]]
        other = [task for one in members for task in copies[one]]
        state = sum_of(sizes[task] for task in mine)
        rate = sum_of(rates.get(task) for task in mine)
        return Load(
            place,
            process_id,
            len(members),
            len(mine),
            sum(sizes[task] != 0 for task in mine),
            len(other),
            *state,
            (state.value or 0) / whole_bytes if whole_bytes else None,
            sum_of(sizes[task] for task in (*mine, *other)).value,
            *rate,
            max(0, len(members) - len(mine) - len(other)) if is_whole else None,
        )

    instances = tuple(
        load(one.place, one.process_id, [each.member_id for each in one.threads])
        for one in application.processes
    )
    before = facts.before
    return Balance(
        tuple(tasks),
        instances,
        tuple(
            load(thread.client_id, one.process_id, [thread.member_id])
            for one in application.processes
            for thread in one.threads
        ),
        tuple(_subtopologies(tasks, is_whole=is_whole)),
        *total,
        _skew(instances, [one.state_bytes or 0 for one in tasks if one.place], whole_bytes),
        state_skew(application, states),
        _are_even(instances) if whole_bytes else None,
        idle_threads(application),
        None if before is None else facts.observed_at_ms - before.observed_at_ms,
    )


def sizes_of(
    application: Application, states: Mapping[TaskId, StateOfTask]
) -> dict[TaskId, int | None]:
    """Return bytes of state of each task: 0 without state, None where not known or a store is not settled."""
    unsettled = {
        name
        for one in application.stores.values()
        if not one.is_global and (len(one.candidates) > 1 or one.changelog is None)
        for name in one.candidates
    }
    stateless = {n for n, one in application.subtopologies.items() if one.is_stateful is False}
    found: dict[TaskId, int | None] = {}
    for task in application.placements:
        state = states.get(task)
        if task.subtopology in unsettled:
            found[task] = None
        elif state is not None:
            found[task] = state.size_bytes
        else:
            found[task] = 0 if task.subtopology in stateless else None
    return found


def state_skew(application: Application, states: Mapping[TaskId, StateOfTask]) -> float | None:
    """Return the state of the largest instance over the mean; None: not known, no state, one instance."""
    sizes = sizes_of(application, states)
    active, _ = _held(application)
    totals = [
        sum_of(sizes[task] for one in process.threads for task in active[one.member_id])
        for process in application.processes
    ]
    known = [one.value or 0 for one in totals if not one.unknown]
    if not _is_whole(application) or len(known) < len(totals) or len(known) < 2 or not any(known):  # noqa: PLR2004
        return None
    return max(known) / fmean(known)


def idle_threads(application: Application) -> int | None:
    """Return how many threads there are beyond tasks, copies counted; None where not all are known."""
    if not _is_whole(application):
        return None
    mentions = sum(len(own) for own in application.placements.values())
    return max(0, len(application.threads) - mentions)


def heaviest(balance: Balance, order: str = BY_BYTES) -> tuple[TaskLoad, ...]:
    """Return the largest tasks by state or by records/s; those of unknown size come last."""
    name = "records_per_s" if order == BY_RATE else "state_bytes"

    def rank(one: TaskLoad) -> float:
        value = getattr(one, name)
        return 1 if value is None else -value

    return tuple(sorted(balance.tasks, key=rank)[:MOST_TASKS])


def _is_whole(application: Application) -> bool:
    return not application.left_out and not any(one.problem for one in application.threads)


def _held(
    application: Application,
) -> tuple[dict[str, list[TaskId]], dict[str, list[TaskId]]]:
    """Return active tasks and copies by member; a task that two have at a change counts for the first."""
    active: dict[str, list[TaskId]] = defaultdict(list)
    copies: dict[str, list[TaskId]] = defaultdict(list)
    for task, placements in application.placements.items():
        for n, one in enumerate(placements):
            if one.role is not Role.ACTIVE:
                copies[one.thread.member_id].append(task)
            elif n == 0:
                active[one.thread.member_id].append(task)
    return active, copies


def _skew(instances: Sequence[Load], sizes: Sequence[int], total: int | None) -> float | None:
    if not total:
        return None
    threads = [one.threads for one in instances]
    best = max(total / sum(threads), max(sizes) / max(threads))
    return max(one.bytes_per_thread for one in instances) / best


def _are_even(instances: Sequence[Load]) -> bool:
    by_thread = sum(one.stateful for one in instances) / sum(one.threads for one in instances)
    return all(abs(one.stateful - by_thread * one.threads) < 1 for one in instances)


def _subtopologies(tasks: Iterable[TaskLoad], *, is_whole: bool) -> Iterator[SubtopologyLoad]:
    by_name: dict[str, list[TaskLoad]] = defaultdict(list)
    for one in tasks:
        by_name[one.subtopology].append(one)
    for name, own in by_name.items():
        spreads = [
            _spread(own, values) if is_whole else None
            for values in ([one.state_bytes for one in own], [one.records_per_s for one in own])
        ]
        yield SubtopologyLoad(name, len(own), *spreads)


def _spread(tasks: Sequence[TaskLoad], values: Sequence[float | None]) -> Spread | None:
    known = [one for one in values if one is not None]
    if len(known) < len(values) or not any(known):
        return None
    mean, largest = fmean(known), max(known)
    top = tasks[known.index(largest)].task
    return Spread(top, largest, largest / sum(known), largest / mean, pstdev(known) / mean)
