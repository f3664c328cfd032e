"""Follows the offset syncs of a flow into its archive, at most two seconds behind, until a stop.

It reads whichever topic the flow's settings name: on the target after the source, or on the source after the
target (KIP-716), also where MirrorMaker 2 writes it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.transport.timing import Backoff, Patience, Timing
from jobs.replication.flow.internal_topics import syncs_place
from jobs.replication.flow.spec import FlowSpec
from jobs.replication.offset_syncs.archive_writer import SyncArchive
from jobs.replication.offset_syncs.reader import Step, SyncsReader

CLIENT_ID = "offset-syncs"
# Small appends are gathered for so long: each makes files lasting, and the lag stays below two seconds.
GATHER_S = 1.5
# How often "everything is read" is written down while nothing comes.
REST_S = 5.0
LONG_PAUSE_S = 10.0


@dataclass(frozen=True, slots=True)
class SyncsPlace:
    """The topic of a flow's offset syncs, and the cluster that has it."""

    connection: Connection
    topic: str


@dataclass(frozen=True, slots=True)
class Heard:
    """How following went: `fault` is why the last request failed, None when it did not.

    `is_at_end`: everything that was in the topic is in the archive. `syncs` are those that it brought.
    """

    is_at_end: bool = False
    syncs: int = 0
    fault: ClusterFault | None = None


def place_of(flow: FlowSpec) -> SyncsPlace | None:
    """Return where the offset syncs of a flow are; None when it keeps none."""
    topic, is_on_source = syncs_place(flow)
    if topic is None:
        return None
    return SyncsPlace(flow.source if is_on_source else flow.target, topic)


def follow(
    place: SyncsPlace,
    archive: SyncArchive,
    stop: threading.Event,
    heard: Callable[[Heard], None] = lambda _: None,
) -> None:
    """Append what comes until `stop` is set; faults of the cluster are reported and retried, with pauses.

    `heard` is called after every request. Raises OSError when the archive cannot be written, and every fault
    that no further try ends (`Patience`).
    """
    # Who hears may ask a database or write a file: it is called between the requests, never inside the loop.
    with asyncio.Runner() as loop, _Reading(loop, place, archive) as reading:
        backoff, patience = Backoff(Timing()), Patience(waits_for_people=True)
        while not stop.is_set():
            try:
                step = reading.step()
            except ClusterFault as fault:
                heard(Heard(fault=fault))
                if patience.is_over(fault):
                    raise
                stop.wait(backoff.next_s() if fault.retriable else LONG_PAUSE_S)
                continue
            backoff.reset()
            patience.succeeded()
            keep(archive, step)
            heard(Heard(step.is_at_end, len(step.increment.rows.partition)))
            if step.is_at_end and len(step.increment.rows.partition):
                stop.wait(GATHER_S)


def catch_up(place: SyncsPlace, archive: SyncArchive) -> int:
    """Append everything up to the end of the topic as it is now; returns how many syncs that were.

    Raises `ClusterFault`.
    """
    return asyncio.run(_catch_up(place, archive))


class _Reading:
    """The connections of one follower, and the loop that they live in, entered for one request at a time."""

    def __init__(self, loop: asyncio.Runner, place: SyncsPlace, archive: SyncArchive) -> None:
        self._loop = loop
        self._cluster = RawCluster(place.connection, client_id=CLIENT_ID)
        self._reader = SyncsReader.after(self._cluster, place.topic, archive.manifest)

    def __enter__(self) -> Self:
        self._loop.run(self._cluster.__aenter__())
        return self

    def __exit__(self, *failed: object) -> None:
        self._loop.run(self._cluster.__aexit__(None, None, None))

    def step(self) -> Step:
        """Return what the next request brought; raises `ClusterFault`."""
        return self._loop.run(self._reader.step())


async def _catch_up(place: SyncsPlace, archive: SyncArchive) -> int:
    count = 0
    async with RawCluster(place.connection, client_id=CLIENT_ID) as cluster:
        reader = SyncsReader.after(cluster, place.topic, archive.manifest)
        while True:
            step = await reader.step(wait_ms=0)
            keep(archive, step)
            count += len(step.increment.rows.partition)
            if step.is_at_end:
                return count


def keep(archive: SyncArchive, step: Step) -> None:
    """Append what a step brought; when it brought nothing, only now and then that it was so."""
    increment, known = step.increment, archive.manifest
    is_news = (
        increment.next_offset != known.next_offset
        or increment.gap is not None
        or increment.source != known.source
        or bool(increment.refused)
    )
    seen_ms = known.read_at_ms or 0
    if is_news or (step.is_at_end and time.time() * 1000 - seen_ms > REST_S * 1000):
        archive.append(increment)
