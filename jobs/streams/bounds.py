"""The bounds of one application: what its members write beyond them is left out, and said. Pure.

Who may join a group writes what every round decodes and stores, and what every reader gets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from jobs import limits
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.group_members import ClassicGroup, StreamsGroup
from jobs.limits import beyond, may_exist, short
from jobs.streams.application import Application, Route, TaskId, TasksByRole, Thread

_Group = TypeVar("_Group", ClassicGroup, StreamsGroup)


def first_members(group: _Group) -> _Group:
    """Return a group with its first members, by their ids."""
    if len(group.members) <= limits.MEMBERS:
        return group
    kept = sorted(group.members, key=lambda one: one.member_id)[: limits.MEMBERS]
    return replace(group, members=tuple(kept))


def bounded(application: Application, member_count: int) -> Application:
    """Return an application within its bounds; `member_count` is that of its whole group."""
    tasks = _first_tasks(application.tasks)
    budget = _Budget()
    threads = tuple(_thread(one, tasks, budget) for one in application.threads)
    routes = application.routes
    if routes is not None:
        routes = tuple(_routes(routes, application.topic_partitions, budget))
    left_out = (
        beyond(member_count, limits.MEMBERS, "members"),
        beyond(len(application.tasks), len(tasks), "tasks, or with too many partitions"),
        beyond(budget.mentioned, limits.TASK_MENTIONS, "tasks named by threads"),
        beyond(len(application.routes or ()), limits.MEMBERS, "endpoints in the routing"),
        beyond(budget.routed, limits.PLACES, "partitions in the routing"),
    )
    return replace(
        application,
        threads=threads,
        tasks=tasks,
        routes=routes,
        subtopologies={
            name: replace(one, source_topics=one.source_topics[: limits.TOPICS])
            for name, one in application.subtopologies.items()
        },
        cautions=(*application.cautions, *budget.cautions()),
        left_out=tuple(filter(None, left_out)),
    )


def _first_tasks(
    tasks: Mapping[TaskId, tuple[TopicPartition, ...]],
) -> dict[TaskId, tuple[TopicPartition, ...]]:
    found: dict[TaskId, tuple[TopicPartition, ...]] = {}
    left = limits.PLACES
    for task, places in sorted(tasks.items()):
        left -= len(places)
        if len(found) == limits.TASKS or left < 0:
            break
        found[task] = places
    return found


class _Budget:
    """How many tasks and partitions were named so far, and how many texts were cut."""

    def __init__(self) -> None:
        self.mentioned = self.routed = self.summed = self.cut = self.tags = 0

    def text(self, text: str) -> str:
        kept = short(text)
        self.cut += kept != text
        return kept

    def optional(self, text: str | None) -> str | None:
        return None if text is None else self.text(text)

    def tasks(self, named: Iterable[TaskId], known: Collection[TaskId]) -> tuple[TaskId, ...]:
        found = [task for task in named if task in known]
        left = max(0, limits.TASK_MENTIONS - self.mentioned)
        self.mentioned += len(found)
        return tuple(found[:left])

    def places(self, named: Collection[TopicPartition]) -> frozenset[TopicPartition]:
        left = max(0, limits.PLACES - self.routed)
        self.routed += len(named)
        return frozenset(sorted(named)[:left] if len(named) > left else named)

    def cautions(self) -> Iterable[str]:
        if self.cut:
            yield f"{self.cut:,} texts of members are longer than {limits.TEXT} characters, or hold NUL: cut."
        if self.tags:
            yield f"{self.tags:,} members have more than {limits.TAGS} tags: the first are kept."
        if self.summed > limits.TASK_MENTIONS:
            yield f"Members tell {self.summed:,} positions of tasks: only some are kept."


def _thread(one: Thread, tasks: Collection[TaskId], budget: _Budget) -> Thread:
    sums = {task: total for task, total in one.offset_sums.items() if task in tasks}
    budget.summed += len(sums)
    budget.tags += len(one.tags) > limits.TAGS
    return replace(
        one,
        member_id=budget.text(one.member_id),
        client_id=budget.text(one.client_id),
        client_host=budget.text(one.client_host),
        process_id=budget.optional(one.process_id),
        instance_id=budget.optional(one.instance_id),
        endpoint=budget.optional(one.endpoint),
        rack=budget.optional(one.rack),
        problem=budget.optional(one.problem),
        tags={budget.text(k): budget.text(v) for k, v in sorted(one.tags.items())[: limits.TAGS]},
        now=TasksByRole(*(budget.tasks(own, tasks) for own in one.now)),
        target=None
        if one.target is None
        else TasksByRole(*(tuple(t for t in own if t in tasks) for own in one.target)),
        offset_sums=sums if budget.summed <= limits.TASK_MENTIONS else {},
    )


def _routes(routes: Iterable[Route], counts: Mapping[str, int], budget: _Budget) -> Iterable[Route]:
    for one, _ in zip(routes, range(limits.MEMBERS), strict=False):
        active, standby = (
            budget.places([place for place in own if may_exist(*place, counts)])
            for own in (one.active, one.standby)
        )
        yield Route(budget.text(one.endpoint), active, standby)
