"""Records of spans, read by a task in whole batches and taken apart into columns.

One thread has the connections; it fetches the next bytes while the task works on those before.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType

from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault, TimedOut
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.fetch import FetchedPartition, FetchPosition, fetch
from jobs.cluster.protocol.data.fetch_format import FetchLimits
from jobs.cluster.protocol.data.offsets import EARLIEST, list_offsets
from jobs.cluster.protocol.errors import LeaderMoved, OffsetOutOfRange
from jobs.files import cache_folder
from jobs.spark.analyses.records.chunks import BatchColumns, Chunk, Outcome
from jobs.spark.analyses.records.ranges import PIECE_OFFSETS, Span
from jobs.spark.analyses.records.tries import Tries
from jobs.wire.batches.hashes import checksum
from jobs.wire.batches.record_batch import (
    HEADER_BYTES,
    BatchHeader,
    ControlType,
    control_type,
    iterate_batches,
)
from jobs.wire.errors import BatchError, RecordFormatError
from jobs.wire.rebatch.columns import record_columns
from jobs.wire.values import id_text

CLIENT_ID = "analysis"
STEP_BYTES = 4 << 20
# Of so many bytes of batches records are taken apart at once.
_CHUNK_BYTES = 1 << 20
_WAIT_MS = 200
# So many batches that cannot be read are listed of a span; all are counted.
MOST_UNREADABLE = 20
# An answer without records, where the log begins behind the span.
_NOTHING = FetchedPartition(memoryview(b""), None, None, None, None, (), None, None, None)


@dataclass(frozen=True, slots=True)
class Reading:
    """How spans are read: `connections` by the argument that names the cluster.

    `bytes_per_s` is what one task may read of a cluster. `hash_keys`, `hash_records`: see `RecordColumns`.
    `only_headers`: records are not expanded; chunks have no records, but `BatchColumns.checksums`.
    `uncommitted`: those of `connections` of which aborted records are read, too. `unit_offsets`: so many
    offsets of small works are one task; what a task answers goes through the memory of Java at once.
    """

    connections: Mapping[str, Connection]
    read_committed: bool = True
    bytes_per_s: float = 50e6
    hash_keys: bool = False
    hash_records: bool = False
    only_headers: bool = False
    uncommitted: frozenset[str] = frozenset()
    unit_offsets: int = PIECE_OFFSETS


class Clusters:
    """The connections of a task, in a thread of their own; a context manager."""

    def __init__(self, reading: Reading) -> None:
        os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / "numba"))
        self.reading = reading
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="records", daemon=True)
        self._clusters: dict[str, RawCluster] = {}
        self._due: dict[str, float] = {}

    def __enter__(self) -> Clusters:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        async def close() -> None:
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            for cluster in self._clusters.values():
                cluster.close()

        asyncio.run_coroutine_threadsafe(close(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    async def cluster(self, side: str) -> RawCluster:
        """Return the door to the cluster of an argument."""
        if side not in self._clusters:
            connection = self.reading.connections[side]
            self._clusters[side] = RawCluster(connection, client_id=CLIENT_ID)
        return self._clusters[side]

    async def wait(self, side: str) -> bool:
        """Wait until the next bytes of a cluster may be asked for; returns whether that took time."""
        left_s = self._due.get(side, 0.0) - self.loop.time()
        if left_s > 0:
            await asyncio.sleep(left_s)
        return left_s > 0

    def count(self, side: str, size: int, throttle_ms: int) -> None:
        """Note bytes that were read, and how long the broker's quota forbids more (KIP-219)."""
        now = self.loop.time()
        paid = max(self._due.get(side, 0.0), now) + size / self.reading.bytes_per_s
        self._due[side] = max(paid, now + throttle_ms / 1000)


