"""The offset syncs of a flow straight from their topic: for a shell, and where there is no archive."""

from __future__ import annotations

import asyncio

from jobs.cluster.errors import ClusterFault, Refused, UnknownTopicOrPartition
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.transport.timing import RetryBudget, Timing
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.offset_syncs.archive import translator_of
from jobs.replication.offset_syncs.archive_manifest import GapKind
from jobs.replication.offset_syncs.follower import CLIENT_ID, SyncsPlace, place_of
from jobs.replication.offset_syncs.reader import Step, SyncsReader
from jobs.replication.offset_syncs.sync_rows import SyncTable, joined_tables, sync_table
from jobs.replication.translation.translator import Translator


def read_translator(flow: FlowSpec, *, timeout_s: float = 10.0) -> Translator:
    """Read every offset sync that is on the topic now; what compaction removed makes bounds wider.

    It answers as an archive does that read the topic today for the first time. Without the topic nothing is
    known. Raises `ClusterFault`, also for a flow that keeps no offset syncs.
    """
    place = place_of(flow)
    if place is None:
        raise Refused(
            f"The flow {flow.name} keeps no offset syncs, so nothing can be translated.",
            cluster=flow.target.alias,
            hint="Set offset_syncs of the flow to target or source.",
        )
    try:
        return asyncio.run(_read(place, timeout_s))
    except UnknownTopicOrPartition:
        return Translator()


async def _read(place: SyncsPlace, timeout_s: float) -> Translator:
    """Read up to the end of the topic when reading began: one that never pauses has no other."""
    timing = Timing(request_timeout_s=timeout_s, connect_timeout_s=timeout_s)
    tables, holes, end = list[SyncTable](), 0, None
    async with RawCluster(place.connection, client_id=CLIENT_ID, timing=timing) as cluster:
        reader = SyncsReader(cluster, place.topic)
        while True:
            step = await _step(reader, timeout_s)
            found = step.increment
            if found.gap is not None and found.gap.kind is GapKind.LOST:
                tables.clear()
            rows = found.rows._replace(hole=found.rows.hole + holes)
            tables.append(sync_table(found.names, rows))
            holes += found.holes
            end = await reader.end() if end is None else end
            if step.is_at_end or found.next_offset >= end:
                return translator_of(joined_tables(tables))


async def _step(reader: SyncsReader, timeout_s: float) -> Step:
    """Return what comes next, over new leaders."""
    tries = RetryBudget(reader.cluster.timing, timeout_s)
    while True:
        try:
            return await reader.step(wait_ms=0)
        except ClusterFault as fault:
            if not fault.retriable or not await tries.pause():
                raise
