"""Whole batches of real clusters: written as given, fetched as stored, and read record by record."""

import asyncio
import contextlib
import os
import random
from collections.abc import Iterable, Iterator, Sequence

from confluent_kafka import Producer

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.fetch import FetchedPartition, FetchPosition, fetch
from jobs.cluster.protocol.data.fetch_format import FetchLimits
from jobs.cluster.protocol.data.produce import BatchBytes, ProducedPartition, produce
from jobs.wire.batches.record_batch import (
    HEADER_BYTES,
    Codec,
    ControlType,
    control_type,
    iterate_batches,
)
from jobs.wire.batches.records import PlacedRecord, encode_batch, placed_records
from tests.jobs.cluster.protocol.batches import CONTROL, fields_of, split
from tests.live.topics import ANSWER_S, partitions_of
from tests.waiting import eventually, eventually_async

LIMITS = FetchLimits(max_wait_ms=500, min_bytes=1, max_bytes=50 << 20, read_committed=True)
FOLLOW_S = 60.0
NOW = 1_750_000_000_000
DAY = 86_400_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
ODD_HEADERS = (
    (b"a", b"1"),
    (b"a", None),
    (b"a", b"1"),
    (b"", b"x"),
    (b"\xff\xfe", b"\x00"),
    (b"trace", b""),
)
COMPACTED = {
    "cleanup_policy": "compact",
    "segment_ms": "100",
    "min_cleanable_dirty_ratio": "0.01",
    "max_compaction_lag_ms": "100",
    "delete_retention_ms": "86400000",
}


def opened(connection, **settings) -> RawCluster:
    return RawCluster(connection, client_id="live-test", **settings)


async def position(cluster, where: TopicPartition, offset: int = 0, **fields) -> FetchPosition:
    """Return a position with what the metadata knows of its partition."""
    metadata = await cluster.metadata([where.topic])
    topic = metadata.topics[where.topic]
    known = {"leader_epoch": topic.partitions[where.partition].leader_epoch, "max_bytes": 10 << 20}
    return FetchPosition(where.topic, topic.topic_id, where.partition, offset, **(known | fields))


async def fetch_once(
    cluster, where, offset=0, *, broker_id=None, limits=LIMITS, **fields
) -> FetchedPartition:
    """Read a partition once, from its leader or another broker."""
    one = await position(cluster, where, offset, **fields)
    if broker_id is None:
        broker_id = (await cluster.metadata([where.topic])).leader(where)
    answer = await fetch(cluster, broker_id, [one], limits)
    return answer.partitions[where]


async def fetch_at(cluster, where, offset=0, **settings) -> FetchedPartition:
    """Read a partition; a broker may know a new topic or leader a moment later than the metadata."""

    async def attempt() -> FetchedPartition:
        one = await fetch_once(cluster, where, offset, **settings)
        if one.error is not None and one.error.retriable:
            raise one.error
        return one

    return await follow(cluster, where, attempt)


async def fetch_all(cluster, where, *, read_committed=True) -> list[memoryview]:
    """Return every batch of a partition up to its end, markers included."""
    limits = LIMITS._replace(read_committed=read_committed)
    found: list[memoryview] = []
    offset = 0
    while True:
        one = await fetch_at(cluster, where, offset, limits=limits)
        if one.error:
            raise one.error
        end = one.last_stable_offset if read_committed else one.high_watermark
        found += split(one.records)
        offset = next_offset(found[-1]) if found else 0
        if offset >= end:
            return found


async def settle(cluster, *places: TopicPartition) -> None:
    """Wait until no transaction is open: EndTxn is answered before the markers are written."""
    for where in places:

        async def is_settled(where=where) -> bool:
            one = await fetch_at(cluster, where)
            return one.last_stable_offset == one.high_watermark

        await follow(cluster, where, is_settled)


def next_offset(batch: memoryview) -> int:
    fields = fields_of(batch)
    return fields[0] + fields[6] + 1


def data_of(batches: list[memoryview]) -> list[memoryview]:
    """Leave transaction markers out."""
    return [batch for batch in batches if not fields_of(batch)[5] & CONTROL]


async def write(cluster, where, batch, *, transactional_id=None) -> ProducedPartition:
    """Write one batch to the leader of its partition, following it when it moves."""

    async def attempt() -> ProducedPartition:
        leader = (await cluster.metadata([where.topic])).leader(where)
        answer = await produce(
            cluster,
            leader or 0,
            {where: batch},
            transactional_id=transactional_id,
            timeout_ms=10_000,
        )
        one = answer.partitions[where]
        if one.error is not None and one.error.retriable:
            raise one.error
        return one

    return await follow(cluster, where, attempt)


async def follow(cluster, where, attempt):
    """Try with fresh metadata until there is a true answer; a fault that stays is raised."""

    async def answer():
        try:
            return await attempt()
        except ClusterFault as fault:
            if fault.retriable:
                with contextlib.suppress(ClusterFault):  # the next try says what stays
                    await cluster.metadata(newer_than=await cluster.metadata())
            raise

    answer.__qualname__ = f"{attempt.__qualname__} for {where}"
    return await eventually_async(answer, FOLLOW_S, every=0.05)


def read_placed(cluster, topic: str, *, committed: bool = True) -> dict[int, list[PlacedRecord]]:
    """Return the records of every partition, as a reader of this isolation sees them."""

    async def read() -> dict[int, list[PlacedRecord]]:
        async with opened(cluster.connection) as door:
            return {
                partition: await _read(door, TopicPartition(topic, partition), committed=committed)
                for partition in range(partitions_of(cluster, topic))
            }

    return asyncio.run(read())


