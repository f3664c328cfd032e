"""Make sure that nobody writes for a flow any more, before its positions are read.

A task that was cut off may still be alive somewhere. Its transactional id is taken over here: what it
left open is aborted, on every partition that it wrote to (`ending`), and whatever it sends later is
refused. Where nobody leads such a partition, that has to wait: `LeaderMoved`.
"""

from __future__ import annotations

import asyncio
import logging

from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.transaction_list import describe_transaction, list_transactions
from jobs.cluster.protocol.data.transactions import ProducerIdentity, init_producer_id
from jobs.cluster.protocol.errors import Denied
from jobs.replication.copy.batches.produce.transaction_markers import (
    TransactionCompletion,
    complete_markers_with_retries,
)
from jobs.replication.flow.spec import FlowSpec, Guarantee

# Who takes over knows where to tell the end again only now: it waits for whatever is just missing.
PATIENCE_S = 60.0

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
    last = await describe_transaction(target, name)
    nobody = ProducerIdentity(-1, -1)
    before = (
        await TransactionCompletion(target, name, nobody).require_leaders(last.partitions)
        if last.is_open
        else None
    )
    ends = TransactionCompletion(target, name, await init_producer_id(target, name))
    if last.partitions:
        commit = last.is_committed is True
        await complete_markers_with_retries(
            ends, last.partitions, before, commit=commit, patience_s=PATIENCE_S
        )


async def _fence(flow: FlowSpec) -> int:
    async with RawCluster(flow.target, client_id=flow.name) as target:
        try:
            listed = await list_transactions(target, transactional_prefix(flow))
        except Denied as fault:
            # Only a flow that was exactly once before could have left a transaction open.
            if flow.delivery is Guarantee.EXACTLY_ONCE:
                raise
            logger.warning("flow=%s transactional ids were not listed: %s", flow.name, fault)
            listed = []
        found = [name for name in listed if is_share_of(flow, name)]
        for one in found:
            await _end(target, one)
    logger.info("fenced flow=%s transactional_ids=%d", flow.name, len(found))
    return len(found)
