"""Ask a cluster which Streams applications it has, and for all that one of them shows.

A round over many applications asks each leader and each coordinator once for all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from jobs import limits
from jobs.cluster.errors import ClusterFault, Refused
from jobs.cluster.group_members import ClassicGroup, ListedGroup, StreamsGroup
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import VersionNotOffered
from jobs.cluster.protocol.groups.classic import describe_classic_groups
from jobs.cluster.protocol.groups.committed_offsets import read_offsets
from jobs.cluster.protocol.groups.listing import list_all_groups
from jobs.cluster.protocol.groups.streams import NoStreamsGroups, describe_streams_groups
from jobs.cluster.protocol.transport.timing import RetryBudget
from jobs.limits import beyond
from jobs.streams.collection.topic_facts import TopicAnswers, read_topic_facts, within
from jobs.streams.observation import Observation
from jobs.wire.consumer_protocol import decode_consumer_assignment, decode_consumer_subscription
from jobs.wire.errors import RecordFormatError
from jobs.wire.topics.streams_topics import internal_topics, own_topics

CONSUMER, STREAMS = "consumer", "streams"
# The assignor's name is fixed: StreamsPartitionAssignor.name().
STREAM_PROTOCOL = "stream"
_WITHOUT_MEMBERS = frozenset({"Empty", "Dead"})
# A broker that hangs must leave time to describe the groups of the others.
_SHARE_TO_LIST = 0.4


@dataclass(frozen=True, slots=True)
class FoundApplications:
    """The Streams applications of a cluster.

    `group_ids` are all groups of the cluster. `faults` are those of groups that could not be described, which
    may be applications; `cluster_faults` those of brokers that did not list their groups.
    """

    groups: Mapping[str, ClassicGroup | StreamsGroup]
    group_ids: frozenset[str]
    faults: Mapping[str, ClusterFault]
    cluster_faults: tuple[ClusterFault, ...]


async def find_applications(
    cluster: RawCluster, *, known: Collection[str] = (), budget_s: float
) -> FoundApplications:
    """Return the groups that are Streams applications; raises `ClusterFault` when no broker answers.

    While a classic group is not Stable nothing says whose it is: those in `known` were seen before.
    """
    tries = RetryBudget(cluster.timing, budget_s)
    listed = await list_all_groups(cluster, budget_s * _SHARE_TO_LIST)
    remembered = frozenset(known)
    classic = [one.group_id for one in listed.groups if may_be_application(one, remembered)]
    streams = [one.group_id for one in listed.groups if one.type.lower() == STREAMS]
    left_s = tries.left_s()
    described_classic, described_streams = await asyncio.gather(
        describe_classic_groups(cluster, classic, budget_s=left_s),
        describe_streams_groups(cluster, streams, budget_s=left_s),
    )
    groups: dict[str, ClassicGroup | StreamsGroup] = {}
    faults: dict[str, ClusterFault] = {}
    for group_id, group in (described_classic | described_streams).items():
        if isinstance(group, ClusterFault):
            faults[group_id] = group
        elif isinstance(group, StreamsGroup) or is_application(group, remembered):
            groups[group_id] = group
    group_ids = frozenset(one.group_id for one in listed.groups)
    if listed.faults:
        # Whether they are gone, or belong to a broker that said nothing, is not known.
        faults |= dict.fromkeys(remembered - group_ids, listed.faults[0])
    return FoundApplications(groups, group_ids, faults, listed.faults)


def may_be_application(group: ListedGroup, known: Collection[str]) -> bool:
    """Whether a listed group has to be described to know: a classic one of consumers, with members.

    One that is known may have no protocol type: its offsets were committed by another program.
    """
    if group.type.lower() not in {"classic", ""}:
        return False
    if group.group_id in known:
        return group.protocol_type in {CONSUMER, ""}
    return group.protocol_type == CONSUMER and group.state not in _WITHOUT_MEMBERS


def is_application(group: ClassicGroup, known: Collection[str]) -> bool:
    """Whether a classic group is a Streams application: it says so, or it says nothing and was one."""
    return group.protocol == STREAM_PROTOCOL or (not group.protocol and group.group_id in known)


async def observe(
    cluster: RawCluster,
    found: FoundApplications,
    application_id: str,
    *,
    now_ms: int,
    budget_s: float,
    with_sizes: bool = True,
) -> Observation:
    """Return what the cluster shows of one application; raises `ClusterFault`, see `observe_all`."""
    if application_id not in found.groups:
        raise found.faults.get(application_id) or Refused(
            f"Group {application_id} is no Kafka Streams application, or is not there.",
            cluster=cluster.alias,
            hint="Start the application, and look whether the principal may DESCRIBE its group.",
        )
    seen = await observe_all(
        cluster, found, [application_id], now_ms=now_ms, budget_s=budget_s, with_sizes=with_sizes
    )
    return seen[application_id]


async def observe_all(
    cluster: RawCluster,
    found: FoundApplications,
    application_ids: Collection[str] | None = None,
    *,
    now_ms: int,
    budget_s: float,
    with_sizes: bool = True,
) -> dict[str, Observation]:
    """Return what the cluster shows of each application that was found (None: of all).

    Failed requests are in each observation's `faults`. Raises `ClusterFault` without metadata.
    """
    tries = RetryBudget(cluster.timing, budget_s)
    ids = [i for i in found.groups if application_ids is None or i in application_ids]
    if not ids:
        return {}
    names = await all_topic_names(cluster)
    read = {one: topics_of(found.groups[one]) for one in ids}
    topics = {one: read[one].topics | own_topics(one, found.group_ids, names) for one in ids}
    configured = {name for one in ids for name in internal_topics(one, topics[one])}
    offsets = read_offsets(cluster, ids, budget_s=tries.left_s())
    answers, committed = await asyncio.gather(
        read_topic_facts(
            cluster,
            frozenset[str]().union(*topics.values()),
            configured=configured,
            budget_s=tries.left_s(),
            with_sizes=with_sizes,
        ),
        within(cluster, offsets, ids, tries, "Reading committed offsets"),
    )
    seen: dict[str, Observation] = {}
    for one in ids:
        own = committed[one]
        faults = _faults_of(topics[one], answers)
        if isinstance(own, ClusterFault):
            faults.append(own)
        seen[one] = Observation(
            found.groups[one],
            now_ms,
            {name: answers.facts[name] for name in sorted(topics[one]) if name in answers.facts},
            {} if isinstance(own, ClusterFault) else own,
            group_ids=found.group_ids,
            faults=(*read[one].faults, *_sentences(faults)),
        )
    return seen


async def all_topic_names(cluster: RawCluster) -> frozenset[str]:
    """Return the topics that this principal may DESCRIBE; raises `ClusterFault`."""
    found = await cluster.ask_any(lambda connection: cluster.metadata_from(connection, None))
    return frozenset(found.topics)


@dataclass(frozen=True, slots=True)
class MemberTopics:
    """The topics that members name, and sentences on members that cannot be read."""

    topics: frozenset[str]
    faults: tuple[str, ...]


def topics_of(group: ClassicGroup | StreamsGroup) -> MemberTopics:
    """Return the first topics that the members of a group read, and those that a topology names."""
    if isinstance(group, StreamsGroup):
        return _first_topics(_topics_of_topology(group), ())
    topics: set[str] = set()
    faults: list[str] = []
    for member in group.members:
        try:
            if member.metadata:
                topics.update(decode_consumer_subscription(member.metadata).topics)
            if member.assignment:
                assigned = decode_consumer_assignment(member.assignment).assigned
                topics.update(topic for topic, _ in assigned)
        except RecordFormatError as error:
            faults.append(f"Member {member.member_id} of {group.group_id}: {error}.")
    return _first_topics(topics, faults)


def _first_topics(topics: Collection[str], faults: Iterable[str]) -> MemberTopics:
    """What one group names must not make a round ask for all partitions of a cluster."""
    told = beyond(len(topics), limits.TOPICS, "topics are read")
    return MemberTopics(
        frozenset(sorted(topics)[: limits.TOPICS]), tuple(filter(None, (*faults, told)))
    )


def _topics_of_topology(group: StreamsGroup) -> frozenset[str]:
    return frozenset(
        topic
        for one in group.subtopologies or ()
        for topics in (
            one.source_topics,
            one.repartition_source_topics,
            one.repartition_sink_topics,
            one.changelog_topics,
        )
        for topic in topics
    )


def _faults_of(topics: Iterable[str], answers: TopicAnswers) -> list[ClusterFault]:
    return [fault for name in sorted(topics) for fault in answers.faults.get(name, ())]


def _sentences(faults: Iterable[ClusterFault]) -> tuple[str, ...]:
    """Return each fault once, with what to do."""
    # The hint of a version that is not offered speaks of copying.
    return tuple(
        dict.fromkeys(
            fault.message
            if isinstance(fault, VersionNotOffered) and not isinstance(fault, NoStreamsGroups)
            else f"{fault.message} {fault.hint}"
            for fault in faults
        )
    )
