"""Ask the coordinators of many groups one thing, following them when they move."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from kio.schema.find_coordinator.v3.request import FindCoordinatorRequest
from kio.schema.find_coordinator.v4.request import (
    FindCoordinatorRequest as FindCoordinatorsRequest,
)

from jobs.cluster.errors import ClusterFault, ProtocolMismatch, TimedOut
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import Where, answer_fault
from jobs.cluster.protocol.transport.apis import FIND_COORDINATOR, FIND_COORDINATORS
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.connection_pool import COORDINATOR
from jobs.cluster.protocol.transport.primitives import int8
from jobs.cluster.protocol.transport.timing import RetryBudget

_GROUP = int8(0)
_Value = TypeVar("_Value")
_Value_co = TypeVar("_Value_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Asking(Generic[_Value_co]):
    """A request to coordinators: `doing` begins a sentence, `send` asks one broker for some groups.

    At most `at_once` groups go into a request: an answer has to fit into memory.
    """

    doing: str
    send: Callable[
        [BrokerConnection, Sequence[str]], Awaitable[dict[str, _Value_co | ClusterFault]]
    ]
    at_once: int


async def ask_coordinators(
    cluster: RawCluster, group_ids: Collection[str], asking: Asking[_Value], *, budget_s: float
) -> dict[str, _Value | ClusterFault]:
    """Return a value or the last fault for every group.

    Coordinators that move are followed while the budget lasts; one that hangs costs its own groups only,
    and an answer that cannot be read only the group that makes it so. Raises `ClusterFault` when no broker
    names the coordinators.
    Source: FindCoordinator 3 and 4 (KIP-699).
    """
    tries = RetryBudget(cluster.timing, budget_s)
    found: dict[str, _Value | ClusterFault] = {}
    waiting = sorted(set(group_ids))
    while waiting:
        try:
            found |= await _ask_once(cluster, waiting, asking, tries)
        except ClusterFault as fault:
            if not found:
                raise
            # What was read before stays read.
            found |= dict.fromkeys(waiting, fault)
        waiting = [group_id for group_id in waiting if _is_retriable(found[group_id])]
        if waiting and not await tries.pause():
            break
    return found


async def find_coordinators(
    cluster: RawCluster, group_ids: Collection[str]
) -> dict[str, int | ClusterFault]:
    """Return which broker coordinates each group, or why that is not known; raises `ClusterFault`."""

    async def send(connection: BrokerConnection) -> dict[str, int | ClusterFault]:
        if connection.versions.best(FIND_COORDINATORS.speaks) is None:
            return {one: await _found_by(connection, one) for one in group_ids}
        request = FindCoordinatorsRequest(key_type=_GROUP, coordinator_keys=tuple(group_ids))
        answer = await connection.request(FIND_COORDINATORS, request)
        found: dict[str, int | ClusterFault] = {}
        for one in answer.coordinators:
            place = Where(cluster.alias, None, f"Finding the coordinator of group {one.key}")
            fault = answer_fault(one.error_code, place, one.error_message)
            found[one.key] = fault or int(one.node_id)
        untold = TimedOut("Finding the coordinator: not answered.", cluster=cluster.alias)
        return {group_id: found.get(group_id, untold) for group_id in group_ids}

    return await cluster.ask_any(send)


async def _found_by(connection: BrokerConnection, group_id: str) -> int | ClusterFault:
    request = FindCoordinatorRequest(key=group_id, key_type=_GROUP)
    answer = await connection.request(FIND_COORDINATOR, request)
    place = Where(connection.cluster, None, f"Finding the coordinator of group {group_id}")
    return answer_fault(answer.error_code, place, answer.error_message) or answer.node_id


async def _ask_once(
    cluster: RawCluster, group_ids: Collection[str], asking: Asking[_Value], tries: RetryBudget
) -> dict[str, _Value | ClusterFault]:
    """Ask every coordinator at the same time."""
    found: dict[str, _Value | ClusterFault] = {}
    by_broker: dict[int, list[str]] = defaultdict(list)
    for group_id, coordinator in (await find_coordinators(cluster, group_ids)).items():
        if isinstance(coordinator, ClusterFault):
            found[group_id] = coordinator
        else:
            by_broker[coordinator].append(group_id)
    asked = (_ask_broker(cluster, *one, asking, tries) for one in by_broker.items())
    for answers in await asyncio.gather(*asked):
        found |= answers
    return found


async def _ask_broker(
    cluster: RawCluster,
    broker_id: int,
    group_ids: list[str],
    asking: Asking[_Value],
    tries: RetryBudget,
) -> dict[str, _Value | ClusterFault]:
    """Return what one broker says of the groups that it coordinates."""
    found: dict[str, _Value | ClusterFault] = {}
    fault: ClusterFault | None = None
    try:
        async with asyncio.timeout(tries.left_s()):
            for at in range(0, len(group_ids), asking.at_once):
                piece = group_ids[at : at + asking.at_once]
                found |= await _ask_for(cluster, broker_id, piece, asking)
    except TimeoutError:
        text = f"{asking.doing}: broker {broker_id} did not answer in time."
        fault = TimedOut(text, cluster=cluster.alias)
    except ClusterFault as heard:
        fault = heard
    untold = fault or TimedOut(f"{asking.doing}: not answered.", cluster=cluster.alias)
    return {group_id: found.get(group_id, untold) for group_id in group_ids}


async def _ask_for(
    cluster: RawCluster, broker_id: int, group_ids: Sequence[str], asking: Asking[_Value]
) -> dict[str, _Value | ClusterFault]:
    """Ask for some groups at once, and one by one when that answer cannot be read or is too large."""
    try:
        return await asking.send(await cluster.connection_to(broker_id, COORDINATOR), group_ids)
    except ProtocolMismatch as fault:
        if len(group_ids) == 1:
            return {group_ids[0]: fault}
    found: dict[str, _Value | ClusterFault] = {}
    for group_id in group_ids:
        found |= await _ask_for(cluster, broker_id, [group_id], asking)
    return found


def _is_retriable(answer: object) -> bool:
    return isinstance(answer, ClusterFault) and answer.retriable
