"""Offsets, timestamps, sizes and settings of many topics at once: one question per leader, not per topic."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, TypeVar

from jobs.cluster.admin.configs import ConfigValue, read_topic_configs_of
from jobs.cluster.admin.log_dirs import describe_replica_logs
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, Refused, TimedOut
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.offsets import (
    EARLIEST,
    LATEST,
    NEWEST,
    ListedOffset,
    list_offsets,
)
from jobs.cluster.protocol.leaders import ask_leaders
from jobs.cluster.protocol.metadata import ClusterMetadata
from jobs.cluster.protocol.transport.connection_pool import METADATA
from jobs.cluster.protocol.transport.timing import RetryBudget
from jobs.streams.observation import TopicFacts
from jobs.wire.topics.streams_topics import CLEANUP_POLICY, COMPACTION_LAG

SETTINGS = (CLEANUP_POLICY, COMPACTION_LAG, "retention.ms", "retention.bytes", "segment.ms")
_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")
_Answers: TypeAlias = dict[_Key, _Value | ClusterFault]


@dataclass(frozen=True, slots=True)
class TopicAnswers:
    """What was learned of each topic, and the faults of what was not; a topic may have both."""

    facts: Mapping[str, TopicFacts]
    faults: Mapping[str, tuple[ClusterFault, ...]]


@dataclass(frozen=True, slots=True)
class _Answered:
    starts: _Answers[TopicPartition, ListedOffset]
    ends: _Answers[TopicPartition, ListedOffset]
    newest: _Answers[TopicPartition, ListedOffset]
    sizes: _Answers[TopicPartition, int]
    settings: _Answers[str, dict[str, ConfigValue]]


async def read_topic_facts(
    cluster: RawCluster,
    topics: Collection[str],
    *,
    configured: Collection[str],
    budget_s: float,
    with_sizes: bool,
) -> TopicAnswers:
    """Return the facts of topics, with the settings of those that are `configured`.

    A partition without a leader is not waited for, and a broker that hangs costs its own partitions only.
    Raises `ClusterFault` when there is no metadata.
    """
    tries = RetryBudget(cluster.timing, budget_s)
    metadata = await cluster.metadata(topics)
    known = {name: metadata.topics[name] for name in topics if name in metadata.topics}
    leaders = [TopicPartition(name, n) for name, topic in known.items() for n in topic.partitions]
    readable = [name for name in configured if name in known and known[name].error is None]

    def listed(moment: int) -> Awaitable[_Answers[TopicPartition, ListedOffset]]:
        moments = dict.fromkeys(leaders, moment)
        left_s = tries.left_s()
        return list_offsets(cluster, moments, read_committed=False, budget_s=left_s, unknown_s=0.0)

    sized = leaders if with_sizes else []
    settings = read_topic_configs_of(cluster, readable, SETTINGS, tries.left_s())
    answered = _Answered(
        *await asyncio.gather(
            listed(EARLIEST),
            listed(LATEST),
            listed(NEWEST),
            ask_leaders(cluster, sized, partial(_sizes, cluster), tries.left_s(), 0.0),
            within(cluster, settings, readable, tries, "Reading settings of topics"),
        )
    )
    return TopicAnswers(
        {n: _facts(n, metadata, answered) for n, topic in known.items() if topic.partitions},
        {name: _faults(name, metadata, answered) for name in known},
    )


async def within(
    cluster: RawCluster,
    asking: Awaitable[_Answers[_Key, _Value]],
    keys: Collection[_Key],
    tries: RetryBudget,
    doing: str,
) -> _Answers[_Key, _Value]:
    """Return the answers, or for every key the fault that took all of them, or the end of the budget."""
    try:
        async with asyncio.timeout(tries.left_s()):
            return await asking
    except TimeoutError:
        return dict.fromkeys(keys, TimedOut(f"{doing}: not done in time.", cluster=cluster.alias))
    except ClusterFault as fault:
        return dict.fromkeys(keys, fault)


async def _sizes(
    cluster: RawCluster, broker_id: int, piece: Collection[TopicPartition]
) -> _Answers[TopicPartition, int]:
    connection = await cluster.connection_to(broker_id, METADATA)
    logs = await describe_replica_logs(connection, piece)
    missing = next(iter(logs.faults.values()), None) or Refused(
        f"Broker {broker_id} does not report the size of all partitions that it leads.",
        cluster=cluster.alias,
        hint="It may have become their leader a moment ago. The next collection requests them again.",
    )
    return {
        where: logs.replicas[where].size_bytes if where in logs.replicas else missing
        for where in piece
    }


def _facts(name: str, metadata: ClusterMetadata, answered: _Answered) -> TopicFacts:
    numbers = metadata.topics[name].partitions
    starts, ends, newest = (
        _of_topic(name, numbers, answers)
        for answers in (answered.starts, answered.ends, answered.newest)
    )
    settings = answered.settings.get(name, {})
    return TopicFacts(
        len(numbers),
        {n: one.offset for n, one in starts.items() if one.offset is not None},
        {n: one.offset for n, one in ends.items() if one.offset is not None},
        {n: one.timestamp_ms for n, one in newest.items() if one.timestamp_ms is not None},
        _of_topic(name, numbers, answered.sizes),
        {}
        if isinstance(settings, ClusterFault)
        else {key: one.value for key, one in settings.items() if one.value is not None},
        min((one.replica_count for one in numbers.values()), default=0) or None,
    )


def _of_topic(
    name: str, numbers: Collection[int], answers: _Answers[TopicPartition, _Value]
) -> dict[int, _Value]:
    found: dict[int, _Value] = {}
    for number in sorted(numbers):
        answer = answers.get(TopicPartition(name, number))
        if answer is not None and not isinstance(answer, ClusterFault):
            found[number] = answer
    return found


def _faults(name: str, metadata: ClusterMetadata, answered: _Answered) -> tuple[ClusterFault, ...]:
    """Return one fault of each kind: a topic of many partitions tells the same many times."""
    topic = metadata.topics[name]
    places = [TopicPartition(name, number) for number in sorted(topic.partitions)]
    answers: list[object] = [topic.error, answered.settings.get(name)]
    for asked in (answered.starts, answered.ends, answered.newest, answered.sizes):
        answers += [asked.get(where) for where in places]
    first: dict[str, ClusterFault] = {}
    for answer in answers:
        if isinstance(answer, ClusterFault):
            first.setdefault(answer.code, answer)
    return tuple(first.values())