async def _read(door: RawCluster, where: TopicPartition, *, committed: bool) -> list[PlacedRecord]:
    found: list[PlacedRecord] = []
    offset = 0
    limits = LIMITS._replace(read_committed=committed, max_wait_ms=0)
    while True:
        one = await fetch_at(door, where, offset, limits=limits)
        if one.error is not None and (one.log_start_offset or 0) > offset:
            offset = one.log_start_offset
            continue
        assert one.error is None, one.error
        before = offset
        for record_or_end in _seen(one):
            if isinstance(record_or_end, PlacedRecord):
                found += [record_or_end] if record_or_end.offset >= before else []
            else:
                offset = max(offset, record_or_end)
        end = one.last_stable_offset if committed else one.high_watermark
        if offset >= end or offset == before:
            assert offset >= end, f"{where} ends at {end}, but nothing comes after {offset}"
            return found


def _seen(one: FetchedPartition) -> Iterator[PlacedRecord | int]:
    """Yield the records that a reader sees, and after each batch the offset behind it."""
    aborted = sorted(one.aborted, key=lambda pair: pair.first_offset)
    ending: set[int] = set()
    for header, batch in iterate_batches(one.records):
        while aborted and aborted[0].first_offset <= header.last_offset:
            ending.add(aborted.pop(0).producer_id)
        if header.is_control:
            if control_type(batch) is ControlType.ABORT:
                ending.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in ending):
            yield from placed_records(batch)
        yield header.next_offset


def record(
    at: int,
    value: bytes | None = b"value",
    key: bytes | None = b"key",
    *,
    headers: tuple = (),
    timestamp: int | None = None,
) -> PlacedRecord:
    """Return a record for a batch of our own; its offset counts from the batch's first."""
    return PlacedRecord(at, NOW + at if timestamp is None else timestamp, key, value, headers)


def numbered(count: int, size: int = 20, first: int = 0) -> list[PlacedRecord]:
    return [record(n, b"%d " % (first + n) + b"x" * size, b"k%d" % (n % 7)) for n in range(count)]


def write_batches(
    cluster, topic: str, partition: int, batches: Iterable[Sequence[PlacedRecord]], **fields
) -> None:
    """Write batches as they are given, each as one batch of the log."""

    async def go() -> None:
        where = TopicPartition(topic, partition)
        async with opened(cluster.connection) as door:
            for records in batches:
                made = encode_batch(list(records), **fields)
                batch = BatchBytes(made[:HEADER_BYTES], made[HEADER_BYTES:])
                done = await write(door, where, batch)
                assert done.error is None, done

    asyncio.run(go())


class Transactions:
    """A transactional producer that writes numbered values."""

    def __init__(self, cluster, topic: str, **settings) -> None:
        self.topic = topic
        self.name = f"tx-{os.urandom(6).hex()}"
        self._producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap_servers,
                "transactional.id": self.name,
                "linger.ms": 0,
                # On a busy machine one may be open for longer than the usual minute.
                "transaction.timeout.ms": 600_000,
                **settings,
            }
        )
        self._producer.init_transactions(ANSWER_S)
        self.count = 0

    def begin(self) -> None:
        self._producer.begin_transaction()

    def write(self, count: int, partition: int = 0) -> None:
        for _ in range(count):
            value = f"{self.name} {self.count}".encode()
            self._producer.produce(self.topic, value, b"key", partition=partition)
            self.count += 1
        assert self._producer.flush(ANSWER_S) == 0

    def end(self, *, commit: bool) -> None:
        if commit:
            self._producer.commit_transaction(ANSWER_S)
        else:
            self._producer.abort_transaction(ANSWER_S)


def interleave(cluster, topic: str, partition: int, rounds: int = 12, seed: int = 1, **settings):
    """Write by two transactional producers at the same time, some of whose transactions are aborted."""
    chance = random.Random(seed)
    writers = [Transactions(cluster, topic, **settings) for _ in range(2)]
    is_open = [False, False]
    for _ in range(rounds):
        at = chance.randrange(2)
        if not is_open[at]:
            writers[at].begin()
            is_open[at] = True
        writers[at].write(chance.randrange(1, 30), partition)
        if chance.random() < 0.6:
            writers[at].end(commit=chance.random() < 0.6)
            is_open[at] = False
    for at in range(2):
        if is_open[at]:
            writers[at].end(commit=bool(at))


def make_gaps(cluster, topic: str, rounds: int = 6) -> None:
    """Write to a compacted topic (see `COMPACTED`) and wait until its cleaner has made gaps."""
    written = 0
    for turn in range(rounds):
        # Segments end by the timestamps of their records, so every turn has a segment of its own.
        at = NOW + 1000 * turn
        batches = [
            [
                record(n, b"%d-%d" % (turn, n), b"k%d" % (n * (turn + 1) % 40), timestamp=at)
                for n in range(30)
            ]
            for _ in range(5)
        ]
        write_batches(cluster, topic, 0, batches, codec=Codec.ZSTD if turn % 2 else Codec.NONE)
        written += 150
    write_batches(cluster, topic, 0, [[record(0, None, b"k1", timestamp=NOW + 1000 * rounds)]])

    def is_cleaned() -> bool:
        """Only the last segment, of one record, may repeat a key: a later cleaning finds nothing more."""
        records = read_placed(cluster, topic)[0]
        keys = {record.key for record in records}
        return len(records) < written // 2 and len(records) <= len(keys) + 1

    eventually(is_cleaned, 90, every=0.5)
