"""Ask the leaders of many partitions one thing, following them when they move."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeAlias, TypeVar

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, Remedy, TimedOut
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import LeaderMoved, TopicUnknown, Where
from jobs.cluster.protocol.metadata import ClusterMetadata, PartitionMetadata
from jobs.cluster.protocol.transport.timing import RetryBudget

# However little of a budget is left, a try that begins gets so long.
_SHORTEST_TRY_S = 0.25

_Value = TypeVar("_Value")
_Asked: TypeAlias = Mapping[TopicPartition, PartitionMetadata]
_Answers: TypeAlias = dict[TopicPartition, _Value | ClusterFault]
_Send: TypeAlias = Callable[[int, _Asked], Awaitable[_Answers[_Value]]]


class NoLeader(LeaderMoved):
    """No broker leads the partition: all its replicas in the ISR are down, or it was just made."""

    code = "no_leader"
    remedy = Remedy.RETRY
    hint = "Start a broker that holds one of its replicas."


_FINAL_SOON = (NoLeader, TopicUnknown)
_UNKNOWN = "UNKNOWN_TOPIC_OR_PARTITION"


async def ask_leaders(
    cluster: RawCluster,
    partitions: Collection[TopicPartition],
    send: _Send[_Value],
    budget_s: float,
    unknown_s: float | None = None,
) -> _Answers[_Value]:
    """Return a value or the last fault for every partition.

    `send` asks one broker for the partitions that it leads. What is retriable is repeated with fresh
    metadata, with back-off, until the budget is over; partitions that are unknown or without a leader only
    for `unknown_s`. A broker that does not answer within the budget costs its own partitions. Raises
    `ClusterFault` when there is no metadata.
    """
    tries = RetryBudget(cluster.timing, budget_s)
    unknown = RetryBudget(cluster.timing, budget_s if unknown_s is None else unknown_s)
    found: _Answers[_Value] = {}
    waiting = set(partitions)
    metadata = await cluster.metadata({where.topic for where in waiting})
    while True:
        found |= await _ask_once(cluster, metadata, waiting, send, tries)
        is_final: tuple[type[ClusterFault], ...] = () if unknown.left_s() else _FINAL_SOON
        waiting = {
            where
            for where in waiting
            if _is_retriable(found[where]) and not isinstance(found[where], is_final)
        }
        if not waiting or not await tries.pause():
            return found
        metadata = await cluster.metadata({w.topic for w in waiting}, newer_than=metadata)


async def _ask_once(
    cluster: RawCluster,
    metadata: ClusterMetadata,
    partitions: Collection[TopicPartition],
    send: _Send[_Value],
    tries: RetryBudget,
) -> _Answers[_Value]:
    """Ask every leader at the same time; partitions without one get their fault."""
    by_leader: dict[int, dict[TopicPartition, PartitionMetadata]] = {}
    found: _Answers[_Value] = {}
    for where in partitions:
        partition = metadata.partition(where)
        if partition is None or partition.leader is None:
            found[where] = _without_leader(cluster, metadata, where)
        else:
            by_leader.setdefault(partition.leader, {})[where] = partition
    asked = (_ask_one(cluster, send, *one, tries) for one in by_leader.items())
    for answers in await asyncio.gather(*asked):
        found |= answers
    for where in partitions:
        if where not in found:
            found[where] = _unanswered(cluster, where)
    return found


async def _ask_one(
    cluster: RawCluster, send: _Send[_Value], leader: int, asked: _Asked, tries: RetryBudget
) -> _Answers[_Value]:
    try:
        async with asyncio.timeout(max(tries.left_s(), _SHORTEST_TRY_S)):
            return await send(leader, asked)
    except TimeoutError:
        text = f"Asking broker {leader} for partitions that it leads: no answer in time."
        return dict.fromkeys(asked, TimedOut(text, cluster=cluster.alias))
    except ClusterFault as fault:
        await cluster.compare_brokers(fault)
        return dict.fromkeys(asked, fault)


def _without_leader(
    cluster: RawCluster, metadata: ClusterMetadata, where: TopicPartition
) -> ClusterFault:
    topic = metadata.topics.get(where.topic)
    if topic is not None and topic.error is not None:
        return topic.error
    if metadata.partition(where) is None:
        return _unanswered(cluster, where)
    text = f"Partition {where} has no leader now (LEADER_NOT_AVAILABLE)."
    return NoLeader(text, cluster=cluster.alias)


def _unanswered(cluster: RawCluster, where: TopicPartition) -> ClusterFault:
    place = Where(cluster.alias, None, "Asking the leader of", where)
    fault = TopicUnknown(f"{place}: {TopicUnknown.meaning} ({_UNKNOWN}).", cluster=cluster.alias)
    fault.error = _UNKNOWN
    return fault


def _is_retriable(answer: object) -> bool:
    return isinstance(answer, ClusterFault) and answer.retriable
