"""Which stores an application has, and to which subtopology each belongs, with how that is known.

A classic group never says it. What tells: commits, which name windows that are emitted when they close; a
pasted `Topology#describe()`; and the partition count, where only one subtopology has as many tasks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.patterns.matching import list_problem, matcher_of
from jobs.streams.application import Confidence, Store, Subtopology, TaskId
from jobs.streams.observation import TopicFacts
from jobs.streams.topology.described import DescribedTopology, StorePlace, stores_of
from jobs.wire.errors import RecordFormatError
from jobs.wire.streams_userdata import decode_commit_metadata
from jobs.wire.topics.streams_topics import changelog_store, store_kind


def stores_by_commits(
    committed: Mapping[TopicPartition, CommittedOffset],
    tasks: Mapping[TaskId, tuple[TopicPartition, ...]],
) -> dict[str, set[str]]:
    """Return the subtopologies whose commits name a store; damaged metadata names none."""
    of_place = {place: task.subtopology for task, own in tasks.items() for place in own}
    found: dict[str, set[str]] = defaultdict(set)
    for place, one in committed.items():
        try:
            named = decode_commit_metadata(one.metadata).emitted_window_close_ms
        except RecordFormatError:
            continue
        for store in named:
            if place in of_place:
                found[store].add(of_place[place])
    return dict(found)


def find_stores(
    application_id: str,
    topics: Mapping[str, TopicFacts],
    subtopologies: Mapping[str, Subtopology],
    *,
    registered: Mapping[str, tuple[str, ...]] | None = None,
    named_by_commits: Mapping[str, set[str]] | None = None,
    described: DescribedTopology | None = None,
) -> dict[str, Store]:
    """Return the stores by name.

    `registered` are the changelog topics of each subtopology in a streams group. `described` is a
    description, with full topic names; its stores come with those that have no changelog.
    """
    changelogs = {
        store: topic
        for topic in sorted(topics)
        if (store := changelog_store(application_id, topic)) is not None
    }
    owner = {topic: name for name, own in (registered or {}).items() for topic in own}
    places = stores_of(described) if described is not None else {}
    found = {}
    for store in sorted({*changelogs, *places}):
        topic = changelogs.get(store)
        kind = store_kind(topics[topic].settings) if topic is not None else None
        place = places.get(store)
        if topic in owner:
            one = _of(
                store,
                [owner[topic]],
                subtopologies,
                Confidence.EXACT,
                "The members registered it with the broker.",
            )
        elif place is not None:
            one = _given(store, place, by_broker=described is not None and described.is_of_broker)
        else:
            one = _inferred(
                store,
                topics[topic].partitions if topic else 0,
                subtopologies,
                (named_by_commits or {}).get(store, set()),
            )
        if place is not None:
            sources, is_fed_by_all = _sources(place, subtopologies, topics)
            one = replace(one, source_topics=sources, is_fed_by_all=is_fed_by_all)
        found[store] = replace(one, changelog=topic, kind=kind)
    return found


def _sources(
    place: StorePlace, subtopologies: Mapping[str, Subtopology], topics: Collection[str]
) -> tuple[tuple[str, ...], bool]:
    """Return the topics that feed a store, and whether all of them do.

    Patterns find what the tasks have, and before there are any tasks, what is seen of the cluster. Source:
    InternalTopologyBuilder#setRegexMatchedTopicToStateStore.
    """
    named, patterns = place.source_topics, place.patterns
    if not patterns:
        return named, not place.is_shared
    part = subtopologies.get(place.subtopology)
    read = part.source_topics if part is not None else sorted(topics)
    if list_problem(patterns) is not None:
        return tuple(dict.fromkeys((*named, *(part.source_topics if part else ())))), False
    fits = matcher_of(patterns).matches
    every = dict.fromkeys((*named, *(topic for topic in read if fits(topic))))
    return tuple(every), not place.is_shared


def _of(
    store: str,
    candidates: Iterable[str],
    subtopologies: Mapping[str, Subtopology],
    confidence: Confidence,
    reason: str,
) -> Store:
    names = tuple(sorted(candidates))
    sources = {
        topic
        for name in names
        if name in subtopologies
        for topic in subtopologies[name].source_topics
    }
    return Store(store, names, confidence, reason, tuple(sorted(sources)))


def _given(store: str, place: StorePlace, *, by_broker: bool) -> Store:
    if place.is_global:
        reason = "A global store, by the description: every instance has all of it."
        return Store(store, (), Confidence.GIVEN, reason, is_global=True)
    reason = f"By the description that {'the broker has' if by_broker else 'was given'}."
    return Store(store, (place.subtopology,), Confidence.GIVEN, reason)


def _inferred(
    store: str, partitions: int, subtopologies: Mapping[str, Subtopology], named: set[str]
) -> Store:
    if len(named) == 1:
        return _of(
            store,
            named,
            subtopologies,
            Confidence.EXACT,
            "Its commits name it: a window that is emitted when it closes.",
        )
    fitting = [one for one in subtopologies.values() if one.partitions == partitions]
    stateful = [one for one in fitting if one.is_stateful is not False]
    names = [one.subtopology for one in stateful]
    if len(names) == 1:
        reason = (
            f"Its changelog has {partitions} partitions, and no other subtopology with state has as many "
            "tasks."
        )
        return _of(store, names, subtopologies, Confidence.INFERRED, reason)
    if not names:
        return _of(
            store,
            [one.subtopology for one in subtopologies.values()],
            subtopologies,
            Confidence.OPEN,
            f"No subtopology that is known has {partitions} tasks, as its changelog has "
            "partitions: the topology changed, or the application is starting.",
        )
    return _of(
        store,
        names,
        subtopologies,
        Confidence.OPEN,
        f"{len(names)} subtopologies with state have {partitions} tasks. Paste Topology#describe() to "
        "settle it.",
    )
