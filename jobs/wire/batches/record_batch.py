"""The frame of a record batch, magic 2: its 61 header bytes, its CRC, and changes of the header.

Source: KIP-98 and org.apache.kafka.common.record.DefaultRecordBatch. The CRC covers everything from the
attributes to the end, so base offset and leader epoch can change without it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from jobs.wire.batches.hashes import advance, checksum
from jobs.wire.batches.varints import read_varint, read_varlong
from jobs.wire.errors import (
    ControlBatch,
    Damaged,
    HasDeleteHorizon,
    NotDense,
    OldMagic,
    RecordFormatError,
)

HEADER_BYTES = 61
CRC_FROM = 21
MAGIC = 2

COMPRESSION_MASK = 0x07
TIMESTAMP_TYPE_MASK = 0x08
TRANSACTIONAL_MASK = 0x10
CONTROL_MASK = 0x20
DELETE_HORIZON_MASK = 0x40

# Numbers from here on are no offsets of any log; below, sums of two still fit into 64 bits.
HIGHEST_OFFSET = 1 << 62

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_LEADER_EPOCH = -1
NO_TIMESTAMP = -1

# The base offset and the length itself: what the length does not count.
_BEFORE_LENGTH_ENDS = 12
_MAGIC_AT = 16
# A message of magic 0 without key and value; nothing shorter was ever legal.
_SHORTEST_LENGTH = 14

_HEADER = struct.Struct(">qiibIhiqqqhii")
_OUTSIDE_CRC = struct.Struct(">qiibI")
_INSIDE_CRC = struct.Struct(">hiqqqhii")
_OFFSET_AND_LENGTH = struct.Struct(">qi")
_CONTROL_KEY = struct.Struct(">hh")


class Codec(IntEnum):
    """Compression of the records of a batch, by its number in the attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


# By number: to ask the enumeration takes longer than all else that is done with a header.
CODECS = tuple(Codec)


class ControlType(IntEnum):
    """What a control batch says; `OTHER` is one of the quorum's, or from a newer Kafka."""

    ABORT = 0
    COMMIT = 1
    OTHER = -1


class BatchHeader(NamedTuple):
    """The header's fields in their order. A named tuple: a frozen dataclass takes 4 times as long to make.

    -1 means absent in `partition_leader_epoch`, `producer_id`, `producer_epoch`, `base_sequence`
    and the timestamps (ms since 1970). With a delete horizon, `base_timestamp` is that horizon.
    """

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @classmethod
    def decode(cls, batch: bytes | memoryview) -> BatchHeader:
        """Read the first 61 bytes; raises `RecordFormatError` when there are fewer. Checks nothing else."""
        if len(batch) < HEADER_BYTES:
            raise RecordFormatError("record batch", f"{len(batch)} bytes are not a header")
        return cls._make(_HEADER.unpack_from(batch))

    def encode(self) -> bytes:
        """Return the 61 bytes; raises struct.error when a field is outside its range."""
        return _HEADER.pack(*self)

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole batch, header included."""
        return self.batch_length + _BEFORE_LENGTH_ENDS

    @property
    def last_offset(self) -> int:
        """The last offset that belongs to the batch, also when compaction dropped its record."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """The offset to fetch next."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> Codec:
        """Compression of the records; raises `Damaged` for a number without meaning."""
        number = self.attributes & COMPRESSION_MASK
        if number > Codec.ZSTD:
            raise Damaged(self.base_offset, f"has the unknown compression {number}")
        return CODECS[number]

    @property
    def is_transactional(self) -> bool:
        """Whether a transaction's end decides about the records."""
        return bool(self.attributes & TRANSACTIONAL_MASK)

    @property
    def is_control(self) -> bool:
        """Whether the batch is a marker, never data."""
        return bool(self.attributes & CONTROL_MASK)

    @property
    def is_log_append_time(self) -> bool:
        """Whether every record's time is `max_timestamp`, set by the broker."""
        return bool(self.attributes & TIMESTAMP_TYPE_MASK)

    @property
    def has_delete_horizon(self) -> bool:
        """Whether the cleaner has set the time when tombstones go."""
        return bool(self.attributes & DELETE_HORIZON_MASK)

    @property
    def is_dense(self) -> bool:
        """Whether every offset of the batch has its record, as brokers demand from a producer."""
        return self.last_offset_delta + 1 == self.record_count

    @property
    def is_claimable(self) -> bool:
        """Whether `claim_batch` takes it: data, dense, not empty, without a delete horizon."""
        return (
            not self.attributes & (CONTROL_MASK | DELETE_HORIZON_MASK)
            and self.last_offset_delta + 1 == self.record_count > 0
        )


