"""Headers of offset syncs by which a reader knows that none is missing.

Compaction drops syncs, and MirrorMaker 2 writes only some. The first of the syncs of a partition that are
written together has, in its headers, the pair synced before it and the number of syncs; they have
consecutive offsets of the topic. Where a reader finds that, no sync is missing between two of them, so every
record between has the difference of the first. MirrorMaker 2 does not look at headers.

One record may also encode several syncs: a chain in its headers begins with the pair synced before it, and
has those between that one and the record's own.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
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
from jobs.wire.batches.varints import encode_varlong, read_varlong
from jobs.wire.errors import RecordFormatError
from jobs.wire.mirror_records import OffsetSync, encode_offset_sync
from jobs.wire.rebatch.table import Int64s

FOLLOWS_HEADER = "crosslog.follows"
TOGETHER_HEADER = "crosslog.together"
CHAIN_HEADER = "crosslog.chain"
# A chain is short: more syncs are written as records.
LONGEST_CHAIN_BYTES = 16 * 1024
# All chains of one record batch together; a batch with more is damaged. They hold 4 million syncs at most.
LARGEST_CHAINS_BYTES = 8 * 1024 * 1024
HIGHEST = 1 << 62
# Decimal digits of a number in a note; with more it is none.
MOST_DIGITS = 18

Pair = tuple[int, int]


def link_headers(follows: Pair | None, together: int) -> Headers:
    """Return the headers of the first of `together` syncs; `follows` None: the pair before is unknown."""
    found: list[tuple[bytes, bytes | None]] = []
    if follows is not None:
        found.append((FOLLOWS_HEADER.encode(), b"%d:%d" % follows))
    if together > 1:
        found.append((TOGETHER_HEADER.encode(), b"%d" % together))
    return tuple(found)


def chain_header(chain: Sequence[Pair]) -> Headers:
    """Return the header of a sync that encodes all pairs of a chain but the first, and its own."""
    return ((CHAIN_HEADER.encode(), encode_chain(chain)),)


def encode_chain(chain: Sequence[Pair]) -> bytes:
    """Return pairs as the value of a header: the first one, then of each how much both offsets grew.

    Numbers are varlongs; the second offset is written as its growth minus that of the first.
    """
    found = [encode_varlong(chain[0][0]), encode_varlong(chain[0][1])]
    for before, pair in pairwise(chain):
        grown = pair[0] - before[0]
        found += [encode_varlong(grown), encode_varlong(pair[1] - before[1] - grown)]
    return b"".join(found)


def decode_chain(value: object) -> tuple[Pair, ...]:
    """Return the pairs that `encode_chain` wrote; none where the bytes are something else.

    Both offsets of each are at least 0 and higher than those of the one before.
    """
    if not isinstance(value, bytes) or len(value) > LONGEST_CHAIN_BYTES:
        return ()
    found: list[Pair] = []
    at, upstream, downstream = 0, 0, 0
    try:
        while at < len(value):
            grown, at = read_varlong(value, at)
            more, at = read_varlong(value, at)
            upstream, downstream = upstream + grown, downstream + more + (grown if found else 0)
            is_higher = not found or (upstream > found[-1][0] and downstream > found[-1][1])
            if (
                not is_higher
                or min(upstream, downstream) < 0
                or max(upstream, downstream) >= HIGHEST
            ):
                return ()
            found.append((upstream, downstream))
    except RecordFormatError:
        return ()
    return tuple(found)


class Note(NamedTuple):
    """Headers of a sync: the pair synced before it (None: not known), and how many come together.

    `chain` is the value of that header.
    """

    follows: Pair | None = None
    together: int = 1
    chain: object = None


class SyncLinks:
    """Says of each sync, in the order of their topic, which one it follows; keeps one number a topic."""

    def __init__(self) -> None:
        self._where: Hashable = None
        self._last: Pair | None = None
        self._next_offset = 0
        self._left = 0

    def told(
        self, at: int, where: Hashable, pair: Pair, headers: object = None
    ) -> list[tuple[Pair, Pair | None]]:
        """Return what a record tells, in order: pairs, its own last, each with the one told right before.

        None: that is not known. `at` is the record's own offset. The answer holds only where the reader's
        last sync of this partition is the pair that the first one follows.
        """
        note = note_of(headers)
        if note is None:
            is_next = self._left > 0 and (where, at) == (self._where, self._next_offset)
            note = Note(self._last, self._left) if is_next else Note()
        chain = decode_chain(note.chain)
        if chain and chain[-1][0] < pair[0] and chain[-1][1] < pair[1]:
            note = Note(chain[-1])
        else:
            chain = ()
        self._where, self._last = where, pair
        self._next_offset, self._left = at + 1, max(0, note.together - 1)
        return [*((change, before) for before, change in pairwise(chain)), (pair, note.follows)]

    def follows(self, at: int, where: Hashable, pair: Pair, headers: object = None) -> Pair | None:
        """Return the pair synced right before a record's own, see `told`."""
        return self.told(at, where, pair, headers)[-1][1]


def chain_bytes(headers: Headers) -> int:
    """Return how long the chain is that counts of a record in a batch, sound or not; 0 without any."""
    values = [value for name, value in headers if name == _CHAIN]
    return len(values[-1] or b"") if values else 0


def note_of(headers: object) -> Note | None:
    """Return what headers say, as the client library gives them or from a batch; None: nothing of this.

    Of several headers of one name the last counts; what cannot be read counts as absent. But a sync with a
    chain, even a bad one, does not follow the record before it only by its place.
    """
    values: dict[bytes, bytes] = {}
    chain: object = None
    is_chained = False
    for name, value in headers if isinstance(headers, list | tuple) else ():
        raw = name.encode("utf-8", "replace") if isinstance(name, str) else name
        if raw == _CHAIN:
            is_chained, chain = True, value
        elif raw in _NAMES and isinstance(value, bytes):
            values[raw] = value
    if not values and not is_chained:
        return None
    upstream, _, downstream = values.get(_NAMES[0], b"").partition(b":")
    pair = (_decimal(upstream), _decimal(downstream))
    together = _decimal(values.get(_NAMES[1], b""))
    follows = None if pair[0] is None or pair[1] is None else (pair[0], pair[1])
    return Note(follows, 1 if together is None else together, chain)


_NAMES = (FOLLOWS_HEADER.encode(), TOGETHER_HEADER.encode())
_CHAIN = CHAIN_HEADER.encode()


def _decimal(value: bytes) -> int | None:
    return int(value) if value.isdigit() and len(value) <= MOST_DIGITS else None


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

    There is no Python object for each: a partition whose log was compacted owes a sync for every gap,
    hundreds of thousands a second. Compressed (lz4) where that is worth it: neighbours differ in a few bytes.
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
    # The end of a record is the number of headers, a zero byte.
    table[:, -1 - _VALUE_BYTES : -1] = pairs.astype(">i8").view(np.uint8).reshape(len(pairs), -1)
    return table.tobytes()


def _delta_bytes(delta: int) -> int:
    return 1 + sum(delta >= limit for limit in _LONGER_AT)
