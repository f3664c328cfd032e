"""One side of a partition: the newest records, each as a hash with its time in it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.data.offsets import EARLIEST, LATEST
from jobs.spark.analyses.offsets.backtesting.truth import Int64s, Side
from jobs.spark.analyses.records.ranges import Span, list_moments
from jobs.spark.analyses.records.reading import Clusters, Reading, SpanReader
from jobs.wire.rebatch.table import HASH_FACTOR

_SIDE = "side"


@dataclass(frozen=True, slots=True)
class SideRecords:
    """The records of one side; `found` has rows of offsets, times (ms) and hashes of content.

    `has_own_times`: the broker has put its own times into some of them.
    """

    span: Span
    found: Int64s
    has_own_times: bool = False

    def side(self, *, with_times: bool) -> Side:
        """Return it for `truth.align`; `with_times`: a record with another time is another one."""
        offsets, times, hashes = self.found
        if with_times:
            hashes = (hashes ^ (times * HASH_FACTOR)) * HASH_FACTOR
        return Side(offsets, hashes, self.span.start, self.span.end, self.span.is_cut)


def read_side(
    connection: Connection, where: TopicPartition, most: int, *, read_committed: bool
) -> SideRecords:
    """Return the newest records of a partition, those of at most so many offsets.

    What is there when it begins is read, no more. Raises `ClusterFault`. Memory: 24 bytes a record.
    """
    span = _span(connection, where, most, read_committed=read_committed)
    reading = Reading({_SIDE: connection}, read_committed, math.inf, hash_records=True)
    parts = [np.empty((3, 0), np.int64)]
    has_own_times = False
    with Clusters(reading) as clusters:
        reader = SpanReader(clusters, span)
        for chunk in reader:
            has_own_times |= bool(chunk.batches.are_log_append_time.any())
            records = chunk.records
            if records is not None:
                parts.append(np.array((records.offsets, records.times, records.record_hashes)))
    outcome = reader.outcome
    why = outcome.fault or ", ".join(f"offset {at:,}: {text}" for at, text in outcome.unreadable)
    if why:
        raise ClusterFault(f"Reading {where}: {why}", cluster=connection.alias)
    return SideRecords(span, np.concatenate(parts, axis=1), has_own_times)


def _span(
    connection: Connection, where: TopicPartition, most: int, *, read_committed: bool
) -> Span:
    with ClusterClient(connection, timeout_s=30) as client:
        start, end = (
            list_moments(client, {where: moment}, is_committed=read_committed)[where] or 0
            for moment in (EARLIEST, LATEST)
        )
    first = max(start, end - most)
    return Span(_SIDE, *where, first, end, start, end, is_cut=first > start)
