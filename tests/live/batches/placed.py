"""Records of real clusters with their offsets, and whether two topics hold the same ones.

Read through the raw door and decoded record by record: header names may be any bytes, and nothing here goes
through the loops that re-batch.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence

from jobs.cluster.admin.topics import describe_topics, is_missing
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.fetch import FetchedPartition
from jobs.wire.batches.record_batch import ControlType, control_type, iterate_batches
from jobs.wire.batches.records import PlacedRecord, placed_records
from jobs.wire.mirror_records import decode_offset_sync
from jobs.wire.topics.sync_links import CHAIN_HEADER, decode_chain
from tests.live.cluster_protocol.raw import LIMITS, fetch_at, opened

Content = tuple[bytes | None, bytes | None, tuple, int]
Pairs = list[tuple[int, int]]


def read_placed(cluster, topic: str, *, committed: bool = True) -> dict[int, list[PlacedRecord]]:
    """Return the records of every partition, as a reader of this isolation sees them."""

    async def read() -> dict[int, list[PlacedRecord]]:
        async with opened(cluster.connection) as door:
            return {
                partition: await _read(door, TopicPartition(topic, partition), committed=committed)
                for partition in range(partitions_of(cluster, topic))
            }

    return asyncio.run(read())


def partitions_of(cluster, topic: str) -> int:
    with ClusterClient(cluster.connection, timeout_s=60) as client:
        described = describe_topics(client, [topic])[0]
    assert described.error is None or is_missing(described), described.error
    return len(described.partitions)


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


def content(record: PlacedRecord) -> Content:
    return record.key, record.value, record.headers, record.timestamp


def read_syncs(cluster, syncs_topic: str, topic: str) -> dict[int, Pairs]:
    """Return the offset syncs of a source topic, by partition, in the order in which they were written.

    One may stand for others that come before it, see `jobs.wire.topics.sync_links`.
    """
    found: dict[int, Pairs] = {}
    for record in read_placed(cluster, syncs_topic)[0]:
        sync = decode_offset_sync(record.key, record.value)
        if sync.topic == topic:
            pair = (sync.upstream_offset, sync.downstream_offset)
            chains = [value for name, value in record.headers if name == CHAIN_HEADER.encode()]
            others = decode_chain(chains[0])[1:] if chains else ()
            found.setdefault(sync.partition, []).extend((*others, pair))
    return found


def translation(pairs: Pairs) -> Callable[[int], int | None]:
    """Return what a reader of all syncs says: between two neighbours the difference is constant.

    A pair at or before one that was read earlier replaces everything from there on.
    """
    kept: Pairs = []
    for pair in pairs:
        while kept and kept[-1][0] >= pair[0]:
            kept.pop()
        kept.append(pair)

    def translate(upstream: int) -> int | None:
        before = _tail(kept, upstream)
        return before[0][1] + upstream - before[0][0] if before else None

    return translate


def _tail(kept: Pairs, upstream: int) -> Pairs:
    low, high = 0, len(kept)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if kept[middle][0] <= upstream else (low, middle)
    return kept[low - 1 : low] if low else []


def assert_equal(
    source: Mapping[int, Sequence[PlacedRecord]], target: Mapping[int, Sequence[PlacedRecord]]
) -> None:
    """Compare record by record: key, value, headers, timestamp, order, partition."""
    assert source.keys() == target.keys()
    for partition in source:
        wanted = [content(record) for record in source[partition]]
        found = [content(record) for record in target[partition]]
        if wanted != found:
            raise AssertionError(_difference(partition, source[partition], target[partition]))


def _difference(
    partition: int, source: Sequence[PlacedRecord], target: Sequence[PlacedRecord]
) -> str:
    same = 0
    for one, other in zip(source, target, strict=False):
        if content(one) != content(other):
            break
        same += 1
    return (
        f"partition {partition}: {len(source)} records on the source, {len(target)} on the target; the first "
        f"{same} are equal, then source {source[same : same + 1]} target {target[same : same + 1]}"
    )


def assert_mapped(
    source: Mapping[int, Sequence[PlacedRecord]],
    target: Mapping[int, Sequence[PlacedRecord]],
    syncs: Mapping[int, Pairs],
) -> None:
    """Compare what the syncs say about every source record with where it really is."""
    for partition, records in source.items():
        translate = translation(syncs.get(partition, []))
        for record, copied in zip(records, target[partition], strict=True):
            said = translate(record.offset)
            assert said == copied.offset, (partition, record.offset, said, copied.offset)
