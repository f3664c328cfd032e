"""ListOffsets, and the two things that only reading records tells: timestamps and the end of data."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Mapping
from typing import TypeAlias

from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import OffsetRange, TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.committed_batches import (
    UNKNOWN_S,
    CommittedBatch,
    Take,
    read_committed_batches,
)
from jobs.cluster.protocol.data.offsets import (
    EARLIEST,
    LATEST,
    NEWEST,
    ListedOffset,
    list_offsets,
)
from jobs.cluster.protocol.data.open_transactions import Found, find_open_transactions

MARKER_RANGE = 50
_READING = "Reading offsets"

_Listed: TypeAlias = Mapping[TopicPartition, ListedOffset | ClusterFault]


def read_offset_ranges(
    client: ClusterClient, partitions: Collection[TopicPartition], *, with_timestamps: bool
) -> dict[TopicPartition, OffsetRange]:
    """Return the offsets of every requested partition, errors included.

    The offsets of a partition are requested at the same moment but answered one after the other; a
    log that moves in between is read as `log_start_offset <= end_offset <= high_watermark`.
    Partitions that are unknown or without a leader are requested again, for at most a second.

    Raises `ClusterFault` when there is no metadata.
    """

    async def ask(cluster: RawCluster) -> dict[TopicPartition, OffsetRange]:
        def asked(moment: int, *, read_committed: bool) -> Awaitable[_Listed]:
            return list_offsets(
                cluster,
                dict.fromkeys(partitions, moment),
                read_committed=read_committed,
                budget_s=client.timeout_s,
                unknown_s=UNKNOWN_S,
            )

        # The metadata are read once for all of them.
        await cluster.metadata({where.topic for where in partitions})
        start, end, high, *newest = await asyncio.gather(
            asked(EARLIEST, read_committed=False),
            asked(LATEST, read_committed=True),
            asked(LATEST, read_committed=False),
            *((asked(NEWEST, read_committed=True),) if with_timestamps else ()),
        )
        youngest: _Listed = newest[0] if newest else {}
        return {
            where: _range(start[where], end[where], high[where], youngest.get(where))
            for where in partitions
        }

    return client.ask(_READING, ask) if partitions else {}


def read_open_transactions(client: ClusterClient, partitions: Collection[TopicPartition]) -> Found:
    """Return which transaction holds the last stable offset of each partition; raises `ClusterFault`."""
    return client.ask(
        "Looking for open transactions",
        lambda cluster: find_open_transactions(cluster, partitions, budget_s=client.timeout_s),
    )


def read_timestamp_at(
    client: ClusterClient, offsets: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int | None]:
    """Return the timestamp (ms) of the first committed record at or after an offset.

    None: there is no such record, or it could not be read within the budget.
    """
    found: dict[TopicPartition, int | None] = dict.fromkeys(offsets)

    def take(where: TopicPartition, batch: CommittedBatch | None, _position: int) -> bool:
        first = next(batch.places(), None) if batch else None
        if first is not None:
            found[where] = first[1] if first[1] >= 0 else None
        return batch is None or first is not None

    _read_from(client, offsets, take)
    return found


def read_last_timestamp(
    client: ClusterClient, ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int | None]:
    """Return the timestamp (ms) of the last committed record before `end` per partition.

    Not the largest one that ListOffsets tells: on a topic with transactions that may be a marker's, which
    is no record. At most the last 50 offsets are read. None: no record is among them, or it has no
    timestamp, or it could not be read within the budget.
    """
    found: dict[TopicPartition, int | None] = dict.fromkeys(ends)

    def take(where: TopicPartition, batch: CommittedBatch | None, _position: int) -> bool:
        if batch is None or batch.header.base_offset >= ends[where]:
            return True
        for offset, timestamp_ms in batch.places():
            if offset < ends[where]:
                found[where] = timestamp_ms if timestamp_ms >= 0 else None
        return batch.header.next_offset >= ends[where]

    # One record and its marker first: fifty large records are a lot to read.
    for width in (2, MARKER_RANGE):
        unknown = [where for where, end in ends.items() if end > 0 and found[where] is None]
        _read_from(client, {where: max(ends[where] - width, 0) for where in unknown}, take)
    return found


def read_data_end(
    client: ClusterClient, ranges: Mapping[TopicPartition, tuple[int, int]]
) -> dict[TopicPartition, int]:
    """Return the offset after the last committed record in `(from, end)` per partition.

    Transaction markers (and aborted records) take offsets but are no data: a reader that has
    everything would seem to lag behind them for ever. At most the last 50 offsets are read; a
    partition that could not be read in time keeps its `end`.
    """
    starts = {
        w: max(first, end - MARKER_RANGE) for w, (first, end) in ranges.items() if end > first
    }
    ends = {where: end for where, (_, end) in ranges.items()}
    data_end = dict(starts)

    def take(where: TopicPartition, batch: CommittedBatch | None, _position: int) -> bool:
        if batch is None or batch.header.base_offset >= ends[where]:
            return True
        last = batch.last_offset_below(ends[where])
        if last is not None:
            data_end[where] = last + 1
        return batch.header.next_offset >= ends[where]

    unread = _read_from(client, starts, take)
    return {
        where: end if where in unread else data_end.get(where, end) for where, end in ends.items()
    }


def _read_from(
    client: ClusterClient, starts: Mapping[TopicPartition, int], take: Take
) -> Mapping[TopicPartition, ClusterFault | None]:
    """Read partitions from given offsets until `take` says enough; return those it never did for."""
    if not starts:
        return {}
    return client.ask(
        "Reading records",
        lambda cluster: read_committed_batches(cluster, starts, take, budget_s=client.timeout_s),
    )


def _range(
    start: ListedOffset | ClusterFault,
    end: ListedOffset | ClusterFault,
    high: ListedOffset | ClusterFault,
    newest: ListedOffset | ClusterFault | None,
) -> OffsetRange:
    known = []
    for one in (start, end, high):
        if isinstance(one, ClusterFault):
            return OffsetRange(error=one.message)
        known.append(one.offset or 0)
    first, last, watermark = known
    return OffsetRange(
        log_start_offset=first,
        end_offset=max(last, first),
        high_watermark=max(watermark, last, first),
        max_timestamp_ms=newest.timestamp_ms if isinstance(newest, ListedOffset) else None,
    )
