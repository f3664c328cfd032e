"""From what a cluster told of an application to the application."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.group_members import ClassicGroup, StreamsGroup
from jobs.limits import sentences
from jobs.streams.application import Application, Confidence, Protocol, Subtopology, TaskId
from jobs.streams.bounds import bounded, first_members
from jobs.streams.endpoints import Resolver, endpoint_cautions
from jobs.streams.from_classic import MembersSeen, members_of
from jobs.streams.from_streams import streams_seen
from jobs.streams.observation import Facts, Observation
from jobs.streams.stores import find_stores, stores_by_commits
from jobs.streams.topology.described import DescribedTopology, with_prefix
from jobs.streams.topology.fitting import Fit, fit_of


def application_of(
    observation: Observation,
    description: DescribedTopology | None = None,
    resolver: Resolver | None = None,
) -> Application:
    """Return the application; `description` is what `Topology#describe()` printed, parsed.

    `resolver` says of names of endpoints whether they have an address here; None: names are not asked for.
    Never raises for what members wrote: what could not be read is a thread's `problem` and a caution.
    """
    group = observation.group
    if isinstance(group, StreamsGroup):
        found = _of_streams(first_members(group), observation)
    else:
        found = _of_classic(first_members(group), observation)
    found = bounded(found, len(group.members))
    found = replace(
        found,
        cautions=sentences((*found.cautions, *endpoint_cautions(found, resolver=resolver))),
    )
    if description is None:
        return found
    return with_description(found, observation.facts, description)


def with_description(
    application: Application, facts: Facts, description: DescribedTopology
) -> Application:
    """Return an application that was seen without a description as this one tells its stores.

    `facts` are of the same application. What members registered with the broker stays as it is. A
    description that differs from what runs is not used: a caution says so.
    """
    full, fit = fitting(application, facts, description)
    if fit.problems:
        return replace(application, cautions=(*application.cautions, fit.caution))
    registered: dict[str, tuple[str, ...]] = defaultdict(tuple)
    if application.protocol is Protocol.STREAMS:
        for one in application.stores.values():
            if one.confidence is Confidence.EXACT and one.changelog and one.subtopology is not None:
                registered[one.subtopology] += (one.changelog,)
    stores = find_stores(
        application.application_id,
        facts.topics,
        application.subtopologies,
        registered=registered,
        named_by_commits=stores_by_commits(facts.committed, application.tasks),
        described=full,
    )
    return replace(application, stores=stores)


def fitting(
    application: Application, facts: Facts, description: DescribedTopology
) -> tuple[DescribedTopology, Fit]:
    """Return a description with full names of topics, and whether it is that of what runs."""
    read = {topic for one in application.subtopologies.values() for topic in one.source_topics}
    full = with_prefix(description, application.application_id, facts.topics.keys() | read)
    return full, fit_of(full, application)


def _of_classic(group: ClassicGroup, observation: Observation) -> Application:
    counts = _counts(observation)
    seen = members_of(group, counts)
    subtopologies = _subtopologies(seen, counts)
    # A task without a thread still exists: partitions of a subtopology are known by its topics.
    tasks = dict(seen.tasks)
    for name, one in subtopologies.items():
        for number in range(one.partitions or 0):
            places = tuple(
                TopicPartition(topic, number)
                for topic in one.source_topics
                if number < counts.get(topic, 0)
            )
            tasks.setdefault(TaskId(name, number), places)
    stores = find_stores(
        group.group_id,
        observation.topics,
        subtopologies,
        named_by_commits=stores_by_commits(observation.facts.committed, tasks),
    )
    return Application(
        group.group_id,
        Protocol.CLASSIC,
        group.state,
        observation.observed_at_ms,
        seen.threads,
        subtopologies,
        tasks,
        stores,
        seen.routes,
        counts,
        generation=observation.generation,
        next_rebalance_ms=seen.next_rebalance_ms,
        cautions=(*observation.faults, *seen.cautions),
    )


def _of_streams(group: StreamsGroup, observation: Observation) -> Application:
    counts = _counts(observation)
    seen = streams_seen(group, counts)
    stores = find_stores(
        group.group_id,
        observation.topics,
        seen.subtopologies,
        registered=seen.changelogs,
    )
    return Application(
        group.group_id,
        Protocol.STREAMS,
        group.state,
        observation.observed_at_ms,
        seen.threads,
        seen.subtopologies,
        seen.tasks,
        stores,
        seen.routes,
        counts,
        generation=group.group_epoch,
        cautions=(*observation.faults, *seen.cautions),
    )


def _counts(observation: Observation) -> dict[str, int]:
    return {topic: one.partitions for topic, one in observation.topics.items()}


def _subtopologies(seen: MembersSeen, counts: Mapping[str, int]) -> dict[str, Subtopology]:
    topics: dict[str, set[str]] = defaultdict(set)
    for task, places in seen.tasks.items():
        topics[task.subtopology].update(place.topic for place in places)
    found = {}
    for name, own in sorted(topics.items()):
        known = [counts[topic] for topic in own if topic in counts]
        found[name] = Subtopology(
            name,
            tuple(sorted(own)),
            max(known) if known and len(known) == len(own) else None,
            is_stateful=_is_stateful(name, seen),
        )
    return found


def _is_stateful(subtopology: str, seen: MembersSeen) -> bool | None:
    """Return whether it has state; None while no member has told of any, as in a first generation."""
    if subtopology in seen.stateful:
        return True
    return False if seen.stateful else None
