"""The record batches of a log file one behind the other, and the way on behind a damaged one.

A batch's base offset, length and leader epoch are outside its CRC, so a flipped bit there is found by its
neighbours: lengths form a chain, offsets of the metadata log have no gaps, and epochs never fall.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

from jobs.wire.batches.batch_search import BatchSearch, ByteSource, is_plausible
from jobs.wire.batches.hashes import checksum
from jobs.wire.batches.record_batch import (
    CRC_FROM,
    HEADER_BYTES,
    MAGIC,
    BatchHeader,
    has_possible_offsets,
    has_valid_crc,
)

# A leader writes at most 8 MiB (KafkaRaftClient.MAX_BATCH_SIZE_BYTES): more is refused before it is read.
LARGEST_BATCH_BYTES = (8 << 20) + (1 << 16)
# Controllers do not compress (KafkaRaftClient appends with Compression.NONE), so this is for other programs'
# files; a few kilobytes that expand to megabytes of the shortest records would take seconds.
_MOST_EXPANDED = 50


class DamageKind(StrEnum):
    """What is wrong at a place of a log."""

    TRUNCATED_TAIL = "truncated_tail"
    ZERO_TAIL = "zero_tail"
    FOREIGN_MAGIC = "foreign_magic"
    BAD_HEADER = "bad_header"
    BAD_LENGTH = "bad_length"
    TOO_LARGE = "too_large"
    WRONG_CRC = "wrong_crc"
    WRONG_OFFSET = "wrong_offset"
    WRONG_EPOCH = "wrong_epoch"
    CUT_OFF = "cut_off"
    UNDECODABLE_BATCH = "undecodable_batch"
    UNREADABLE_FILE = "unreadable_file"
    UNUSABLE_SNAPSHOT = "unusable_snapshot"
    IMPOSSIBLE_TIME = "impossible_time"


# What the last segment of a log ends with after a kill, or where space is reserved: nothing is lost.
_TAILS = frozenset({DamageKind.TRUNCATED_TAIL, DamageKind.ZERO_TAIL})
# Damage that takes no record of the log away.
_LOSSLESS = _TAILS | {DamageKind.UNUSABLE_SNAPSHOT, DamageKind.IMPOSSIBLE_TIME}


_Problem = tuple[DamageKind, str] | None


@dataclass(frozen=True, slots=True)
class LogDamage:
    """A place that cannot be read, at byte `position` of its file.

    `offset` is the base offset found there, None where none can be trusted. `kind` is a `DamageKind`.
    `problem` is for people and says how far it reaches. `file` is the file's name, None for bytes alone.
    `expected` is the offset that comes next in the log there, None where it is not known.
    """

    position: int
    offset: int | None
    kind: DamageKind
    problem: str
    file: str | None = None
    expected: int | None = None

    @property
    def is_tail(self) -> bool:
        """Whether it is the unfinished end of a log that its node was writing: normal, and no damage."""
        return self.kind in _TAILS

    @property
    def may_lose_records(self) -> bool:
        """Whether records of the log may have been there."""
        return self.kind not in _LOSSLESS

    @property
    def sentence(self) -> str:
        """Where it is and what, for people."""
        if self.kind is DamageKind.IMPOSSIBLE_TIME:
            return self.problem
        return f"{self.file or 'the file'}, byte {self.position:,}: {self.problem}"


class BatchAt(NamedTuple):
    """A whole batch with a valid CRC, and the byte of its file where it begins."""

    position: int
    header: BatchHeader
    content: memoryview


def expansion_limit_bytes(header: BatchHeader) -> int:
    """Return to how many bytes the records of a compressed metadata batch may expand."""
    return min(LARGEST_BATCH_BYTES, _MOST_EXPANDED * header.size_bytes)


class BytesSource:
    """Bytes in memory as a source."""

    def __init__(self, content: bytes | memoryview) -> None:
        self._view = memoryview(content)

    @property
    def size_bytes(self) -> int:
        return len(self._view)

    def read(self, position: int, size: int) -> memoryview:
        """Return bytes from a position on."""
        return self._view[position : position + size]


def scan_batches(
    source: ByteSource,
    *,
    expected_offset: int | None = None,
    largest_bytes: int = LARGEST_BATCH_BYTES,
    start: int = 0,
    epoch: int | None = None,
) -> Iterator[BatchAt | LogDamage]:
    """Yield every sound batch in order and every damage where it is met.

    Offsets may have gaps, but a base offset below the one expected, or one that its follower belies, is
    damage, and so is an epoch. Behind damage the scan continues at the next batch that the chain of lengths
    leads to, or that a search with a bounded effort finds; where there is none, it ends. `expected_offset`
    is that of the first batch, where it is known, `start` the byte where that begins, and `epoch` that of the
    batch before it. Raises nothing of its own.
    """
    search = BatchSearch(source, largest_bytes)
    at, expected = start, expected_offset
    while at < source.size_bytes:
        found = _look(source, at, largest_bytes)
        if isinstance(found, BatchAt):
            header = found.header
            problem = _neighbour_problem(source, found, expected, epoch)
            if problem is None:
                expected, epoch = header.next_offset, header.partition_leader_epoch
                yield found
            else:
                yield LogDamage(at, header.base_offset, *problem, expected=expected)
            at += header.size_bytes
            continue
        behind = _behind(source, found, search, expected)
        yield replace(_told(found, behind, source.size_bytes), expected=expected)
        if behind is None:
            return
        at = behind


def _look(source: ByteSource, at: int, largest_bytes: int) -> BatchAt | LogDamage:
    """Return the batch at a byte, or why there is none."""
    left = source.size_bytes - at
    start = source.read(at, HEADER_BYTES)
    if len(start) < HEADER_BYTES:
        return LogDamage(at, None, DamageKind.TRUNCATED_TAIL, f"only {left} bytes are left")
    header = BatchHeader.decode(start)
    problem = _header_problem(header, start)
    if problem is not None:
        return LogDamage(at, None, *problem)
    problem = _size_problem(header, source, at, largest_bytes)
    if problem is not None:
        return LogDamage(at, header.base_offset, *problem)
    content = source.read(at, header.size_bytes)
    problem = _content_problem(header, content)
    if problem is not None:
        return LogDamage(at, header.base_offset, *problem)
    return BatchAt(at, header, content)


def _size_problem(header: BatchHeader, source: ByteSource, at: int, largest_bytes: int) -> _Problem:
    size, left = header.size_bytes, source.size_bytes - at
    if size > left:
        if left <= largest_bytes and checksum(source.read(at, left)[CRC_FROM:]) == header.crc:
            text = (
                f"the length is {header.batch_length}, but {left} bytes are left and have its CRC"
            )
            return DamageKind.BAD_LENGTH, text
        return DamageKind.TRUNCATED_TAIL, f"the batch has {size} bytes, {left} are left"
    if size > largest_bytes:
        return DamageKind.TOO_LARGE, f"the batch has {size} bytes, more than {largest_bytes}"
    return None


def _content_problem(header: BatchHeader, content: memoryview) -> _Problem:
    size = header.size_bytes
    if len(content) < size:
        return DamageKind.TRUNCATED_TAIL, f"only {len(content)} of the batch's {size} bytes came"
    if not has_valid_crc(content):
        text = f"the batch of {size} bytes has the CRC {header.crc}, which is not that of its bytes"
        return DamageKind.WRONG_CRC, text
    return None


def _header_problem(header: BatchHeader, start: memoryview) -> _Problem:
    if not any(start):
        return DamageKind.ZERO_TAIL, "there are zeros instead of a batch"
    if header.magic != MAGIC:
        return DamageKind.FOREIGN_MAGIC, f"the magic is {header.magic}, not {MAGIC}"
    if header.size_bytes < HEADER_BYTES:
        return DamageKind.BAD_LENGTH, f"the length is {header.batch_length}"
    if header.base_offset < 0 or header.last_offset_delta < 0 or header.record_count < 0:
        return DamageKind.BAD_HEADER, "an offset or a count is negative"
    if not has_possible_offsets(header):
        return DamageKind.BAD_HEADER, f"no log reaches to offset {header.last_offset}"
    return None


def _behind(
    source: ByteSource, damage: LogDamage, search: BatchSearch, expected: int | None
) -> int | None:
    """Return where reading continues after damage; None where nothing more can be found."""
    if damage.kind in (DamageKind.WRONG_CRC, DamageKind.TOO_LARGE):
        header = BatchHeader.decode(source.read(damage.position, HEADER_BYTES))
        after = damage.position + header.size_bytes
        if after == source.size_bytes or is_plausible(source.read(after, HEADER_BYTES), expected):
            return after
    return search.next_batch(damage.position + 1, expected)


def _told(damage: LogDamage, behind: int | None, size_bytes: int) -> LogDamage:
    kind = damage.kind
    if behind is not None and kind in (DamageKind.TRUNCATED_TAIL, DamageKind.ZERO_TAIL):
        # A tail has nothing behind it: then it is a length that cannot be.
        kind = DamageKind.BAD_LENGTH if kind is DamageKind.TRUNCATED_TAIL else DamageKind.BAD_HEADER
    lost = (size_bytes if behind is None else behind) - damage.position
    where = "to the end of the file" if behind is None else f"reading continues at byte {behind}"
    return LogDamage(
        damage.position,
        damage.offset,
        kind,
        f"{damage.problem}; {lost} bytes are left out, {where}",
    )


def _neighbour_problem(
    source: ByteSource, batch: BatchAt, expected: int | None, epoch: int | None
) -> _Problem:
    """Say whether base offset and epoch, which no CRC covers, fit between their neighbours."""
    text = _offset_problem(source, batch, expected)
    if text is not None:
        return DamageKind.WRONG_OFFSET, text
    text = _epoch_problem(source, batch, epoch)
    return None if text is None else (DamageKind.WRONG_EPOCH, text)


def _epoch_problem(source: ByteSource, batch: BatchAt, before: int | None) -> str | None:
    header = batch.header
    epoch = header.partition_leader_epoch
    if epoch == before:
        return None
    if before is not None and epoch < before:
        return f"the epoch is {epoch}, but {before} is in front of it, and epochs never fall"
    follower = source.read(batch.position + header.size_bytes, HEADER_BYTES)
    if not is_plausible(follower, header.next_offset):
        return None
    behind = BatchHeader.decode(follower)
    after = behind.partition_leader_epoch
    if after >= epoch or (before is not None and after < before):
        return None
    if before is None and _has_fallen(source, batch, behind):
        return None
    return f"the epoch is {epoch}, but {after} is behind it, and epochs never fall"


def _has_fallen(source: ByteSource, first: BatchAt, second: BatchHeader) -> bool:
    """Return whether the epoch of the second batch is the wrong one: the third is not below the first."""
    at = first.position + first.header.size_bytes + second.size_bytes
    third = source.read(at, HEADER_BYTES)
    if not is_plausible(third, second.next_offset):
        return False
    return BatchHeader.decode(third).partition_leader_epoch >= first.header.partition_leader_epoch


def _offset_problem(source: ByteSource, batch: BatchAt, expected: int | None) -> str | None:
    header = batch.header
    if header.base_offset == expected:
        return None
    if expected is not None and header.base_offset < expected:
        return f"the base offset is {header.base_offset}, but {expected} comes next"
    follower = source.read(batch.position + header.size_bytes, HEADER_BYTES)
    if not is_plausible(follower, None):
        return None
    next_offset = BatchHeader.decode(follower).base_offset
    if next_offset <= header.last_offset:
        return f"the base offset is {header.base_offset}, but {next_offset} comes behind it"
    if expected is not None and next_offset == expected + header.last_offset_delta + 1:
        return f"the base offset is {header.base_offset}, but its neighbours leave {expected} to it"
    return None
