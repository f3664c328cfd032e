"""The three questions of KIP-67 (all metadata, for a store, for a key), answered by what runs.

The answers of the application's own processes are beside the truth, with the reason of each difference. The
partition of a key is taken modulo the true number of partitions, and a process without
`application.server` is named by the address from which it is connected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from jobs.cluster.descriptions import TopicPartition
from jobs.streams.application import (
    Application,
    Placement,
    Process,
    Role,
    Store,
    TaskId,
)
from jobs.streams.endpoints import endpoint_cautions
from jobs.streams.lookup.candidates import (
    NOT_SEEN,
    Candidate,
    SeenPlaces,
    candidates_of,
    either,
    names_of,
    places_of,
)
from jobs.streams.lookup.own_answer import SETTLE, JvmAnswer, global_answer, jvm_answer, running
from jobs.wire.batches.hashes import Partitioner

_HASHES = {
    Partitioner.MURMUR2: "murmur2",
    Partitioner.CRC32: "CRC-32",
    Partitioner.FNV1A: "FNV-1a",
}
# Of librdkafka, `consistent_random` places keys without bytes as it likes.
_EMPTY = "librdkafka's default partitioner puts an empty key into a random partition."
# Said until the changelog was looked at and agrees.
PARTITIONER = (
    "A custom partitioner would put the key elsewhere: look it up in the changelog to be sure."
)


@dataclass(frozen=True, slots=True)
class ProcessAnswer:
    """What one process has: source partitions and stores, as active and as standby (warm-ups included)."""

    process: Process
    partitions: frozenset[TopicPartition]
    stores: frozenset[str]
    standby_partitions: frozenset[TopicPartition]
    standby_stores: frozenset[str]


class PossiblePlace(NamedTuple):
    """A partition that a key may be in, by which topics, and who has it as active."""

    partition: int
    task: TaskId | None
    topics: tuple[str, ...]
    holder: Process | None


@dataclass(frozen=True, slots=True)
class KeyAnswer:
    """Where a key is; `placements` are the holders of its task, the active one first.

    `possible` are all partitions that it may be in; `partition` and `task` are None where there are several.
    `partitions` is how many the largest topic has that feeds the store.
    """

    store: Store
    key: bytes
    partition: int | None
    partitions: int | None
    task: TaskId | None
    placements: tuple[Placement, ...]
    evidence: tuple[str, ...]
    cautions: tuple[str, ...]
    jvm: JvmAnswer
    possible: tuple[PossiblePlace, ...] = ()

    @property
    def active(self) -> Placement | None:
        """Who serves the key."""
        return next((one for one in self.placements if one.role is Role.ACTIVE), None)


class NoSuchStore(ValueError):
    """A store that the application does not have, as far as can be seen."""


def all_metadata(application: Application) -> tuple[ProcessAnswer, ...]:
    """Return what each process has; global stores are on every one."""
    return tuple(_process_answer(application, one) for one in application.processes)


def metadata_for_store(application: Application, store: str) -> tuple[ProcessAnswer, ...]:
    """Return the processes that have a store, as active or standby; raises `NoSuchStore`."""
    name = find_store(application, store).name
    return tuple(
        one for one in all_metadata(application) if name in one.stores | one.standby_stores
    )


def metadata_for_key(
    application: Application,
    store: str,
    key: bytes,
    seen: SeenPlaces = NOT_SEEN,
    partitioner: Partitioner = Partitioner.MURMUR2,
) -> KeyAnswer:
    """Return where a key of a store is; raises `NoSuchStore`.

    `partitioner` is that of the producers; the application's own answer is by murmur2. `seen` is what its
    changelog says: where that has the key, the key is, wherever the hash puts it. Windowed and session stores
    take the inner key: windows are where their key is.
    """
    found = find_store(application, store)
    if found.is_global:
        return _global_answer(application, found, key)
    candidates = candidates_of(application, found, key, partitioner)
    places = seen.possible(candidates)
    if not places:
        return _unsettled(application, found, key)
    partition = places[0] if len(places) == 1 else None
    possible = tuple(_possible(application, found, candidates, places))
    task = possible[0].task if len(possible) == 1 else None
    placements = () if task is None else application.holders_of(task)
    evidence = [
        f"{_HASHES[partitioner]} of {len(key)} bytes, modulo the {one.partitions} partitions of "
        f"{names_of(one.topics)}: partition {one.partition}."
        for one in candidates
    ]
    if seen.partitions:
        evidence.append(
            f"{found.changelog} has the key in partition {either(seen.partitions, 'and')}."
        )
    evidence.append(f"{found.name}: {found.confidence}. {found.reason}")
    return KeyAnswer(
        found,
        key,
        partition,
        candidates[0].partitions if candidates else None,
        task,
        placements,
        tuple(evidence),
        (
            *_cautions(application, found, task, placements),
            *_doubts(found, candidates, seen),
            *([_EMPTY] if not key and partitioner is Partitioner.CRC32 else []),
        ),
        jvm_answer(application, found, key, candidates, seen),
        possible,
    )


def find_store(application: Application, name: str) -> Store:
    """Return a store by its name; raises `NoSuchStore` with those that there are.

    One of a named topology is found without the topology's name, too, where no other has that name.
    """
    found = application.stores.get(name)
    own = [
        one
        for one in application.stores.values()
        if "__" in (one.subtopology or "")
        and one.name == f"{(one.subtopology or '').partition('__')[0]}-{name}"
    ]
    if found is not None or len(own) == 1:
        return found or own[0]
    known = ", ".join(application.stores) or "none"
    raise NoSuchStore(
        f"{application.application_id} has no store {name} that is seen from outside (seen: {known})."
    )


def _process_answer(application: Application, process: Process) -> ProcessAnswer:
    active = process.tasks(Role.ACTIVE)
    waiting = process.tasks(Role.STANDBY, Role.WARM_UP)
    everywhere = {one.name for one in application.stores.values() if one.is_global}
    return ProcessAnswer(
        process,
        frozenset(place for task in active for place in application.tasks.get(task, ())),
        frozenset(_stores_on(application, active) | everywhere),
        frozenset(place for task in waiting for place in application.tasks.get(task, ())),
        frozenset(_stores_on(application, waiting)),
    )


def _stores_on(application: Application, tasks: tuple[TaskId, ...]) -> set[str]:
    """Return the stores that are known to be in the subtopologies of these tasks."""
    return {
        one.name
        for subtopology in {task.subtopology for task in tasks}
        for one in application.stores_of(subtopology)
    }


def _cautions(
    application: Application, store: Store, task: TaskId | None, placements: tuple[Placement, ...]
) -> Iterator[str]:
    if store.subtopology is None:
        yield f"The store is in subtopology {_names(store)}: who serves the key is not settled."
    elif task is not None and not any(one.role is Role.ACTIVE for one in placements):
        yield (
            f"Who runs task {task} may be left out. {' '.join(application.left_out)}"
            if application.left_out
            else f"No thread runs task {task} now."
        )
    yield from endpoint_cautions(application, [one.process for one in placements])


def _doubts(store: Store, candidates: tuple[Candidate, ...], seen: SeenPlaces) -> Iterator[str]:
    """What may put the key elsewhere."""
    if len(candidates) > 1:
        what = "that feed the store" if store.is_fed_by_all else "of its subtopology"
        yield (
            f"The topics {what} have different partition counts: the key may lie elsewhere, by the topic "
            f"through which it came. By the hash it is in partition {either(candidates)}."
        )
    if not seen.partitions or not {*seen.partitions} <= {*places_of(candidates)}:
        yield PARTITIONER


def _possible(
    application: Application,
    store: Store,
    candidates: tuple[Candidate, ...],
    places: tuple[int, ...],
) -> Iterator[PossiblePlace]:
    for number in places:
        task = None if store.subtopology is None else TaskId(store.subtopology, number)
        topics = [topic for one in candidates if one.partition == number for topic in one.topics]
        yield PossiblePlace(number, task, tuple(topics), running(application, store, number))


def _names(store: Store) -> str:
    return either(store.candidates) or "none that is known"


def _global_answer(application: Application, store: Store, key: bytes) -> KeyAnswer:
    everywhere = "Every process has all of a global store: ask any of them."
    return KeyAnswer(
        store, key, None, None, None, (), (everywhere,), (), global_answer(application)
    )


def _unsettled(application: Application, store: Store, key: bytes) -> KeyAnswer:
    unknown = [one for one in store.source_topics if not application.topic_partitions.get(one)]
    if store.subtopology is None:
        what = f"The store is in subtopology {_names(store)}; how many partitions feed it is not known."
        caution = f"{what} {SETTLE}"
    else:
        names = names_of(unknown) or "a topic that feeds the store"
        caution = f"How many partitions {names} has is not known, so neither is the key's."
    jvm = JvmAnswer(None, None, "Not said while it is not known which partitions feed the store.")
    return KeyAnswer(store, key, None, None, None, (), (store.reason,), (caution,), jvm)
