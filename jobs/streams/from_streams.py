"""An application of the streams protocol (KIP-1071), whose broker knows tasks, stores and edges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.group_members import (
    StreamsGroup,
    StreamsMember,
    StreamsSubtopology,
    StreamsTasks,
    Tasks,
)
from jobs.limits import short
from jobs.streams.application import Route, Subtopology, TaskId, TasksByRole, Thread


class StreamsSeen(NamedTuple):
    """What the group tells; `changelogs` are the changelog topics of each subtopology."""

    threads: tuple[Thread, ...]
    subtopologies: Mapping[str, Subtopology]
    tasks: Mapping[TaskId, tuple[TopicPartition, ...]]
    changelogs: Mapping[str, tuple[str, ...]]
    routes: tuple[Route, ...]
    cautions: tuple[str, ...]


def streams_seen(group: StreamsGroup, topic_partitions: Mapping[str, int]) -> StreamsSeen:
    """Read the group; partitions of tasks follow from how many partitions each source topic has."""
    parts = {short(one.subtopology): one for one in group.subtopologies or ()}
    subtopologies = {name: _subtopology(name, one, topic_partitions) for name, one in parts.items()}
    threads = tuple(_thread(one) for one in group.members)
    known = {
        TaskId(name, number)
        for name, one in subtopologies.items()
        for number in range(one.partitions or 0)
    }
    held = {task for one in threads for _, task in one.now.with_roles()}
    tasks = {
        task: _partitions(task, subtopologies, topic_partitions) for task in sorted(known | held)
    }
    return StreamsSeen(
        threads,
        subtopologies,
        tasks,
        {name: one.changelog_topics for name, one in parts.items()},
        _routes(threads, tasks),
        tuple(_cautions(group)),
    )


def _subtopology(
    name: str, one: StreamsSubtopology, topic_partitions: Mapping[str, int]
) -> Subtopology:
    sources = tuple(sorted({*one.source_topics, *one.repartition_source_topics}))
    counts = [topic_partitions[topic] for topic in sources if topic in topic_partitions]
    return Subtopology(
        name,
        sources,
        max(counts) if len(counts) == len(sources) and counts else None,
        is_stateful=bool(one.changelog_topics),
        sink_topics=one.repartition_sink_topics,
    )


def _partitions(
    task: TaskId, subtopologies: Mapping[str, Subtopology], topic_partitions: Mapping[str, int]
) -> tuple[TopicPartition, ...]:
    """Return partition p of each source topic that has one."""
    part = subtopologies.get(task.subtopology)
    return tuple(
        TopicPartition(topic, task.partition)
        for topic in (part.source_topics if part else ())
        if task.partition < topic_partitions.get(topic, 0)
    )


def _thread(one: StreamsMember) -> Thread:
    now, target = _by_role(one.assignment), _by_role(one.target)
    offsets: dict[TaskId, int] = defaultdict(int)
    for (subtopology, partition), offset in one.offsets.items():
        offsets[TaskId(short(subtopology), partition)] += offset
    return Thread(
        one.member_id,
        one.client_id,
        one.client_host,
        process_id=one.process_id or None,
        instance_id=one.instance_id,
        endpoint=one.endpoint,
        rack=one.rack or None,
        tags=one.tags,
        now=now,
        target=None if now == target else target,
        offset_sums=dict(offsets),
        member_epoch=one.member_epoch,
        topology_epoch=one.topology_epoch,
    )


def _by_role(tasks: StreamsTasks) -> TasksByRole:
    return TasksByRole(_ids(tasks.active), _ids(tasks.standby), _ids(tasks.warm_up))


def _ids(tasks: Tasks) -> tuple[TaskId, ...]:
    return tuple(
        sorted(TaskId(short(name), number) for name, own in tasks.items() for number in own)
    )


def _routes(
    threads: Iterable[Thread], tasks: Mapping[TaskId, tuple[TopicPartition, ...]]
) -> tuple[Route, ...]:
    """Return what the broker tells the members of each endpoint, all its members together."""
    active: dict[str, set[TopicPartition]] = defaultdict(set)
    standby: dict[str, set[TopicPartition]] = defaultdict(set)
    for one in threads:
        if one.endpoint is not None:
            active[one.endpoint].update(place for task in one.now.active for place in tasks[task])
            standby[one.endpoint].update(place for task in one.now.standby for place in tasks[task])
    return tuple(
        Route(endpoint, frozenset(active[endpoint]), frozenset(standby[endpoint]))
        for endpoint in sorted(active)
    )


def _cautions(group: StreamsGroup) -> Iterable[str]:
    if group.subtopologies is None:
        yield "The broker has no topology of this group yet."
    behind = [one for one in group.members if one.member_epoch < group.group_epoch]
    if behind:
        yield (
            f"{len(behind)} of {len(group.members)} members have not taken over the assignment of epoch "
            f"{group.group_epoch} yet."
        )
    epochs = {one.topology_epoch for one in group.members}
    if len(epochs) > 1:
        yield f"Members have different topologies: epochs {', '.join(map(str, sorted(epochs)))}."
