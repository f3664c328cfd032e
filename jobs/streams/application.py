"""A Kafka Streams application as its group shows it: who runs which task, stores, routing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from jobs.cluster.descriptions import TopicPartition

_UUID_PARTS = [8, 4, 4, 4, 12]


class TaskId(NamedTuple):
    """A task; the name of a named topology is part of the subtopology ("bill__0")."""

    subtopology: str
    partition: int

    def __str__(self) -> str:
        return f"{self.subtopology}_{self.partition}"


class Role(StrEnum):
    """What a thread does with a task."""

    ACTIVE = "active"
    STANDBY = "standby"
    WARM_UP = "warm-up"


class Protocol(StrEnum):
    """Who assigns the tasks: the members among themselves, or the broker (KIP-1071)."""

    CLASSIC = "classic"
    STREAMS = "streams"


class Confidence(StrEnum):
    """How a store's subtopology is known."""

    EXACT = "exact"
    GIVEN = "given"
    INFERRED = "inferred"
    OPEN = "one of several"


class TasksByRole(NamedTuple):
    """The tasks of one thread."""

    active: tuple[TaskId, ...] = ()
    standby: tuple[TaskId, ...] = ()
    warm_up: tuple[TaskId, ...] = ()

    def with_roles(self) -> Iterator[tuple[Role, TaskId]]:
        for role, tasks in zip(Role, self, strict=True):
            yield from ((role, task) for task in tasks)


_NONE = TasksByRole()


@dataclass(frozen=True, slots=True)
class Thread:
    """One stream thread, which is one member of the group.

    `process_id` is None where neither the member nor its client id tells it, `endpoint` without
    `application.server`. `target` is what the broker wants the thread to run, where it differs from `now`.
    `offset_sums` is how far it was with each task when it joined last (-2: running, -3: not known).
    `joins` counts its joins modulo 256. `subscription_error` is the error code that it told itself when it
    joined last. `topology_epoch` is the topology that it registered with the broker. `problem` says what of
    its bytes could not be read.
    """

    member_id: str
    client_id: str
    client_host: str
    process_id: str | None = None
    instance_id: str | None = None
    endpoint: str | None = None
    rack: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    now: TasksByRole = _NONE
    target: TasksByRole | None = None
    offset_sums: Mapping[TaskId, int] = field(default_factory=dict)
    version: int | None = None
    latest_version: int | None = None
    common_version: int | None = None
    joins: int | None = None
    member_epoch: int | None = None
    error_code: int = 0
    problem: str | None = None
    subscription_error: int = 0
    topology_epoch: int | None = None


@dataclass(frozen=True)
class Process:
    """One instance: the threads that share a process id; `process_id` is made up where none is known."""

    process_id: str
    threads: tuple[Thread, ...]

    @cached_property
    def endpoint(self) -> str | None:
        """Its `application.server`."""
        return next((one.endpoint for one in self.threads if one.endpoint), None)

    @property
    def client_host(self) -> str:
        """The address from which it is connected."""
        return self.threads[0].client_host.removeprefix("/")

    @cached_property
    def place(self) -> str:
        """Where it is, for people: its endpoint, or the address from which it is connected."""
        return self.endpoint or self.client_host

    def tasks(self, *roles: Role) -> tuple[TaskId, ...]:
        """Return its tasks in some roles, sorted."""
        return tuple(
            sorted(
                task for one in self.threads for role, task in one.now.with_roles() if role in roles
            )
        )


@dataclass(frozen=True, slots=True)
class Subtopology:
    """A part of the topology whose tasks are alike.

    `partitions` is how many tasks it has, None where a source topic is not known. `is_stateful` is None
    where nothing tells it yet. `sink_topics` are repartition topics; None: not known (classic protocol).
    """

    subtopology: str
    source_topics: tuple[str, ...]
    partitions: int | None
    is_stateful: bool | None = None
    sink_topics: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Store:
    """A state store.

    `candidates` are the subtopologies it may belong to: one, but for `Confidence.OPEN`. `source_topics` feed
    it, as far as known; all of them where `is_fed_by_all`, else it may be only some. `changelog` is None for
    a store without one. `reason` is a sentence.
    """

    name: str
    candidates: tuple[str, ...]
    confidence: Confidence
    reason: str
    source_topics: tuple[str, ...] = ()
    changelog: str | None = None
    kind: str | None = None
    is_global: bool = False
    is_fed_by_all: bool = False

    @property
    def subtopology(self) -> str | None:
        """Its subtopology, None where it is not settled or global."""
        return self.candidates[0] if len(self.candidates) == 1 else None


