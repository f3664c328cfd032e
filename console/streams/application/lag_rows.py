"""Input lag of an application for a table: only the rows that are shown are reckoned in full."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from console.streams.snapshots import Picture
from jobs.cluster.descriptions import TopicPartition
from jobs.streams.application import Role, TaskId
from jobs.streams.lag import InputLag, input_lags
from jobs.streams.observation import Facts

Source = tuple[TaskId, TopicPartition]
# Timestamps are chosen by producers: those beyond the year 9999 are no time for people.
_END_OF_TIME_MS = 253_402_300_800_000
BY_LAG, BY_TASK = "lag", "task"


@dataclass(frozen=True, slots=True)
class LagRow:
    """A source partition of a task; `place` is where the task is active, empty for nowhere."""

    task: TaskId
    lag: InputLag
    place: str

    @property
    def windows(self) -> list[tuple[str, datetime]]:
        """Up to when windows were emitted, by store."""
        return [
            (store, datetime.fromtimestamp(at_ms / 1000, UTC))
            for store, at_ms in self.lag.window_close_ms.items()
            if 0 <= at_ms < _END_OF_TIME_MS
        ]


def sources_of(picture: Picture, order: str) -> list[Source]:
    """Return the source partitions, the largest lag first or by task."""
    found = [
        (task, place)
        for task, places in sorted(picture.application.tasks.items())
        for place in places
    ]
    if order == BY_TASK:
        return found
    return sorted(found, key=lambda one: -_records(one[1], picture.facts))


def lag_rows(picture: Picture, sources: Sequence[Source]) -> list[LagRow]:
    """Return the rows of some source partitions in their order."""
    asked: dict[TaskId, list[TopicPartition]] = defaultdict(list)
    for task, place in sources:
        asked[task].append(place)
    application = picture.application
    part = replace(application, tasks={task: tuple(own) for task, own in asked.items()})
    lags = {
        (task, one.place): one
        for task, own in input_lags(part, picture.facts).items()
        for one in own
    }
    return [LagRow(task, lags[task, place], _active(picture, task)) for task, place in sources]


def _records(place: TopicPartition, facts: Facts) -> int:
    """Return the lag to sort by; what is not known comes last."""
    topic, one = facts.topics.get(place.topic), facts.committed.get(place)
    if topic is None or place.partition not in topic.ends:
        return -1
    read_to = topic.starts.get(place.partition) if one is None else one.offset
    return -1 if read_to is None else max(0, topic.ends[place.partition] - read_to)


def _active(picture: Picture, task: TaskId) -> str:
    placements = picture.application.placements.get(task, ())
    return next((one.process.place for one in placements if one.role is Role.ACTIVE), "")
