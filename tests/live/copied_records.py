"""Whether what was copied is right: records, their offset syncs, and every checkpoint ever written."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field

from jobs.replication.checkpoints.topic import TOPIC_ID_HEADER
from jobs.wire.batches.records import PlacedRecord
from jobs.wire.mirror_records import decode_checkpoint, decode_offset_sync
from jobs.wire.topics.sync_links import CHAIN_HEADER, decode_chain
from tests.live.whole_batches import read_placed

Content = tuple[bytes | None, bytes | None, tuple, int]
Pairs = list[tuple[int, int]]
# A sync is read by the next round; what is older than this was there for any.
SETTLED_MS = 2_000


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


@dataclass
class Figures:
    """How many checkpoints there were, and how many of them were wrong, each in its way.

    `zero`: the first offset of the target, for a group that had read something. `skipping`: behind the first
    record that the group had not read. `behind`: before a place that a settled offset sync had proved.
    `falling`: before the last one of the same group and partition, which did not go back.
    """

    checkpoints: int = 0
    zero: int = 0
    skipping: int = 0
    behind: int = 0
    falling: int = 0
    without_id: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> dict[str, int]:
        counts = {name: n for name, n in asdict(self).items() if name != "examples"}
        return {name: n for name, n in counts.items() if n and name != "checkpoints"}

    def note(self, kind: str, example: object) -> None:
        setattr(self, kind, getattr(self, kind) + 1)
        if len(self.examples) < 20:
            self.examples.append(f"{kind}: {example}")


def examine_checkpoints(west, topics: tuple[str, str, str], groups: Collection[str]) -> Figures:
    """Return the figures of some groups; `topics` are those of records, offset syncs and checkpoints.

    The value of a record is its source offset, and everything up to the last one is copied.
    """
    remote, syncs_topic, checkpoints_topic = topics
    places = {p: _places(records) for p, records in read_placed(west, remote).items()}
    syncs = _syncs(west, syncs_topic, remote)
    figures, last = Figures(), {}
    for record in read_placed(west, checkpoints_topic)[0]:
        told = decode_checkpoint(record.key, record.value)
        if told.consumer_group_id not in groups or told.topic != remote:
            continue
        figures.checkpoints += 1
        upstream, downstream = told.upstream_offset, told.downstream_offset
        key = (told.consumer_group_id, told.partition)
        example = (*key, upstream, downstream)
        if upstream and not downstream:
            figures.note("zero", example)
        place = places[told.partition]
        if upstream < len(place) and downstream > place[upstream]:
            figures.note("skipping", (*example, place[upstream]))
        proved = [
            d
            for u, d, at in syncs.get(told.partition, ())
            if u <= upstream and at <= record.timestamp - SETTLED_MS
        ]
        if proved and downstream < proved[-1]:
            figures.note("behind", (*example, proved[-1]))
        before = last.get(key, (0, 0))
        if downstream < before[1] and upstream >= before[0]:
            figures.note("falling", (*example, before))
        last[key] = (upstream, downstream)
        figures.without_id += TOPIC_ID_HEADER.encode() not in dict(record.headers)
    return figures


def _places(records) -> list[int]:
    """Return the target offset of each source offset; every record is there once."""
    found = {int(record.value): record.offset for record in records}
    assert sorted(found) == list(range(len(records)))
    return [found[number] for number in range(len(found))]


def _syncs(west, syncs_topic: str, remote: str) -> dict[int, list[tuple[int, int, int]]]:
    found: dict[int, list[tuple[int, int, int]]] = {}
    for record in read_placed(west, syncs_topic)[0]:
        sync = decode_offset_sync(record.key, record.value)
        if remote.endswith(sync.topic):
            pair = (sync.upstream_offset, sync.downstream_offset, record.timestamp)
            found.setdefault(sync.partition, []).append(pair)
    return found
