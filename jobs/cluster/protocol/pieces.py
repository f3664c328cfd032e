"""Ask one thing about many names, as many at once as one request may carry."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from jobs.cluster.errors import ClusterFault, TimedOut
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.transport.connection import BrokerConnection
from jobs.cluster.protocol.transport.timing import RetryBudget

_Item = TypeVar("_Item")
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Pieces(Generic[_Item, _Value]):
    """A request in pieces: `doing` begins a sentence, `send` asks one broker about at most `at_once` items.

    `send` returns values or faults by item. A change (`is_change`) goes to the controller; both must be
    harmless to repeat.
    """

    doing: str
    send: Callable[
        [BrokerConnection, Sequence[_Item]], Awaitable[dict[_Item, _Value | ClusterFault]]
    ]
    at_once: int
    is_change: bool = False

    async def ask(
        self, cluster: RawCluster, items: Iterable[_Item], budget_s: float
    ) -> dict[_Item, _Value | ClusterFault]:
        """Return a value or a fault for every item; raises `ClusterFault` when nothing was answered.

        What was answered before the budget ended, or the cluster was lost, is kept.
        """
        wanted = list(dict.fromkeys(items))
        found: dict[_Item, _Value | ClusterFault] = {}
        tries = RetryBudget(cluster.timing, budget_s)
        for piece in chunks(wanted, self.at_once):
            try:
                async with asyncio.timeout(tries.left_s()):
                    found |= await self._one(cluster, piece)
            except TimeoutError:
                text = f"{self.doing}: no answer within {budget_s:g} s."
                fault: ClusterFault = TimedOut(text, cluster=cluster.alias)
            except ClusterFault as heard:
                fault = heard
            else:
                continue
            if not found:
                raise fault
            return dict.fromkeys(wanted, fault) | found
        silent = ClusterFault(f"{self.doing}: the broker left it out.", cluster=cluster.alias)
        return {item: found.get(item, silent) for item in wanted}

    async def _one(
        self, cluster: RawCluster, piece: Sequence[_Item]
    ) -> dict[_Item, _Value | ClusterFault]:
        async def send(connection: BrokerConnection) -> dict[_Item, _Value | ClusterFault]:
            return await self.send(connection, piece)

        return await (cluster.ask_controller(send) if self.is_change else cluster.ask_any(send))


def chunks(items: Sequence[_Item], size: int) -> Iterable[Sequence[_Item]]:
    """Cut a sequence into pieces that one request can carry."""
    return (items[start : start + size] for start in range(0, len(items), size))
