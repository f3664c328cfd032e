"""What the application answers for a key, and whether that is where the key is or may be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from jobs.streams.application import Application, Process, Protocol, Role, Store, TaskId
from jobs.streams.endpoints import host_and_port
from jobs.streams.lookup.candidates import Candidate, SeenPlaces, either, names_of, places_of
from jobs.streams.metadata_state import (
    UNAVAILABLE,
    KeyMetadata,
    MetadataState,
    NotKnowable,
    metadata_state,
)
from jobs.wire.batches.hashes import Partitioner

# Beyond this many pairs of remainders a share is taken of the first ones.
_MOST_REMAINDERS = 1_000_000


SETTLE = "Paste Topology#describe() to settle it."
OTHER_HASH = (
    "The application takes murmur2 of the key, not the hash of its producer. It names the right partition "
    "only if the query uses the same partitioner."
)


@dataclass(frozen=True, slots=True)
class JvmAnswer:
    """What the application answers, and whether that is right; `misrouted` is the share of all keys.

    `answer` is None where it is not knowable, for which `reason` is the sentence, and for a global store: any
    host is right.
    """

    answer: KeyMetadata | None
    is_right: bool | None
    reason: str
    misrouted: float | None = None


def jvm_answer(
    application: Application,
    store: Store,
    key: bytes,
    candidates: Sequence[Candidate],
    seen: SeenPlaces,
) -> JvmAnswer:
    """Return what the application answers for a key of a store that is not global."""
    reason, state = _not_known(application, store), metadata_state(application)
    if isinstance(state, NotKnowable):
        return JvmAnswer(None, None, reason or state.reason)
    if reason:
        return JvmAnswer(None, None, reason)
    answers = _answers(state, store, key)
    if len(answers) != 1:
        which = f"Which of {names_of(store.source_topics)} feed the store is not known"
        return JvmAnswer(None, None, f"{which}, and their partition counts differ. {SETTLE}")
    (answer,) = answers
    is_right, reason = _judged(application, store, state, answer, candidates, seen)
    # The share is over one hash: of two it is not known.
    share = misrouted_share(application, store, state) if _is_murmur2(candidates) else None
    return JvmAnswer(answer, is_right, reason, share)


def _not_known(application: Application, store: Store) -> str:
    if store.subtopology is None:
        return f"The store is in subtopology {either(store.candidates) or 'none that is known'}. {SETTLE}"
    sizes, part = application.topic_partitions, application.subtopologies.get(store.subtopology)
    largest = _largest(sizes, part.source_topics if part else ())
    if application.protocol is Protocol.CLASSIC or _largest(sizes, store.source_topics) >= largest:
        return ""
    return (
        "With the streams protocol, brokers without the fix of KAFKA-20885 route partitions of smaller "
        "topics that do not exist: the application goes by a count that is not known."
    )


def global_answer(application: Application) -> JvmAnswer:
    """Return what the application answers for any key of a global store (KIP-535)."""
    if not application.processes:
        return JvmAnswer(None, None, "No process runs now.")
    state = metadata_state(application)
    if not application.routes and isinstance(state, NotKnowable):
        return JvmAnswer(None, None, state.reason)
    reason = "Any process that runs: each has all of a global store (KIP-535)."
    return JvmAnswer(None, is_right=True, reason=reason, misrouted=0.0)


def running(application: Application, store: Store, partition: int) -> Process | None:
    """Return who has a partition of a store as active; None: no process, or its subtopology is not known."""
    if store.subtopology is None:
        return None
    holders = application.holders_of(TaskId(store.subtopology, partition))
    return next((one.process for one in holders if one.role is Role.ACTIVE), None)


def _answers(state: MetadataState, store: Store, key: bytes) -> set[KeyMetadata]:
    """Return all answers that are possible by what is known of the topics that feed a store."""
    counts = {topic: state.counts.get(topic, 0) for topic in store.source_topics}
    every = [store.source_topics]
    if not store.is_fed_by_all:
        every += [tuple(t for t in counts if counts[t] <= most) for most in set(counts.values())]
    found = (replace(state, stores={store.name: own}).for_key(store.name, key) for own in every)
    return {one for one in found if one is not None}


def _judged(
    application: Application,
    store: Store,
    state: MetadataState,
    answer: KeyMetadata,
    candidates: Sequence[Candidate],
    seen: SeenPlaces,
) -> tuple[bool | None, str]:
    """Return whether an answer is right, None: not known; and why."""
    possible = seen.possible(candidates)
    is_possible = answer.partition in possible
    holder = running(application, store, answer.partition if is_possible else possible[0])
    if holder is None and (is_possible or len(possible) == 1):
        return None, "No thread runs the task now: no answer is right."
    if not is_possible and answer.partition in places_of(candidates):
        return False, _elsewhere(candidates, seen.partitions)
    if holder is None or not is_possible or not _is_at(holder, answer.active):
        truth = holder if is_possible else None
        is_other = truth is None and not _is_murmur2(candidates)
        return False, OTHER_HASH if is_other else _why(application, store, state, answer, truth)
    if len(possible) == 1:
        return True, ""
    if len(seen.partitions) > 1:
        where = f"The changelog has the key in partition {either(seen.partitions, 'and')}"
        return None, f"{where}: the application names one of them."
    return None, (
        f"The key may be in partition {either(possible)}: the application names {answer.partition}. Look it "
        "up in the changelog."
    )


def _is_murmur2(candidates: Iterable[Candidate]) -> bool:
    return all(one.partitioner is Partitioner.MURMUR2 for one in candidates)


def _is_at(process: Process, endpoint: str) -> bool:
    """Whether an endpoint of the routing is that of a process; the routing has no scheme."""
    own = process.endpoint
    return own is not None and host_and_port(own) == host_and_port(endpoint)


def _elsewhere(candidates: Sequence[Candidate], partitions: Sequence[int]) -> str:
    """Return why an answer by the hash is wrong, where the changelog has the key in other partitions."""
    by_topics = [topic for one in candidates if one.partition in partitions for topic in one.topics]
    where = f"The changelog has the key in partition {either(partitions, 'and')}"
    if by_topics:
        return (
            f"{where}, by the size of {names_of(by_topics)}: the application uses the topic with the most "
            "partitions."
        )
    return (
        f"{where}: a custom partitioner placed it. The application names that partition only if the "
        "query uses the same partitioner."
    )


def misrouted_share(application: Application, store: Store, state: MetadataState) -> float | None:
    """Return the share of keys for which the application names another process or partition.

    Over all remainders of a hash: exact where keys are spread evenly. None where topics differ in size.
    """
    sizes = {application.topic_partitions.get(one, 0) for one in store.source_topics}
    if store.subtopology is None or len(sizes) != 1:
        return None
    true = sizes.pop()
    seen = _largest(state.counts, store.source_topics)
    if not true or not seen:
        return None
    holders = state.holders_of(store.source_topics)
    named = [host_and_port(holders.get(number, UNAVAILABLE)) for number in range(seen)]
    active = {
        task.partition: host_and_port(process.endpoint)
        for process in application.processes
        if process.endpoint is not None
        for task in process.tasks(Role.ACTIVE)
        if task.subtopology == store.subtopology
    }
    serving = [active.get(number) for number in range(true)]
    every = min(math.lcm(true, seen), _MOST_REMAINDERS)
    wrong = sum(
        one % seen != one % true or named[one % seen] != serving[one % true] for one in range(every)
    )
    return wrong / every


def worst_misrouted_share(application: Application) -> float | None:
    """Return the largest share of keys, over all stores, that are routed to the wrong instance.

    None where the answers of the application are not known.
    """
    state = metadata_state(application)
    if isinstance(state, NotKnowable):
        return None
    # Stores of one subtopology that are fed alike are routed alike.
    alike = {
        (one.subtopology, one.source_topics): one
        for one in application.stores.values()
        if not one.is_global
    }
    shares = {misrouted_share(application, one, state) for one in alike.values()}
    # Without a wrong one, what is not known of a store is not known of all.
    known = [one for one in shares if one is not None]
    return None if shares == {None, 0.0} else max(known, default=None)


def _why(
    application: Application,
    store: Store,
    state: MetadataState,
    answer: KeyMetadata,
    truth: Process | None,
) -> str:
    """Return the reason of a wrong answer, the most likely one first; `truth` None: for its partition."""
    if truth is None:
        true = _largest(application.topic_partitions, store.source_topics)
        return (
            f"The application counts the {_largest(state.counts, store.source_topics)} partitions that are "
            f"routed to an endpoint, not all {true}: "
            f"{_hidden(application)} (KAFKA-20886)."
        )
    if truth.endpoint is None:
        return f"The process at {truth.place} has no application.server, so nothing names it."
    sharing = [one for one in application.processes if one.endpoint == truth.endpoint]
    if len(sharing) > 1:
        return f"{len(sharing)} processes have the endpoint {truth.endpoint}: only one of them is routed to."
    if answer.active == UNAVAILABLE:
        return "The partition is routed to no endpoint."
    return "The task is routed to where it is to be, and still runs where it was."


def _largest(counts: Mapping[str, int], topics: Iterable[str]) -> int:
    return max((counts.get(topic, 0) for topic in topics), default=0)


def _hidden(application: Application) -> str:
    without = [one.place for one in application.processes if one.endpoint is None]
    if without:
        return f"{', '.join(without)} has no application.server"
    if application.protocol is Protocol.STREAMS:
        return "members have not taken over their tasks yet"
    return "two processes share an endpoint, or a rebalance is not finished"
