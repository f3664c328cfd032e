"""The three questions of KIP-67 (all metadata, for a store, for a key), answered by what runs.

Beside the truth stands what the application's own processes answer, and why where that is another one. The
partition of a key is taken modulo the true number of partitions, and a process without
`application.server` is named by the address from which it is connected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from jobs.cluster.descriptions import TopicPartition
from jobs.streams.application import (
    Application,
    Confidence,
    Placement,
    Process,
    Protocol,
    Role,
    Store,
    TaskId,
)
from jobs.streams.endpoints import endpoint_cautions
from jobs.streams.metadata_state import (
    UNAVAILABLE,
    KeyMetadata,
    MetadataState,
    NotKnowable,
    metadata_state,
)
from jobs.wire.batches.murmur2 import partition_for_key

# Beyond this many pairs of remainders a share is taken of the first ones.
_MOST_REMAINDERS = 1_000_000

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


@dataclass(frozen=True, slots=True)
class JvmAnswer:
    """What the application answers, and whether that is right; `misrouted` is the share of all keys.

    `answer` is None where it is not knowable, for which `reason` is the sentence.
    """

    answer: KeyMetadata | None
    is_right: bool | None
    reason: str
    misrouted: float | None = None


@dataclass(frozen=True, slots=True)
class KeyAnswer:
    """Where a key is; `placements` are the holders of its task, the active one first.

    `partition` and `task` are None where the store's subtopology is not settled and several differ.
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
    find_store(application, store)
    return tuple(
        one for one in all_metadata(application) if store in one.stores | one.standby_stores
    )


def metadata_for_key(application: Application, store: str, key: bytes) -> KeyAnswer:
    """Return where a key of a store is; raises `NoSuchStore`.

    Windowed and session stores are asked with the inner key: windows lie where their key does.
    """
    found = find_store(application, store)
    if found.is_global:
        return _global_answer(application, found, key)
    counts = {application.subtopologies[one].partitions for one in _known(application, found)}
    fed_by = [application.topic_partitions.get(topic, 0) for topic in found.source_topics]
    partitions = counts.pop() if len(counts) == 1 else None
    if found.subtopology is not None and fed_by:
        partitions = max(fed_by) or partitions
    if not partitions:
        return _unsettled(application, found, key)
    partition = partition_for_key(key, partitions)
    task = None if found.subtopology is None else TaskId(found.subtopology, partition)
    placements = () if task is None else application.holders_of(task)
    evidence = [
        f"murmur2 of {len(key)} bytes, modulo the {partitions} partitions of "
        f"{_feeding(application, found)}: partition {partition}.",
        f"{found.name}: {found.confidence}. {found.reason}",
    ]
    return KeyAnswer(
        found,
        key,
        partition,
        partitions,
        task,
        placements,
        tuple(evidence),
        tuple(_cautions(application, found, task, placements)),
        jvm_answer(application, found, key, partition, placements),
    )


def find_store(application: Application, name: str) -> Store:
    """Return a store by its name; raises `NoSuchStore` with those that there are."""
    found = application.stores.get(name)
    if found is None:
        known = ", ".join(application.stores) or "none"
        raise NoSuchStore(
            f"{application.application_id} has no store {name} that is seen from outside (seen: {known})."
        )
    return found


def jvm_answer(
    application: Application,
    store: Store,
    key: bytes,
    partition: int,
    placements: tuple[Placement, ...],
) -> JvmAnswer:
    """Return what the application answers for a key, beside the truth."""
    state = metadata_state(application)
    if isinstance(state, NotKnowable):
        return JvmAnswer(None, None, state.reason)
    answer = state.for_key(store.name, key)
    if answer is None:
        return JvmAnswer(None, None, "Which topics feed the store is not known.")
    truth = next((one.process for one in placements if one.role is Role.ACTIVE), None)
    if truth is None:
        return JvmAnswer(answer, None, "Nobody runs the task now: no answer is right.")
    is_right = answer.active == truth.endpoint and answer.partition == partition
    misrouted = misrouted_share(application, store, state)
    reason = "" if is_right else _why(application, store, state, answer, partition, truth)
    return JvmAnswer(answer, is_right, reason, misrouted)


