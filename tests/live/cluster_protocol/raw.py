"""What the live tests do again and again with whole batches."""

import contextlib

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.fetch import FetchedPartition, FetchPosition, fetch
from jobs.cluster.protocol.data.fetch_format import FetchLimits
from jobs.cluster.protocol.data.produce import ProducedPartition, produce
from tests.jobs.cluster.protocol.batches import CONTROL, fields_of, split
from tests.waiting import eventually_async

LIMITS = FetchLimits(max_wait_ms=500, min_bytes=1, max_bytes=50 << 20, read_committed=True)
FOLLOW_S = 60.0


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
