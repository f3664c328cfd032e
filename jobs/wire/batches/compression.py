"""The four compressions of a batch's records, as Java's Kafka reads and writes them.

Source: the classes of org.apache.kafka.common.compress; for snappy's frame SnappyOutputStream of
xerial's snappy-java, for lz4's the LZ4 frame format 1.6. Raises `RecordFormatError` for bytes that are not
compressed, and `ExpandsTooFar`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO

import cramjam

from jobs.wire.batches.record_batch import Codec
from jobs.wire.errors import ExpandsTooFar, RecordFormatError

# What is larger than this is rare, and given back.
_KEPT_BYTES = 16 * 1024 * 1024


class _Scratch(threading.local):
    def __init__(self) -> None:
        self.rooms: dict[str, bytearray] = {}
        self.stream = BytesIO()


_scratch = _Scratch()


def room(use: str, size_bytes: int) -> memoryview:
    """Return memory of at least that size, with whatever was left in it.

    It holds until the same thread asks for the same use again: touching fresh pages can cost more than the
    work on them.
    """
    if size_bytes > _KEPT_BYTES:
        return memoryview(bytearray(size_bytes))
    kept = _scratch.rooms.get(use)
    if kept is None or len(kept) < size_bytes:
        # A new one instead of a longer one: somebody may still look at the old one.
        kept = _scratch.rooms[use] = bytearray(size_bytes)
    return memoryview(kept)


def joined(parts: Iterable[bytes | memoryview]) -> memoryview:
    """Return the parts one behind the other; it holds until the same thread asks again."""
    stream = _scratch.stream
    try:
        stream.seek(0)
        stream.writelines(parts)
    except BufferError:
        # An exception that is still held keeps the views of its frames alive.
        _scratch.stream = BytesIO()
        return joined(parts)
    size_bytes = stream.tell()
    if size_bytes > _KEPT_BYTES:
        _scratch.stream = BytesIO()
    return stream.getbuffer()[:size_bytes]


# What a reader expands at most when it says nothing else: far above any sane batch, below a worker's memory.
EXPANSION_LIMIT_BYTES = 128 * 1024 * 1024

_GZIP_LEVEL = 6
_ZSTD_LEVEL = 3

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + (1).to_bytes(4, "big") + (1).to_bytes(4, "big")
_XERIAL_BLOCK_BYTES = 32 * 1024

# Kafka's Java reader refuses blocks that depend on each other, which is what cramjam's own frames have. So
# the frame is made here: version 1, independent blocks of 64 KB, no checksums but the header's.
_LZ4_HEADER = b"\x04\x22\x4d\x18\x60\x40\x82"
_LZ4_BLOCK_BYTES = 64 * 1024
_LZ4_STORED = 0x80000000
_LZ4_END = bytes(4)

_FIRST_ROOM_BYTES = 1024 * 1024
_USUAL_RATIO = 8


def compress(codec: Codec, content: bytes | memoryview) -> bytes:
    """Return the content compressed at a fast level; with `Codec.NONE` its bytes as they are."""
    return _COMPRESS[codec](content)


def decompress(codec: Codec, content: bytes | memoryview, limit_bytes: int) -> bytes:
    """Return the content expanded, never more than `limit_bytes`; snappy also without its frame."""
    if codec is Codec.NONE:
        if len(content) > limit_bytes:
            raise ExpandsTooFar(codec.name.lower(), limit_bytes)
        return bytes(content)
    if codec is Codec.SNAPPY:
        return _expand_snappy(content, limit_bytes)
    return _expand(codec, content, limit_bytes)


def _compress_snappy(content: bytes | memoryview) -> bytes:
    parts = [_XERIAL_HEADER]
    for block in _blocks(content, _XERIAL_BLOCK_BYTES):
        packed = bytes(cramjam.snappy.compress_raw(block))
        parts += [len(packed).to_bytes(4, "big"), packed]
    return b"".join(parts)


def _compress_lz4(content: bytes | memoryview) -> bytes:
    parts: list[bytes | memoryview] = [_LZ4_HEADER]
    for block in _blocks(content, _LZ4_BLOCK_BYTES):
        packed = bytes(cramjam.lz4.compress_block(block, mode="fast", store_size=False))
        if len(packed) < len(block):
            parts += [len(packed).to_bytes(4, "little"), packed]
        else:
            parts += [(len(block) | _LZ4_STORED).to_bytes(4, "little"), block]
    return b"".join([*parts, _LZ4_END])


def _blocks(content: bytes | memoryview, size: int) -> Iterator[memoryview]:
    view = memoryview(content)
    for at in range(0, len(view), size):
        yield view[at : at + size]


_COMPRESS: dict[Codec, Callable[[bytes | memoryview], bytes]] = {
    Codec.NONE: bytes,
    Codec.GZIP: lambda content: bytes(cramjam.gzip.compress(content, level=_GZIP_LEVEL)),
    Codec.SNAPPY: _compress_snappy,
    Codec.LZ4: _compress_lz4,
    Codec.ZSTD: lambda content: bytes(cramjam.zstd.compress(content, level=_ZSTD_LEVEL)),
}
_EXPAND_INTO = {
    Codec.GZIP: cramjam.gzip.decompress_into,
    Codec.LZ4: cramjam.lz4.decompress_into,
    Codec.ZSTD: cramjam.zstd.decompress_into,
}


def _expand(codec: Codec, content: bytes | memoryview, limit_bytes: int) -> bytes:
    """Try with a room that is nearly always enough, then with larger ones up to the limit."""
    size = min(limit_bytes, max(_FIRST_ROOM_BYTES, _USUAL_RATIO * len(content)))
    while True:
        place = room("expanding", size)[:size]
        try:
            return bytes(place[: _EXPAND_INTO[codec](content, place)])
        except (cramjam.DecompressionError, OSError) as error:
            if "whole buffer" not in str(error):
                raise RecordFormatError(codec.name.lower(), str(error)) from None
        if size == limit_bytes:
            raise ExpandsTooFar(codec.name.lower(), limit_bytes)
        size = min(limit_bytes, 4 * size)


def _expand_snappy(content: bytes | memoryview, limit_bytes: int) -> bytes:
    if bytes(content[: len(_XERIAL_MAGIC)]) != _XERIAL_MAGIC:
        return _expand_snappy_block(content, limit_bytes, limit_bytes)
    parts = []
    left = limit_bytes
    for block in _xerial_blocks(memoryview(content)):
        parts.append(_expand_snappy_block(block, left, limit_bytes))
        left -= len(parts[-1])
    return b"".join(parts)


def _xerial_blocks(content: memoryview) -> Iterator[memoryview]:
    at = 0
    while at < len(content):
        # Streams that were put one behind the other have a header in the middle.
        if content[at : at + len(_XERIAL_MAGIC)] == _XERIAL_MAGIC:
            at += len(_XERIAL_HEADER)
            continue
        end = at + 4 + int.from_bytes(content[at : at + 4], "big")
        if at + 4 >= end or end > len(content):
            raise RecordFormatError("snappy", f"the block at byte {at} has no such length")
        yield content[at + 4 : end]
        at = end


def _expand_snappy_block(content: bytes | memoryview, left: int, limit_bytes: int) -> bytes:
    try:
        if cramjam.snappy.decompress_raw_len(content) <= left:
            return bytes(cramjam.snappy.decompress_raw(content))
    except cramjam.DecompressionError as error:
        raise RecordFormatError("snappy", str(error)) from None
    raise ExpandsTooFar("snappy", limit_bytes)
