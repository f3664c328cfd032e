"""Many offset syncs as one record batch, without a Python object for each.

A partition whose log was compacted owes a sync for every gap: hundreds of thousands a second.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from jobs.wire.batches.compression import compress
from jobs.wire.batches.record_batch import (
    MAGIC,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    BatchHeader,
    Codec,
)
from jobs.wire.batches.records import Headers, RawRecord, encode_raw, encode_rest, seal
from jobs.wire.mirror_records import OffsetSync, encode_offset_sync
from jobs.wire.rebatch.table import Int64s

_VALUE_BYTES = 16
# Where the form of the offset delta gets longer: zigzag takes a bit of each seven.
_LONGER_AT = (1 << 6, 1 << 13, 1 << 20, 1 << 27)
# Below this, compressing costs more than it saves.
_FEW_BYTES = 4096


class SyncGroup(NamedTuple):
    """Offset syncs of one source partition, in order.

    `pairs` are (upstream, downstream), one a row. `headers` belong to the record of the first pair.
    """

    topic: str
    partition: int
    pairs: Int64s
    headers: Headers = ()


def encode_sync_batch(groups: Iterable[SyncGroup], timestamp_ms: int) -> bytes:
    """Return offset syncs as one batch, without a producer; equal to encoding record by record.

    Compressed (lz4) where that is worth it: neighbours differ in a few bytes.
    """
    parts: list[bytes] = []
    count = 0
    for group in groups:
        parts += _records(group, count)
        count += len(group.pairs)
    body = b"".join(parts)
    codec = Codec.LZ4 if len(body) > _FEW_BYTES else Codec.NONE
    return seal(_header(count, timestamp_ms, codec), compress(codec, body))


def _header(count: int, timestamp_ms: int, codec: Codec) -> BatchHeader:
    return BatchHeader(
        base_offset=0,
        batch_length=0,
        partition_leader_epoch=NO_LEADER_EPOCH,
        magic=MAGIC,
        crc=0,
        attributes=codec,
        last_offset_delta=count - 1,
        base_timestamp=timestamp_ms,
        max_timestamp=timestamp_ms,
        producer_id=NO_PRODUCER_ID,
        producer_epoch=NO_PRODUCER_EPOCH,
        base_sequence=NO_SEQUENCE,
        record_count=count,
    )


def _records(group: SyncGroup, first: int) -> Iterable[bytes]:
    """Yield encoded records; `first` is the offset delta of the first."""
    pairs, end = group.pairs, first + len(group.pairs)
    if group.headers and len(pairs):
        yield _one(group, pairs[0], first, group.headers)
        pairs, first = pairs[1:], first + 1
    while first < end:
        until = min(end, next((at for at in _LONGER_AT if at > first), end))
        rows = until - first
        yield _alike(group, pairs[:rows], first)
        pairs, first = pairs[rows:], until


def _one(group: SyncGroup, pair: Int64s, delta: int, headers: Headers) -> bytes:
    return encode_raw(RawRecord(0, 0, delta, _rest(group, pair, headers)))


def _rest(group: SyncGroup, pair: Int64s, headers: Headers) -> bytes:
    sync = OffsetSync(group.topic, group.partition, int(pair[0]), int(pair[1]))
    return encode_rest(*encode_offset_sync(sync), headers)


def _alike(group: SyncGroup, pairs: Int64s, first: int) -> bytes:
    """Encode records whose offset deltas have the same length: then only these and the values differ."""
    model = np.frombuffer(_one(group, pairs[0], first, ()), np.uint8)
    table = np.tile(model, (len(pairs), 1))
    width = _delta_bytes(first)
    begin = len(model) - len(_rest(group, pairs[0], ())) - width
    deltas = np.arange(first, first + len(pairs), dtype=np.int64) << 1
    for at in range(width):
        more = 0x80 if at < width - 1 else 0
        table[:, begin + at] = ((deltas >> (7 * at)) & 0x7F) | more
    # At the end of a record stands the number of headers, a zero byte.
    table[:, -1 - _VALUE_BYTES : -1] = pairs.astype(">i8").view(np.uint8).reshape(len(pairs), -1)
    return table.tobytes()


def _delta_bytes(delta: int) -> int:
    return 1 + sum(delta >= limit for limit in _LONGER_AT)