def iterate_batches(buffer: bytes | memoryview) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Yield each whole batch of a Fetch response or a segment: its header and a view of all its bytes.

    A last batch that is cut off is left out, as brokers cut where the size of the answer ends. Raises
    `OldMagic` where a message set begins that is older than batches, `Damaged` for a length or a magic
    that cannot be. The CRC is not looked at.
    """
    view = memoryview(buffer)
    at, end = 0, len(view)
    unpack, make = _HEADER.unpack_from, BatchHeader._make
    while end - at >= HEADER_BYTES:
        header = make(unpack(view, at))
        after = at + header.batch_length + _BEFORE_LENGTH_ENDS
        # One comparison each for what is nearly always so; the reasons are found out on the side.
        if header.magic != MAGIC or after - at < HEADER_BYTES or header.base_offset < 0:
            _refuse(view[at:])
            return
        if after > end:
            return
        yield header, view[at:after]
        at = after
    _refuse(view[at:])


def whole_header(batch: bytes | memoryview) -> BatchHeader:
    """Return the header of bytes that must be exactly one batch; raises `OldMagic` and `Damaged`."""
    if len(batch) >= HEADER_BYTES:
        header = BatchHeader.decode(batch)
        if header.magic == MAGIC and header.size_bytes == len(batch) and header.base_offset >= 0:
            return header
    _refuse(batch)
    offset = int.from_bytes(batch[:8], "big", signed=True)
    raise Damaged(offset, f"has {len(batch)} bytes, which is not its length")


def has_possible_offsets(header: BatchHeader) -> bool:
    """Say whether a log can hold the batch; its base offset is not covered by the CRC."""
    return 0 <= header.base_offset <= header.last_offset < HIGHEST_OFFSET


def has_valid_crc(batch: bytes | memoryview) -> bool:
    """Say whether the batch is as its producer sent it; base offset and leader epoch are not covered."""
    return checksum(batch[CRC_FROM:]) == int.from_bytes(batch[CRC_FROM - 4 : CRC_FROM], "big")


def verify_crc(batch: bytes | memoryview) -> None:
    """Raise `Damaged` when the CRC is not that of the bytes."""
    if not has_valid_crc(batch):
        header = BatchHeader.decode(batch)
        found = checksum(batch[CRC_FROM:])
        raise Damaged(header.base_offset, f"has the CRC {header.crc:08x} over bytes of {found:08x}")


def claim_batch(
    batch: bytes | memoryview,
    *,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    transactional: bool,
) -> bytes:
    """Return new header bytes that make a batch of somebody else's a producer's own.

    The base offset becomes 0, the leader epoch absent, the transactional bit as asked; compression and
    timestamp type stay. The body is not read: the CRC is the old one, patched by the difference of the
    headers. So a batch that was damaged stays damaged, and the broker refuses it; a fresh CRC would hide
    the damage for ever.

    Raises what makes a batch unfit: `OldMagic`, `ControlBatch`, `NotDense`, `HasDeleteHorizon`, `Damaged`
    when the length is not that of the bytes.
    """
    header = whole_header(batch)
    if not header.is_claimable:
        raise _unclaimable(header)
    bit = TRANSACTIONAL_MASK if transactional else 0
    inside = _INSIDE_CRC.pack(
        header.attributes & ~TRANSACTIONAL_MASK | bit,
        *header[6:9],
        producer_id,
        producer_epoch,
        base_sequence,
        header.record_count,
    )
    difference = checksum(inside) ^ checksum(batch[CRC_FROM:HEADER_BYTES])
    crc = header.crc ^ advance(difference, len(batch) - HEADER_BYTES)
    return _OUTSIDE_CRC.pack(0, header.batch_length, NO_LEADER_EPOCH, MAGIC, crc) + inside


def control_type(batch: bytes | memoryview) -> ControlType:
    """Return what a control batch marks.

    Raises `Damaged` for a batch without the bit or without a readable key. Source: ControlRecordType; the
    key is a version (INT16, any) and a type (INT16).
    """
    header = whole_header(batch)
    if not header.is_control or header.codec is not Codec.NONE:
        raise Damaged(header.base_offset, "is not a control batch, which is never compressed")
    try:
        number = _control_number(batch[HEADER_BYTES:])
    except (RecordFormatError, struct.error):
        raise Damaged(header.base_offset, "is a control batch without a readable key") from None
    return ControlType(number) if number in {0, 1} else ControlType.OTHER


def _control_number(records: bytes | memoryview) -> int:
    _, at = read_varint(records, 0)
    _, at = read_varlong(records, at + 1)  # behind a byte of attributes: the timestamp delta
    _, at = read_varint(records, at)
    length, at = read_varint(records, at)
    number: int = _CONTROL_KEY.unpack_from(records[at : at + max(length, 0)])[1]
    return number


def _unclaimable(header: BatchHeader) -> RecordFormatError:
    if header.is_control:
        return ControlBatch(header.base_offset)
    if header.has_delete_horizon:
        return HasDeleteHorizon(header.base_offset)
    return NotDense(header.base_offset, header.last_offset_delta + 1, header.record_count)


def _refuse(rest: bytes | memoryview) -> None:
    """Raise for the beginning of something that is not a batch; too few bytes to tell are no error."""
    if len(rest) <= _MAGIC_AT:
        return
    offset, length = _OFFSET_AND_LENGTH.unpack_from(rest)
    magic = rest[_MAGIC_AT]
    if length < _SHORTEST_LENGTH or offset < 0:
        raise Damaged(offset, f"cannot have this offset, or the length {length}")
    if magic < MAGIC:
        # As with batches: the last one of an answer may be cut off, and is no error then.
        if length + _BEFORE_LENGTH_ENDS <= len(rest):
            raise OldMagic(offset, magic)
        return
    if magic > MAGIC or length + _BEFORE_LENGTH_ENDS < HEADER_BYTES:
        raise Damaged(offset, f"has the magic {magic} and the length {length}")
