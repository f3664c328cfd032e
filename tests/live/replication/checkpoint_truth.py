"""Every checkpoint that was ever written, beside what the copied records and the offset syncs say is true."""

from collections.abc import Collection
from dataclasses import asdict, dataclass, field

from jobs.replication.checkpoints.topic import TOPIC_ID_HEADER
from jobs.wire.mirror_records import decode_checkpoint, decode_offset_sync
from tests.live.batches.placed import read_placed

# A sync is read by the next round; what is older than this was there for any.
SETTLED_MS = 2_000


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


def examine(west, topics: tuple[str, str, str], groups: Collection[str]) -> Figures:
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
