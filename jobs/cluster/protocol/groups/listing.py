"""All groups of a cluster, asked of every broker (ListGroups, API 16)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from kio.schema.list_groups.v5.request import ListGroupsRequest

from jobs.cluster.errors import ClusterFault, TimedOut
from jobs.cluster.group_members import ListedGroup
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import Where, answer_fault
from jobs.cluster.protocol.transport.apis import LIST_GROUPS
from jobs.cluster.protocol.transport.connection_pool import COORDINATOR
from jobs.cluster.protocol.transport.timing import RetryBudget

_LISTING = "Listing groups"
_ALL = ListGroupsRequest(states_filter=(), types_filter=())


@dataclass(frozen=True, slots=True)
class GroupsListed:
    """Groups by their ids, sorted, and the faults of brokers that did not tell theirs."""

    groups: tuple[ListedGroup, ...]
    faults: tuple[ClusterFault, ...]


async def list_all_groups(cluster: RawCluster, budget_s: float) -> GroupsListed:
    """Return the groups that this principal may DESCRIBE; raises `ClusterFault` without metadata.

    A broker knows the groups that it coordinates, and one that does not answer loses those only. `state` is
    empty before Kafka 2.6, `type` before 3.8.
    """
    brokers = (await cluster.metadata()).brokers
    found: dict[str, ListedGroup] = {}
    faults: list[ClusterFault] = []
    asked = (_of_patiently(cluster, broker, budget_s) for broker in sorted(brokers))
    for answer in await asyncio.gather(*asked):
        if isinstance(answer, ClusterFault):
            faults.append(answer)
        else:
            found |= {group.group_id: group for group in answer}
    return GroupsListed(tuple(found[group_id] for group_id in sorted(found)), tuple(faults))


async def _of_patiently(
    cluster: RawCluster, broker_id: int, budget_s: float
) -> list[ListedGroup] | ClusterFault:
    """Ask again while a coordinator loads its groups."""
    tries = RetryBudget(cluster.timing, budget_s)
    while True:
        try:
            async with asyncio.timeout(tries.left_s()):
                return await _of(cluster, broker_id)
        except TimeoutError:
            text = f"{_LISTING}: broker {broker_id} did not answer in time."
            return TimedOut(text, cluster=cluster.alias)
        except ClusterFault as fault:
            if not fault.retriable or not await tries.pause():
                return fault


async def _of(cluster: RawCluster, broker_id: int) -> list[ListedGroup]:
    connection = await cluster.connection_to(broker_id, COORDINATOR)
    answer = await connection.request(LIST_GROUPS, _ALL)
    fault = answer_fault(answer.error_code, Where(cluster.alias, broker_id, _LISTING))
    if fault is not None:
        raise fault
    return [
        ListedGroup(
            group.group_id,
            group.protocol_type,
            getattr(group, "group_state", ""),
            getattr(group, "group_type", ""),
        )
        for group in answer.groups
    ]
