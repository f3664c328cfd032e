"""Lag of an application that means something: of its input, of event time, of standbys, of a restore.

Source: OffsetFetch (offsets and stream time), ListOffsets, DescribeLogDirs, and the offset sums that members
told when they joined last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from jobs.cluster.descriptions import TopicPartition
from jobs.streams.application import Application, Process, Role, TaskId, Thread
from jobs.streams.observation import Earlier, Facts, TopicFacts
from jobs.wire.errors import RecordFormatError
from jobs.wire.streams_userdata import RUNNING, CommitMetadata, decode_commit_metadata

_NOT_SEEN = TopicFacts(0)
# Without the changelogs of a join, how far copies were behind then is not known.
NOT_KEPT = Facts(0, {}, {})
# acceptable.recovery.lag: a copy that is less behind counts as caught up.
CAUGHT_UP_RECORDS = 10_000


class InputLag(NamedTuple):
    """How far a task is behind on one source partition.

    `records` are those not committed yet: from the log's start where nothing is committed. `stream_time_ms`
    is the largest timestamp it has seen, None: no commit of Streams. `at_most_ms` is how old the first of
    those records can be; 0 without any. `event_time_ms` is by how much the newest record is ahead of
    stream time. None: not known.
    """

    place: TopicPartition
    committed: int | None
    end: int | None
    records: int | None
    stream_time_ms: int | None
    at_most_ms: int | None
    event_time_ms: int | None
    window_close_ms: dict[str, int]


@dataclass(frozen=True, slots=True)
class StateOfTask:
    """The changelogs of a task; None: not known, or no store of the subtopology is settled.

    `records` and `size_bytes` bound what a restore from nothing reads: compacted logs hold less than that.
    """

    task: TaskId
    changelogs: tuple[TopicPartition, ...]
    end_sum: int | None
    records: int | None
    size_bytes: int | None


class StandbyLag(NamedTuple):
    """How far a copy of a task was behind, at most, when its member's last join was first seen.

    `records` None: the member did not say where it was, or the ends of then are not known.
    """

    task: TaskId
    member_id: str
    role: Role
    position_sum: int | None
    records: int | None


@dataclass(frozen=True, slots=True)
class RestoreCost:
    """What others must read before they serve the active tasks of a process that dies.

    `without_copy` are its tasks with state that no other process has: all of their changelogs are read. What
    the copies of the others lack, only their members know: `records` is None unless the lag of copies at the
    same moment is given. `size_bytes` is of the tasks without a copy, None without any.
    """

    process: Process
    tasks: int
    without_copy: tuple[TaskId, ...]
    records: int | None
    size_bytes: int | None


def input_lags(
    application: Application, facts: Facts, tasks: Iterable[TaskId] | None = None
) -> dict[TaskId, tuple[InputLag, ...]]:
    """Return the lag of tasks (None: of all) on each of their source partitions."""
    return {
        task: tuple(_input_lag(place, facts) for place in application.tasks[task])
        for task in (sorted(application.tasks) if tasks is None else tasks)
    }


def ends_before(application: Application, facts: Facts) -> Earlier:
    """Return of facts what makes a rate with those of the next collection: ends of the source topics."""
    names = {place.topic for own in application.tasks.values() for place in own}
    ends = {name: one.ends for name, one in facts.topics.items() if name in names}
    return Earlier(facts.observed_at_ms, ends)


def input_rates(application: Application, facts: Facts) -> dict[TaskId, float | None]:
    """Return records/s that were written to the source partitions of each task since the collection before.

    None: an end is not known in one of the two readings, or is lower now (another topic of this name).
    """
    before = facts.before
    if before is None or facts.observed_at_ms <= before.observed_at_ms:
        return dict.fromkeys(application.tasks)
    span_s = (facts.observed_at_ms - before.observed_at_ms) / 1000

    def grown(place: TopicPartition) -> int | None:
        end = facts.topics.get(place.topic, _NOT_SEEN).ends.get(place.partition)
        first = before.ends.get(place.topic, {}).get(place.partition)
        return None if end is None or first is None or end < first else end - first

    sums = {task: _sum(map(grown, own)) for task, own in application.tasks.items()}
    return {task: None if one is None else one / span_s for task, one in sums.items()}


def states_of_tasks(application: Application, facts: Facts) -> dict[TaskId, StateOfTask]:
    """Return the size of the state of each task of a subtopology that has some."""
    topics = _changelogs(application, facts)
    return {
        task: _state(task, topics[task.subtopology])
        for task in sorted(application.tasks)
        if task.subtopology in topics
    }


def changelog_sums(
    application: Application, facts: Facts, of: Callable[[TopicFacts], Mapping[int, int]]
) -> dict[TaskId, int | None]:
    """Return the sum of some numbers over the changelogs of each task of `states_of_tasks`."""
    known = {
        name: [of(one) for _, one in own] for name, own in _changelogs(application, facts).items()
    }
    return {
        task: own[0].get(task.partition)
        if len(own) == 1
        else _sum([one.get(task.partition) for one in own])
        for task in application.tasks
        if (own := known.get(task.subtopology)) is not None
    }


def changelogs_of(application: Application, facts: Facts) -> Facts:
    """Return of facts what tells later how far copies were behind: starts and ends of the changelogs."""
    names = {one.changelog for one in application.stores.values()}
    topics = {
        name: TopicFacts(one.partitions, one.starts, one.ends)
        for name, one in facts.topics.items()
        if name in names
    }
    return Facts(facts.observed_at_ms, topics, {})


def standby_lags(application: Application, joined: Facts) -> tuple[StandbyLag, ...]:
    """Return how far standbys and warm-ups were behind at most; `joined` are `changelogs_of` the join.

    Positions are of the join: against the ends of a later moment they say nothing of that moment.
    """
    found = []
    ends = changelog_sums(application, joined, lambda one: one.ends)
    for task, placements in application.placements.items():
        for role, thread, _ in placements:
            if role is not Role.ACTIVE:
                where = copy_lag(thread, task, ends)
                found.append(StandbyLag(task, thread.member_id, role, *where))
    return tuple(found)


def copy_lag(
    thread: Thread, task: TaskId, ends: Mapping[TaskId, int | None]
) -> tuple[int | None, int | None]:
    """Return position and lag of a copy as in `StandbyLag`; `ends` are sums of the changelogs' ends."""
    position = thread.offset_sums.get(task)
    if position is None or position < 0:
        return (position, 0) if position == RUNNING else (None, None)
    end = ends.get(task)
    return position, None if end is None else max(0, end - position)