@dataclass(frozen=True, slots=True)
class Route:
    """What is routed to one endpoint: what the assignment wants, not what runs already."""

    endpoint: str
    active: frozenset[TopicPartition]
    standby: frozenset[TopicPartition]


class Placement(NamedTuple):
    """A thread that has a task."""

    role: Role
    thread: Thread
    process: Process


@dataclass(frozen=True)
class Application:
    """A Kafka Streams application at one moment.

    `tasks` gives the source partitions of each task. `routes` is the routing that its own processes go by;
    None where there is none to be seen. `next_rebalance_ms` is 0 for "at once", None for none planned.
    `cautions` are sentences on what is missing or doubtful. `left_out` are sentences on what is beyond the
    limits of one application (`bounds`): tasks and threads are only some of all while there are any.
    """

    application_id: str
    protocol: Protocol
    state: str
    observed_at_ms: int
    threads: tuple[Thread, ...]
    subtopologies: Mapping[str, Subtopology]
    tasks: Mapping[TaskId, tuple[TopicPartition, ...]]
    stores: Mapping[str, Store]
    routes: tuple[Route, ...] | None
    topic_partitions: Mapping[str, int]
    generation: int | None = None
    next_rebalance_ms: int | None = None
    cautions: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    @cached_property
    def processes(self) -> tuple[Process, ...]:
        """The instances, by place."""
        by_id: dict[str, list[Thread]] = defaultdict(list)
        for one in self.threads:
            by_id[one.process_id or one.member_id].append(one)
        found = [
            Process(name, tuple(sorted(own, key=lambda one: one.client_id)))
            for name, own in by_id.items()
        ]
        return tuple(sorted(found, key=lambda one: (one.place, one.process_id)))

    @cached_property
    def placements(self) -> Mapping[TaskId, tuple[Placement, ...]]:
        """Threads of each task; a task without a thread is there, too."""
        found: dict[TaskId, list[Placement]] = {task: [] for task in self.tasks}
        for process in self.processes:
            for thread in process.threads:
                for role, tasks in zip(Role, thread.now, strict=True):
                    placed = Placement(role, thread, process)
                    for task in tasks:
                        found.setdefault(task, []).append(placed)
        return {task: tuple(sorted(found[task], key=_by_role)) for task in sorted(found)}

    def holders_of(self, task: TaskId) -> tuple[Placement, ...]:
        """Return who has one task, the active one first."""
        found = [
            Placement(role, thread, process)
            for process in self.processes
            for thread in process.threads
            for role, own in zip(Role, thread.now, strict=True)
            if task in own
        ]
        return tuple(sorted(found, key=_by_role))

    def stores_of(self, subtopology: str) -> tuple[Store, ...]:
        """Return the stores that are known to belong to a subtopology."""
        return tuple(one for one in self.stores.values() if one.subtopology == subtopology)


_ORDER = {role: place for place, role in enumerate(Role)}


def _by_role(placement: Placement) -> tuple[int, str]:
    return _ORDER[placement.role], placement.thread.client_id


def process_in(client_id: str) -> str | None:
    """Return the process id in a client id that Streams made (`<prefix>-<uuid>-StreamThread-<n>...`)."""
    head, mark, _ = client_id.rpartition("-StreamThread-")
    candidate = "-".join(head.split("-")[-len(_UUID_PARTS) :])
    is_uuid = [len(part) for part in candidate.split("-")] == _UUID_PARTS
    return candidate if mark and is_uuid else None
