"""Ask the coordinator of a transactional id, wherever it is, until it answers or the budget ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from kio.schema.find_coordinator.v3.request import FindCoordinatorRequest
from kio.schema.find_coordinator.v3.response import FindCoordinatorResponse

from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.errors import (
    AnswerFault,
    ConnectionLost,
    FaultKind,
    RequestTimedOut,
    Where,
    answer_fault,
)
from jobs.cluster.protocol.transport.apis import FIND_COORDINATOR
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.connection_pool import COORDINATOR
from jobs.cluster.protocol.transport.primitives import int8
from jobs.cluster.protocol.transport.timing import RetryBudget

_Answer = TypeVar("_Answer")
_TRANSACTION = int8(1)


class GaveUp(Exception):
    """The budget is over; `fault` is the last one, `may_have_arrived` whether any try may have been done."""

    def __init__(self, fault: ClusterFault, *, may_have_arrived: bool) -> None:
        super().__init__(str(fault))
        self.fault = fault
        self.may_have_arrived = may_have_arrived


async def find_coordinator(cluster: RawCluster, transactional_id: str) -> int:
    """Return the broker that coordinates a transactional id; raises `ClusterFault`."""
    known = cluster.coordinators.get(transactional_id)
    if known is not None:
        return known
    request = FindCoordinatorRequest(key=transactional_id, key_type=_TRANSACTION)

    async def send(connection: BrokerConnection) -> FindCoordinatorResponse:
        return await connection.request(FIND_COORDINATOR, request)

    answer = await cluster.ask_any(send)
    where = Where(cluster.alias, None, f"Finding the coordinator of {transactional_id}")
    fault = answer_fault(answer.error_code, where, answer.error_message)
    if fault is not None:
        raise fault
    cluster.coordinators[transactional_id] = answer.node_id
    return answer.node_id


async def ask_coordinator(
    cluster: RawCluster,
    transactional_id: str,
    send: Callable[[BrokerConnection], Awaitable[_Answer]],
    budget_s: float,
) -> _Answer:
    """Ask the coordinator until there is an answer, see `ask_patiently`; it is followed when it moves."""

    async def attempt() -> _Answer:
        broker_id = await find_coordinator(cluster, transactional_id)
        try:
            return await send(await cluster.connection_to(broker_id, COORDINATOR))
        except ClusterFault as fault:
            if not (isinstance(fault, AnswerFault) and fault.kind is FaultKind.RETRY):
                cluster.coordinators.pop(transactional_id, None)
            raise

    return await ask_patiently(cluster, attempt, budget_s)


async def ask_patiently(
    cluster: RawCluster, attempt: Callable[[], Awaitable[_Answer]], budget_s: float
) -> _Answer:
    """Try until there is an answer; an attempt raises the fault that the answer tells.

    Everything retriable is tried again, with back-off, while the budget lasts, so the request must be
    harmless to repeat. A try that has begun is not cut short: a broker that hangs costs up to
    `request_timeout_s` more. Raises the fault that repeating does not fix, and `GaveUp`.
    """
    tries = RetryBudget(cluster.timing, budget_s)
    may_have_arrived = False
    while True:
        try:
            return await attempt()
        except ClusterFault as fault:
            await cluster.compare_brokers(fault)
            if not fault.retriable:
                raise
            last = fault
        may_have_arrived |= _may_have_arrived(last)
        if not await tries.pause():
            raise GaveUp(last, may_have_arrived=may_have_arrived)


def _may_have_arrived(fault: ClusterFault) -> bool:
    return isinstance(fault, ConnectionLost | RequestTimedOut) and fault.may_have_arrived