def restore_costs(
    application: Application, states: dict[TaskId, StateOfTask], lags: Iterable[StandbyLag] = ()
) -> tuple[RestoreCost, ...]:
    """Return what the loss of each process costs at one moment, of which states and lags are.

    Nothing where tasks or threads are left out: a copy may be among them.
    """
    if application.left_out:
        return ()
    least: dict[tuple[TaskId, str], int | None] = {
        (one.task, one.member_id): one.records for one in lags
    }
    found = []
    for process in application.processes:
        mine = [one for one in process.tasks(Role.ACTIVE) if one in states]
        records: list[int | None] = []
        sizes: list[int | None] = []
        alone = []
        for task in mine:
            others = [
                one
                for one in application.placements[task]
                if one.role is not Role.ACTIVE and one.process is not process
            ]
            if others:
                told = [least.get((task, one.thread.member_id)) for one in others]
                known = [one for one in told if one is not None]
                records.append(min(known, default=None))
            else:
                alone.append(task)
                records.append(states[task].records)
                sizes.append(states[task].size_bytes)
        found.append(
            RestoreCost(
                process, len(mine), tuple(alone), _sum(records), _sum(sizes) if alone else None
            )
        )
    return tuple(found)


def restore_rate(
    before: Application, after: Application, lags: Iterable[StandbyLag], slack_ms: int
) -> float | None:
    """Return records/s that an instance restored at least, measured between two joins; None: not measured.

    Counted are copies that were still behind in `after`, of which `lags` are: one that had caught up only
    followed its input. The joins were up to `slack_ms` further apart than they were seen.
    """
    span_ms = after.observed_at_ms - before.observed_at_ms + slack_ms
    first = {
        (one.process_id, task): position
        for one in before.threads
        for task, position in one.offset_sums.items()
        if position >= 0
    }
    processes = {one.member_id: one.process_id for one in after.threads}
    grown: Counter[str] = Counter()
    for one in lags:
        process = processes.get(one.member_id)
        start = first.get((process, one.task))
        is_behind = one.records is not None and one.records > CAUGHT_UP_RECORDS
        if process and is_behind and start is not None and one.position_sum is not None:
            grown[process] += max(0, one.position_sum - start)
    most = max(grown.values(), default=0)
    return most * 1000 / span_ms if most and span_ms > slack_ms else None


def _input_lag(place: TopicPartition, facts: Facts) -> InputLag:
    topic = facts.topics.get(place.topic, _NOT_SEEN)
    end, start = topic.ends.get(place.partition), topic.starts.get(place.partition)
    newest_ms = topic.newest_ms.get(place.partition)
    one = facts.committed.get(place)
    committed = None if one is None else one.offset
    metadata = _metadata("" if one is None else one.metadata)
    read_to = start if committed is None else committed
    records = None if end is None or read_to is None else max(0, end - read_to)
    stream_ms = metadata.stream_time_ms
    at_most_ms = None if stream_ms is None else max(0, facts.observed_at_ms - stream_ms)
    event_ms = None
    if newest_ms is not None and stream_ms is not None:
        event_ms = max(0, newest_ms - stream_ms)
    return InputLag(
        place,
        committed,
        end,
        records,
        stream_ms,
        0 if records == 0 else at_most_ms,
        0 if records == 0 else event_ms,
        dict(metadata.emitted_window_close_ms),
    )


def _metadata(text: str) -> CommitMetadata:
    try:
        return decode_commit_metadata(text)
    except RecordFormatError:
        return CommitMetadata()


def _changelogs(application: Application, facts: Facts) -> dict[str, list[tuple[str, TopicFacts]]]:
    """Return the changelogs of each subtopology that is known to have stores."""
    found: dict[str, list[tuple[str, TopicFacts]]] = {}
    for one in application.stores.values():
        if one.subtopology is not None:
            own = found.setdefault(one.subtopology, [])
            if one.changelog is not None:
                own.append((one.changelog, facts.topics.get(one.changelog, _NOT_SEEN)))
    return found


def _state(task: TaskId, changelogs: Iterable[tuple[str, TopicFacts]]) -> StateOfTask:
    number = task.partition
    end = _sum([one.ends.get(number) for _, one in changelogs])
    start = _sum([one.starts.get(number) for _, one in changelogs])
    size = _sum([one.sizes.get(number) for _, one in changelogs])
    places = tuple(TopicPartition(name, number) for name, _ in changelogs)
    records = None if end is None or start is None else end - start
    return StateOfTask(task, places, end, records, size)


def _sum(values: Iterable[int | None]) -> int | None:
    """Return the sum, None where any is not known."""
    rows = list(values)
    known = [one for one in rows if one is not None]
    return sum(known) if len(known) == len(rows) else None
