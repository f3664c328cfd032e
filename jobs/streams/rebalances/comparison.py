"""Compare two moments of an application: who joined and left, which tasks moved, why. Pure.

Source: StreamsPartitionAssignor and KIP-441. A subscription counts the joins of its thread modulo 256
(`uniqueField`), DescribeGroups tells no generation of a classic group, and a process keeps its process id
over a restart while its state directory stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import zip_longest

from jobs.streams.application import Application, Process, Protocol, Role, TaskId, Thread
from jobs.streams.rebalances.changes import (
    MOST_INSTANCES,
    MOST_MOVES,
    MOST_THREADS,
    Change,
    Instance,
    Move,
    Place,
    Reason,
    ThreadJoins,
    pack_moves,
)

_VERSION_PROBING, _SHUTDOWN = 2, 4
_JOINS = 256
# The processes of each task by role.
_Holders = dict[Role, dict[TaskId, set[str]]]


def first_seen(application: Application) -> Change:
    """Return the change of an application that was not seen before."""
    return Change(
        application.observed_at_ms,
        (Reason.FIRST_SEEN,),
        application.generation,
        _instances(application),
        next_rebalance_ms=application.next_rebalance_ms,
        is_partial=bool(application.left_out),
        move_count=None,
    )


def change_between(before: Application, after: Application) -> Change:
    """Return what differs; `after` is of a later moment."""
    base = first_seen(after)
    generations, joins = _joins(before, after)
    base = replace(base, generations=generations, joins=joins)
    if before.left_out or after.left_out:
        return replace(
            base,
            reasons=tuple(_told_reasons(before, after)) or (Reason.UNKNOWN,),
            is_partial=True,
            move_count=None,
            stopped_tasks=None,
        )
    old, new = _by_id(before), _by_id(after)
    # Of many those are kept that tell which tasks wait for a thread.
    held = _holders(before)
    found = _moves(before, after, held, _holders(after))
    moves = sorted(found, key=lambda one: (one.role is not Role.ACTIVE, all(one[2:])))
    joined, left = _places(new, old.keys()), _places(old, new.keys())
    restarted = [one for one in new if one in old and _is_restarted(old[one], new[one])]
    return replace(
        base,
        reasons=tuple(_reasons(before, after, restarted, moves, held)) or (Reason.UNKNOWN,),
        joined=joined,
        left=left,
        restarted=tuple(Place(one, new[one].place) for one in restarted),
        packed=pack_moves(moves[:MOST_MOVES]),
        move_count=len(moves),
        stopped_tasks=_stopped(before, after),
    )


def _places(processes: Mapping[str, Process], without: Collection[str]) -> tuple[Place, ...]:
    return tuple(Place(n, one.place) for n, one in processes.items() if n not in without)


def after_another(change: Change, replaced: Change) -> Change:
    """Return a change since the same moment as one that it replaces, with what only that one saw."""
    both = dict.fromkeys((*replaced.reasons, *change.reasons))
    both.pop(Reason.UNKNOWN, None)
    counts = (replaced.stopped_tasks, change.stopped_tasks)
    return replace(
        change,
        reasons=tuple(both) or (Reason.UNKNOWN,),
        stopped_tasks=None if None in counts else max(one or 0 for one in counts),
    )


def as_watched(
    change: Change, since_ms: int, earlier: Change | None, *, is_gap: bool, was_empty: bool
) -> Change:
    """Return a change with how long its tasks had no active thread at most.

    Up to `since_ms` the application was seen whole as it was before; `earlier` is the change of that row.
    `was_empty`: the group was seen without members between the two moments.
    """
    waiting = earlier.waiting_since_ms if earlier is not None else None
    active = [one for one in change.moves if one.role is Role.ACTIVE]
    is_resumed = any(one.source is None for one in active)
    if waiting is not None and is_resumed:
        since_ms, waiting = min(waiting, since_ms), None
    is_lost = any(one.target is None for one in active) and Reason.TOPOLOGY not in change.reasons
    if is_lost and waiting is None:
        waiting = since_ms
    return replace(
        change,
        reasons=(Reason.FIRST_MEMBERS,) if was_empty else change.reasons,
        is_gap=is_gap,
        since_ms=since_ms,
        unavailable_ms=change.at_ms - since_ms
        if change.stopped_tasks and change.at_ms >= since_ms
        else None,
        waiting_since_ms=waiting,
    )


def _instances(application: Application) -> tuple[Instance, ...]:
    return tuple(
        Instance(
            one.process_id,
            one.place,
            len(one.threads),
            *(sum(map(len, own)) for own in zip(*(t.now for t in one.threads), strict=True)),
        )
        for one in application.processes[:MOST_INSTANCES]
    )


def _by_id(application: Application) -> dict[str, Process]:
    return {one.process_id: one for one in application.processes}


def _holders(application: Application) -> _Holders:
    found: _Holders = {role: {} for role in Role}
    for process in application.processes:
        for thread in process.threads:
            for role, tasks in zip(Role, thread.now, strict=True):
                for task in tasks:
                    found[role].setdefault(task, set()).add(process.process_id)
    return found


def _moves(before: Application, after: Application, old: _Holders, new: _Holders) -> Iterator[Move]:
    """Yield moves, those of active tasks first; a standby that becomes a warm-up does not move."""
    none: set[str] = set()
    sources, targets = (
        {one.process_id: Place(one.process_id, one.place) for one in each.processes}
        for each in (before, after)
    )
    for role in Role:
        alike = (Role.ACTIVE,) if role is Role.ACTIVE else (Role.STANDBY, Role.WARM_UP)
        held, holds = old[role], new[role]
        for task in sorted(one for one in held.keys() | holds if held.get(one) != holds.get(one)):
            gone = held.get(task, none).difference(*(new[one].get(task, none) for one in alike))
            added = holds.get(task, none).difference(*(old[one].get(task, none) for one in alike))
            for source, target in zip_longest(sorted(gone), sorted(added)):
                ends = sources.get(source or ""), targets.get(target or "")
                yield Move(str(task), role, *ends)


def _stopped(before: Application, after: Application) -> int:
    """Count the active tasks that another member runs now, or none."""
    old, new = _members(before), _members(after)
    resumed = sum(task in before.tasks and task not in old for task in new)
    return resumed + sum(new.get(task) != member for task, member in old.items())


def _members(application: Application) -> dict[TaskId, str]:
    return {task: one.member_id for one in application.threads for task in one.now.active}


def _reasons(
    before: Application,
    after: Application,
    restarted: Collection[str],
    moves: Iterable[Move],
    held: _Holders,
) -> Iterator[Reason]:
    """Yield each reason that shows, what is most certain first; `held` are the processes before."""
    if not before.threads:
        yield Reason.FIRST_MEMBERS
        return
    old, new = _by_id(before), _by_id(after)
    shown = {
        Reason.LEFT: old.keys() - new.keys(),
        Reason.JOINED: new.keys() - old.keys(),
        Reason.RESTARTED: restarted,
    }
    yield from (reason for reason, is_shown in shown.items() if is_shown)
    yield from _told_reasons(before, after)
    yield from _topology_reasons(before, after)
    taken = {
        one.task: one.target.process_id
        for one in moves
        if one.role is Role.ACTIVE and one.target and one.source and one.source.process_id in new
    }
    copies = (held[role].items() for role in (Role.STANDBY, Role.WARM_UP) if taken)
    if any(taken.get(str(task)) in own for each in copies for task, own in each):
        yield Reason.TOOK_OVER


def _told_reasons(before: Application, after: Application) -> Iterator[Reason]:
    """Yield what members and their assignor told themselves."""
    codes = {one.error_code for one in after.threads}
    if _SHUTDOWN in codes:
        yield Reason.SHUTDOWN
    old, new = (
        {one.common_version for one in each.threads if one.common_version is not None}
        for each in (before, after)
    )
    if _VERSION_PROBING in codes or (old and new and old != new):
        yield Reason.VERSION
    planned_ms = before.next_rebalance_ms
    if planned_ms == 0:
        yield Reason.FOLLOW_UP
    elif planned_ms is not None and planned_ms <= after.observed_at_ms:
        yield Reason.PROBING


def _topology_reasons(before: Application, after: Application) -> Iterator[Reason]:
    fed = {topic for one in after.subtopologies.values() for topic in one.source_topics}
    old, new = before.topic_partitions, after.topic_partitions
    if any(old[topic] < new.get(topic, 0) for topic in fed & old.keys()):
        yield Reason.PARTITIONS
        is_changed = before.subtopologies.keys() != after.subtopologies.keys()
    else:
        is_changed = before.tasks.keys() != after.tasks.keys() or any(
            one.source_topics != after.subtopologies[name].source_topics
            for name, one in before.subtopologies.items()
            if name in after.subtopologies
        )
    # Tasks that wait for the follow-up rebalance are in no assignment of the classic protocol.
    waits = 0 in (before.next_rebalance_ms, after.next_rebalance_ms)
    if is_changed and not (waits and after.protocol is Protocol.CLASSIC):
        yield Reason.TOPOLOGY


def _has_grown(was: Thread, now: Thread) -> bool:
    return was.joins is not None and now.joins is not None and now.joins > was.joins


def _paired(old: Iterable[Thread], new: Iterable[Thread]) -> Iterator[tuple[Thread, Thread]]:
    """Yield threads of both moments; the member id of one that left and joined again differs."""
    known = {(one.client_id, one.process_id): one for one in old}
    for one in new:
        was = known.get((one.client_id, one.process_id))
        if was is not None:
            yield was, one


def _is_restarted(old: Process, new: Process) -> bool:
    """Whether the threads of one name are other members, and none has counted further joins."""
    known = {one.member_id for one in old.threads}
    pairs = list(_paired(old.threads, new.threads))
    is_same = any(one.member_id in known for one in new.threads)
    return bool(pairs) and not is_same and not any(_has_grown(*each) for each in pairs)


def _joins(before: Application, after: Application) -> tuple[int | None, tuple[ThreadJoins, ...]]:
    """Return how many generations there were at most, and the threads that joined more often.

    Each member of a classic group joins at least once for each generation.
    """
    grown: list[ThreadJoins] = []
    steady: list[int] = []
    for was, now in _paired(before.threads, after.threads):
        if was.joins is None or now.joins is None:
            continue
        is_same = was.member_id == now.member_id
        if is_same or now.joins > was.joins:
            count = (now.joins - was.joins) % _JOINS
            grown.append(ThreadJoins(now.client_id, now.process_id or now.member_id, count))
            steady += [count] if is_same else []
    if before.generation is not None and after.generation is not None:
        generations: int | None = max(0, after.generation - before.generation)
    else:
        generations = min(steady, default=None)
    if generations is None:
        return None, ()
    more = sorted((one for one in grown if one.joins > generations), key=lambda one: -one.joins)
    return generations, tuple(more[:MOST_THREADS])
