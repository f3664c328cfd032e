"""Make sure that nobody writes for a flow any more, before its positions are read.

A task that was cut off may still be alive somewhere. Its transactional id is taken over here: what it
left open is aborted, and whatever it sends later is refused. Where nobody leads a partition that it wrote to,
that has to wait: `LeaderMoved`.
"""

from __future__ import annotations

import asyncio
import logging

from jobs.cluster.raw.cluster import RawCluster
from jobs.cluster.raw.transaction_list import list_transactions, open_partitions
from jobs.cluster.raw.transactions import init_producer_id
from jobs.replication.batches.leaders import check_leaders
from jobs.replication.flow import FlowSpec, Guarantee

logger = logging.getLogger(__name__)


def transactional_prefix(flow: FlowSpec) -> str:
    """Return what the transactional ids of a flow begin with."""
    return f"crosslog.{flow.source.alias}.{flow.name}."


def transactional_id(flow: FlowSpec, slot: int) -> str:
    """Return the transactional id of one share of a flow."""
    return f"{transactional_prefix(flow)}{slot}"


def is_share_of(flow: FlowSpec, name: str) -> bool:
    """Return whether a transactional id is one of a flow's; the flow `a.b` is none of the flow `a`."""
    prefix = transactional_prefix(flow)
    return name.startswith(prefix) and name[len(prefix) :].isdecimal()


def fence_flow(flow: FlowSpec) -> int:
    """Take over every transactional id of a flow and return how many there were; raises `ClusterFault`."""
    return asyncio.run(_fence(flow))


def fence_slot(flow: FlowSpec, slot: int) -> None:
    """Take over the transactional id of one share while the others go on; raises `ClusterFault`.

    Without transactions there is nothing to take over: a writer that was cut off stops by itself.
    """
    if flow.delivery is Guarantee.EXACTLY_ONCE:
        asyncio.run(_take_over(flow, transactional_id(flow, slot)))


async def _take_over(flow: FlowSpec, name: str) -> None:
    async with RawCluster(flow.target, client_id=flow.name) as target:
        await _end(target, name)
    logger.info("fenced flow=%s transactional_id=%s", flow.name, name)


async def _end(target: RawCluster, name: str) -> None:
    await check_leaders(target, await open_partitions(target, name))
    await init_producer_id(target, name)


async def _fence(flow: FlowSpec) -> int:
    async with RawCluster(flow.target, client_id=flow.name) as target:
        listed = await list_transactions(target, transactional_prefix(flow))
        found = [name for name in listed if is_share_of(flow, name)]
        for one in found:
            await _end(target, one)
    logger.info("fenced flow=%s transactional_ids=%d", flow.name, len(found))
    return len(found)
