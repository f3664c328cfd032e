"""What a failover reads and writes in the real clusters: offsets, groups, last checkpoints, offset syncs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from jobs.cluster.admin.groups import (
    alter_group_offsets,
    delete_group_offsets,
    describe_groups,
    read_group_offsets,
)
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.errors import ClusterFault, Refused, TimedOut, UnknownTopicOrPartition
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.transport.timing import RetryBudget, Timing
from jobs.replication.checkpoints.topic import read_checkpoint_topic
from jobs.replication.failover.applying import DestinationGroups, Offsets
from jobs.replication.failover.read_evidence import Known
from jobs.replication.flow.selection import policy_of
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.offset_syncs.archive import translator_of
from jobs.replication.offset_syncs.archive_manifest import GapKind
from jobs.replication.offset_syncs.follower import CLIENT_ID, SyncsPlace, place_of
from jobs.replication.offset_syncs.reader import Step, SyncsReader
from jobs.replication.offset_syncs.sync_rows import SyncTable, joined_tables, sync_table
from jobs.replication.translation.translator import Translator


@contextmanager
def open_groups(connection: Connection, *, timeout_s: float = 10.0) -> Iterator[DestinationGroups]:
    """Open a client for as long as the block lasts."""
    with ClusterClient(connection, timeout_s=timeout_s) as client:
        yield DestinationGroups(
            describe=lambda group: describe_groups(client, [group])[group],
            committed=partial(_committed, client),
            alter=partial(alter_group_offsets, client),
            delete=partial(delete_group_offsets, client),
        )


def _committed(client: ClusterClient, group: str) -> Offsets:
    found = read_group_offsets(client, [group])
    if group not in found.committed:
        raise TimedOut(
            f"The offsets of group {group} could not be read: {found.errors.get(group, '')}",
            cluster=client.connection.alias,
        )
    return {w: one for w, one in found.committed[group].items() if one.offset is not None}


SOURCE = "the last checkpoints on the target"


def read_last_checkpoints(flow: FlowSpec, *, timeout_s: float = 10.0) -> Known:
    """Return the source offsets of all groups that have checkpoints; raises `ClusterFault`.

    `at_ms` is when the newest of them was written. A checkpoint is never ahead of its group, so resuming at
    there skips nothing.
    """
    policy = policy_of(flow)
    with ClusterClient(flow.target, timeout_s=timeout_s) as client:
        found = read_checkpoint_topic(client, policy.checkpoints_topic(flow.source.alias))
    committed: dict[str, dict[TopicPartition, CommittedOffset]] = {}
    newest_ms = 0
    for (group, where), kept in found.checkpoints.items():
        topic = policy.upstream_topic(where.topic)
        if topic is not None:
            offset = CommittedOffset(kept.checkpoint.upstream_offset, kept.checkpoint.metadata)
            committed.setdefault(group, {})[TopicPartition(topic, where.partition)] = offset
            newest_ms = max(newest_ms, kept.timestamp_ms or 0)
    return Known(committed, newest_ms, SOURCE)


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