class SpanReader:
    """Yields the chunks of a span, once; `outcome` is complete when they are at their end.

    A fault of one partition (deleted, created again, READ withdrawn) ends the chunks and is in `outcome`; a
    cluster that does not answer raises `ClusterFault`. The other attributes are first and last offsets of
    batches. `left_out`: markers and aborted ones since the chunk before, while a chunk is held. `aborted`:
    yielded ones of aborted transactions; `undecided`: of those whose end was not read, by producer.
    """

    def __init__(self, clusters: Clusters, span: Span) -> None:
        self.span = span
        self.outcome = Outcome(span.start)
        self.left_out: list[tuple[int, int]] = []
        self.aborted: list[tuple[int, int]] = []
        self.undecided: dict[int, list[tuple[int, int]]] = {}
        self._clusters = clusters
        self._chunks = self._read()

    def __iter__(self) -> Iterator[Chunk]:
        return self._chunks

    def _read(self) -> Iterator[Chunk]:
        position, end = self.span.start, self.span.end
        coming = self._begin(position) if position < end else None
        try:
            while coming is not None:
                answer = coming.result()
                coming = None
                batches = list(iterate_batches(answer.records))
                # Without a batch the log begins behind the span now.
                after = min(max(position, batches[-1][0].next_offset), end) if batches else end
                if after < end:
                    coming = self._begin(after)
                yield from self._chunks_of(answer, batches, position)
                position = self.outcome.position = after
        except ClusterFault as fault:
            if fault.retriable:
                raise
            self.outcome.fault = fault.message
        except RecordFormatError as error:
            self.outcome.fault = f"It cannot be read from offset {position:,} on: {error}."
        finally:
            if coming is not None:
                coming.cancel()

    def _begin(self, position: int) -> Future[FetchedPartition]:
        return asyncio.run_coroutine_threadsafe(self._fetch(position), self._clusters.loop)

    async def _fetch(self, position: int) -> FetchedPartition:
        """Return an answer with a batch at least; raises `ClusterFault`."""
        side, where = self.span.side, self.span.where
        tries = Tries(cluster := await self._clusters.cluster(side))
        while True:
            if await self._clusters.wait(side):
                tries = Tries(cluster)
            try:
                found = await self._ask(cluster, position)
            except OffsetOutOfRange:
                position = await self._behind_removed(cluster, position)
                if position >= self.span.end:
                    return _NOTHING
                continue
            except ClusterFault as fault:
                await tries.after(fault)
                await self._look_again(cluster)
                continue
            if found.records:
                return found
            text = f"Reading {where}: nothing came from offset {position:,} on."
            await tries.after(TimedOut(text, cluster=cluster.alias))

    async def _look_again(self, cluster: RawCluster) -> None:
        """Read the metadata again; while no broker answers, the next try has the fault and its budget."""
        try:
            await cluster.metadata([self.span.topic], newer_than=await cluster.metadata())
        except ClusterFault as fault:
            if not fault.retriable:
                raise

    async def _ask(self, cluster: RawCluster, position: int) -> FetchedPartition:
        where = self.span.where
        metadata = await cluster.metadata([where.topic])
        topic, partition = metadata.topics[where.topic], metadata.partition(where)
        if topic.error is not None:
            raise topic.error
        if self.span.topic_id and topic.topic_id and id_text(topic.topic_id) != self.span.topic_id:
            raise ClusterFault("The topic was deleted and re-created.", cluster=cluster.alias)
        if partition is None or partition.leader is None:
            raise LeaderMoved(f"Reading {where}: it has no leader now.", cluster=cluster.alias)
        asked = FetchPosition(
            where.topic,
            topic.topic_id,
            where.partition,
            position,
            partition.leader_epoch,
            max_bytes=STEP_BYTES,
        )
        reading = self._clusters.reading
        is_committed = reading.read_committed and self.span.side not in reading.uncommitted
        limits = FetchLimits(_WAIT_MS, 1, STEP_BYTES, is_committed)
        answer = await fetch(cluster, partition.leader, [asked], limits)
        found = answer.partitions.get(where)
        size = len(found.records) if found is not None else 0
        self._clusters.count(self.span.side, size, answer.throttle_ms)
        self.outcome.bytes += size
        if found is None:
            raise LeaderMoved(f"Reading {where}: no answer.", cluster=cluster.alias)
        if found.error is not None:
            raise found.error
        return found

    async def _behind_removed(self, cluster: RawCluster, position: int) -> int:
        """Return where the log begins now, after a position that it no longer has."""
        where = self.span.where
        listed = (await list_offsets(cluster, {where: EARLIEST}, read_committed=False))[where]
        if isinstance(listed, ClusterFault):
            raise listed
        start = listed.offset or 0
        if start <= position:
            text = f"Its log ends before offset {position:,} now: it was truncated."
            raise ClusterFault(text, cluster=cluster.alias)
        self.outcome.removed += min(start, self.span.end) - position
        return start

    def _chunks_of(
        self, answer: FetchedPartition, batches: list[tuple[BatchHeader, memoryview]], position: int
    ) -> Iterator[Chunk]:
        kept, size = list[tuple[BatchHeader, memoryview]](), 0
        for header, batch in self._data(answer, batches, position):
            kept.append((header, batch))
            size += len(batch)
            if size >= _CHUNK_BYTES:
                yield from self._opened(kept)
                kept, size, self.left_out = [], 0, []
        if kept:
            yield from self._opened(kept)
            self.left_out = []

    def _data(
        self, answer: FetchedPartition, batches: list[tuple[BatchHeader, memoryview]], position: int
    ) -> Iterator[tuple[BatchHeader, memoryview]]:
        """Yield batches without markers, without aborted ones and without those outside of the span."""
        coming = sorted(answer.aborted, key=lambda one: one.first_offset, reverse=True)
        aborting: set[int] = set()
        for header, batch in batches:
            if header.base_offset >= self.span.end:
                return
            while coming and coming[-1].first_offset <= header.last_offset:
                aborting.add(coming.pop().producer_id)
            if header.is_control:
                self.left_out.append((header.base_offset, header.last_offset))
                self._end_transaction(header.producer_id, batch, aborting)
            elif header.is_transactional and header.producer_id in aborting:
                inside = min(header.next_offset, self.span.end) - max(header.base_offset, position)
                self.outcome.aborted += max(0, min(inside, header.record_count))
                self.left_out.append((header.base_offset, header.last_offset))
            elif header.record_count > 0 and position <= header.last_offset:
                if header.is_transactional:
                    own = header.base_offset, header.last_offset
                    self.undecided.setdefault(header.producer_id, []).append(own)
                yield header, batch

    def _end_transaction(self, producer: int, marker: memoryview, aborting: set[int]) -> None:
        ended = self.undecided.pop(producer, [])
        if control_type(marker) is ControlType.ABORT:
            aborting.discard(producer)
            self.aborted += ended

    def _opened(self, kept: list[tuple[BatchHeader, memoryview]]) -> Iterator[Chunk]:
        if self._clusters.reading.only_headers:
            sums = [checksum(batch[HEADER_BYTES:]) for _, batch in kept]
            self.outcome.records += sum(header.record_count for header, _ in kept)
            yield Chunk(BatchColumns([header for header, _ in kept], sums), None)
            return
        try:
            yield self._chunk(kept)
        except RecordFormatError as error:
            if len(kept) > 1:
                # Each alone: only the bad one is left out, and large ones may expand further.
                for one in kept:
                    yield from self._opened([one])
                return
            self.outcome.unreadable_count += 1
            if len(self.outcome.unreadable) < MOST_UNREADABLE:
                offset = error.offset if isinstance(error, BatchError) else kept[0][0].base_offset
                self.outcome.unreadable.append((offset, error.problem))

    def _chunk(self, kept: list[tuple[BatchHeader, memoryview]]) -> Chunk:
        reading = self._clusters.reading
        records = record_columns(
            [batch for _, batch in kept],
            hash_keys=reading.hash_keys,
            hash_records=reading.hash_records,
        )
        offsets, start, end = records.offsets, self.span.start, self.span.end
        if len(offsets) and not start <= offsets[0] <= offsets[-1] < end:
            records = records.only((offsets >= start) & (offsets < end))
        self.outcome.records += len(records)
        return Chunk(BatchColumns([header for header, _ in kept]), records)


@contextlib.contextmanager
def read_span(reading: Reading, span: Span) -> Iterator[SpanReader]:
    """Open a span outside of Spark: for one that is short."""
    with Clusters(reading) as clusters:
        yield SpanReader(clusters, span)
