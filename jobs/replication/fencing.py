"""Make sure that nobody writes for a flow any more, before its positions are read.

A task that was cut off may still be alive somewhere. Its transactional id is taken over here: what it
left open is aborted, and whatever it sends later is refused.
"""

from __future__ import annotations

import asyncio
import logging

from jobs.cluster.raw.cluster import RawCluster
from jobs.cluster.raw.transaction_list import list_transactions
from jobs.cluster.raw.transactions import init_producer_id
from jobs.replication.flow import FlowSpec

logger = logging.getLogger(__name__)


def transactional_prefix(flow: FlowSpec) -> str:
    """Return what the transactional ids of a flow begin with."""
    return f"crosslog.{flow.source.alias}.{flow.name}."


def transactional_id(flow: FlowSpec, slot: int) -> str:
    """Return the transactional id of one share of a flow."""
    return f"{transactional_prefix(flow)}{slot}"


def fence_flow(flow: FlowSpec) -> int:
    """Take over every transactional id of a flow and return how many there were; raises `ClusterFault`."""
    return asyncio.run(_fence(flow))


async def _fence(flow: FlowSpec) -> int:
    async with RawCluster(flow.target, client_id=flow.name) as target:
        found = await list_transactions(target, transactional_prefix(flow))
        for one in found:
            await init_producer_id(target, one)
    logger.info("fenced flow=%s transactional_ids=%d", flow.name, len(found))
    return len(found)
