"""The records that crosslog writes for itself and for MirrorMaker 2's readers, as whole batches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.positions import (
    LAST_SYNC_HEADER,
    LEADER_EPOCH_HEADER,
    REMOTE_END_HEADER,
    UNTOLD_SYNCS_HEADER,
    Positions,
)
from jobs.replication.copy.positions_format import PositionKey, encode_position, encode_position_key
from jobs.wire.batches.murmur2 import partition_for_key
from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.topics.sync_links import encode_chain


@dataclass(frozen=True, slots=True)
class PositionNote:
    """A position to be written, with what is noted beside it; see `positions.Position`."""

    next_offset: int
    remote_end: int | None = None
    leader_epoch: int | None = None
    last_sync: tuple[int, int] | None = None
    untold_syncs: tuple[tuple[int, int], ...] = ()

    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """Return the notes as record headers; MirrorMaker 2 does not look at them."""
        found = []
        if self.remote_end is not None:
            found.append((REMOTE_END_HEADER.encode(), b"%d" % self.remote_end))
        if self.leader_epoch is not None and self.leader_epoch >= 0:
            found.append((LEADER_EPOCH_HEADER.encode(), b"%d" % self.leader_epoch))
        if self.last_sync is not None:
            found.append((LAST_SYNC_HEADER.encode(), b"%d:%d" % self.last_sync))
        if self.untold_syncs:
            found.append((UNTOLD_SYNCS_HEADER.encode(), encode_chain(self.untold_syncs)))
        return tuple(found)


def position_batches(
    notes: Mapping[TopicPartition, PositionNote],
    source_alias: str,
    known: Positions,
    partitions: int,
    now_ms: int,
) -> dict[int, bytes]:
    """Return one batch per partition of the positions topic, which has `partitions` of them.

    Keys that are on the topic already are written with the same bytes, because compaction compares
    bytes; each goes where the Java client puts it.
    """
    records: dict[int, list[PlacedRecord]] = defaultdict(list)
    for where, note in notes.items():
        entry = known.entry(where)
        key = entry.record_key if entry else encode_position_key(PositionKey(source_alias, where))
        batch = records[partition_for_key(key, partitions)]
        value = encode_position(note.next_offset)
        batch.append(PlacedRecord(len(batch), now_ms, key, value, note.headers()))
    return {partition: encode_batch(batch) for partition, batch in records.items()}