def misrouted_share(application: Application, store: Store, state: MetadataState) -> float | None:
    """Return the share of keys for which the application names another process or partition.

    Over all remainders of a hash: exact where keys are spread evenly.
    """
    if store.subtopology is None:
        return None
    true = max((application.topic_partitions.get(one, 0) for one in store.source_topics), default=0)
    seen = max((state.counts.get(one, 0) for one in store.source_topics), default=0)
    if not true or not seen:
        return None
    holders = state.holders_of(store.source_topics)
    named = [holders.get(number, UNAVAILABLE) for number in range(seen)]
    running = {
        task.partition: process.endpoint
        for process in application.processes
        for task in process.tasks(Role.ACTIVE)
        if task.subtopology == store.subtopology
    }
    serving = [running.get(number) for number in range(true)]
    every = min(math.lcm(true, seen), _MOST_REMAINDERS)
    wrong = sum(
        one % seen != one % true or named[one % seen] != serving[one % true] for one in range(every)
    )
    return wrong / every


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


def _known(application: Application, store: Store) -> list[str]:
    return [one for one in store.candidates if one in application.subtopologies]


def _feeding(application: Application, store: Store) -> str:
    """Name the topic with most partitions of those that feed a store."""
    counts = {topic: application.topic_partitions.get(topic, 0) for topic in store.source_topics}
    return max(sorted(counts), key=lambda topic: counts[topic]) if counts else "its topic"


def _cautions(
    application: Application, store: Store, task: TaskId | None, placements: tuple[Placement, ...]
) -> list[str]:
    found = []
    if task is None:
        names = " or ".join(store.candidates)
        found.append(f"The store is in subtopology {names}: who serves the key is not settled.")
    elif application.left_out and not any(one.role is Role.ACTIVE for one in placements):
        found.append(f"Who runs task {task} may be left out. {' '.join(application.left_out)}")
    elif not any(one.role is Role.ACTIVE for one in placements):
        found.append(f"No thread runs task {task} now.")
    found += endpoint_cautions(application, [one.process for one in placements])
    counts = {application.topic_partitions.get(topic) for topic in store.source_topics}
    if len(counts) > 1 and store.confidence is not Confidence.GIVEN:
        found.append(
            "The topics of its subtopology have different partition counts: the key may lie elsewhere if "
            "the store is fed by one of the smaller topics."
        )
    found.append(PARTITIONER)
    return found


def _why(
    application: Application,
    store: Store,
    state: MetadataState,
    answer: KeyMetadata,
    partition: int,
    truth: Process,
) -> str:
    """Return the reason of a wrong answer, the most likely one first."""
    if answer.partition != partition:
        true = max(application.topic_partitions.get(one, 0) for one in store.source_topics)
        seen = max(state.counts.get(one, 0) for one in store.source_topics)
        return (
            f"The application counts the {seen} partitions that are routed to an endpoint, not all {true}: "
            f"{_hidden(application)} (KAFKA-20886)."
        )
    if truth.endpoint is None:
        return f"The process at {truth.place} has no application.server, so nobody can name it."
    sharing = [one for one in application.processes if one.endpoint == truth.endpoint]
    if len(sharing) > 1:
        return f"{len(sharing)} processes have the endpoint {truth.endpoint}: only one of them is routed to."
    if answer.active == UNAVAILABLE:
        return "The partition is routed to no endpoint."
    return "The task is routed to where it is to be, and still runs where it was."


def _hidden(application: Application) -> str:
    without = [one.place for one in application.processes if one.endpoint is None]
    if without:
        return f"{', '.join(without)} has no application.server"
    if application.protocol is Protocol.STREAMS:
        return "members have not taken over their tasks yet"
    return "two processes share an endpoint, or a rebalance is not finished"


def _global_answer(application: Application, store: Store, key: bytes) -> KeyAnswer:
    everywhere = "Every process has all of a global store: ask any of them."
    return KeyAnswer(
        store,
        key,
        None,
        None,
        None,
        (),
        (everywhere,),
        (),
        JvmAnswer(None, is_right=True, reason=everywhere, misrouted=0.0),
    )


def _unsettled(application: Application, store: Store, key: bytes) -> KeyAnswer:
    names = " or ".join(store.candidates) or "none that is known"
    caution = (
        f"The store is in subtopology {names}; how many partitions feed it is not known. Paste "
        "Topology#describe() to settle it."
    )
    jvm = JvmAnswer(None, None, "Not said while the store's subtopology is not settled.")
    return KeyAnswer(store, key, None, None, None, (), (store.reason,), (caution,), jvm)
