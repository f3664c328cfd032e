"""Ends the stall after min.insync.replicas was lowered: nothing else moves the high watermark for up to 30 s.

A produce request with acks=all that waits keeps its connection to itself, and the new setting alone makes
no broker look at the high watermark again; the next thing that is appended does (measured).
What is appended here is the marker of a transaction that is aborted and has no records: consumers never see
it, it takes one offset. Source: KIP-98 (control batches); kafka.cluster.Partition.maybeIncrementLeaderHW.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.transactions import add_partitions_to_txn, end_txn, init_producer_id
from jobs.cluster.read_only import refuse_when_read_only

_TRANSACTION_MS = 10_000
_BUDGET_S = 10.0


async def end_stall(cluster: RawCluster, partitions: Collection[TopicPartition]) -> None:
    """Append an empty, aborted transaction to each of these partitions, from a connection of its own.

    Needs WRITE on the topics and on the transactional ids `crosslog-stall-*`, and that
    `__transaction_state` can be written. Raises `ClusterFault`, `ReadOnly`.
    """
    if not partitions:
        return
    refuse_when_read_only(cluster.alias, "Ending the stall")
    name = f"crosslog-stall-{uuid.uuid4().hex[:12]}"
    identity = await init_producer_id(
        cluster, name, transaction_timeout_ms=_TRANSACTION_MS, budget_s=_BUDGET_S
    )
    await add_partitions_to_txn(cluster, name, identity, partitions, budget_s=_BUDGET_S)
    await end_txn(cluster, name, identity, commit=False, budget_s=_BUDGET_S)
