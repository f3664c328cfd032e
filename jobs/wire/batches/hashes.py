"""Hashes of Kafka: CRC-32C of record batches, and those by which clients put a key into a partition.

Source: RFC 3720 appendix B.4 for the polynomial, org.apache.kafka.common.utils.Crc32C for its use; for
murmur2 Utils.murmur2 and BuiltInPartitioner.partitionForKey, with tests/conformance/streams_partitioning;
for CRC-32 and FNV-1a librdkafka's partitioners `consistent` and `fnv1a`.
The CRC itself is the `crc32c` library's, which uses the processor's instruction where there is one.
"""

from __future__ import annotations

import zlib
from enum import StrEnum
from functools import cache

from crc32c import crc32c as checksum

__all__ = ["advance", "checksum"]

_ALL_ONES = 0xFFFFFFFF
# Zeros up to one block are fed to the library (below 1 us); whole blocks go through tables.
_BLOCK_BYTES = 4096
_ZEROS = memoryview(bytes(_BLOCK_BYTES))

_Tables = tuple[list[int], list[int], list[int], list[int]]


def advance(difference: int, zero_bytes: int) -> int:
    """Return what a difference between two CRCs becomes after `zero_bytes` more equal bytes.

    Over GF(2) this is a multiplication by x^(8 * zero_bytes): for messages a and b of one length and any
    tail t, crc(a + t) ^ crc(b + t) == advance(crc(a) ^ crc(b), len(t)). The tail is never read.
    """
    # The library inverts before and after; the inversions are undone, a difference has none.
    difference = checksum(_ZEROS[: zero_bytes % _BLOCK_BYTES], difference ^ _ALL_ONES) ^ _ALL_ONES
    blocks = zero_bytes // _BLOCK_BYTES
    unit = 1
    while blocks:
        if blocks & 0xFF:
            difference = _apply(_tables(unit * (blocks & 0xFF)), difference)
        blocks >>= 8
        unit <<= 8
    return difference


def _apply(tables: _Tables, difference: int) -> int:
    low, second, third, high = tables
    return (
        low[difference & 0xFF]
        ^ second[difference >> 8 & 0xFF]
        ^ third[difference >> 16 & 0xFF]
        ^ high[difference >> 24]
    )


@cache  # at most 255 tables for each byte of the number of blocks, about 12 KB each
def _tables(blocks: int) -> _Tables:
    images = _bit_images(blocks)
    first, second, third, fourth = (_byte_table(images[at : at + 8]) for at in (0, 8, 16, 24))
    return first, second, third, fourth


def _byte_table(images: list[int]) -> list[int]:
    table = [0]
    for image in images:
        table += [entry ^ image for entry in table]
    return table


def _bit_images(blocks: int) -> list[int]:
    """Return what each of the 32 bits becomes after so many blocks of zeros, by halving."""
    if blocks == 1:
        return [checksum(_ZEROS, 1 << bit ^ _ALL_ONES) ^ _ALL_ONES for bit in range(32)]
    half = _tables(blocks // 2)
    images = [_apply(half, _apply(half, 1 << bit)) for bit in range(32)]
    return [_apply(_tables(1), image) for image in images] if blocks % 2 else images


class Partitioner(StrEnum):
    """By which hash a producer puts a key into a partition: Java's default, librdkafka's default, FNV-1a."""

    MURMUR2 = "murmur2"
    CRC32 = "crc32"
    FNV1A = "fnv1a"


_FNV_OFFSET, _FNV_PRIME = 0x811C9DC5, 0x01000193
_SEED = 0x9747B28C
_FACTOR = 0x5BD1E995
_WORD = 0xFFFFFFFF


def murmur2(key: bytes) -> int:
    """Return the hash as Kafka has it: a signed 32-bit number."""
    hashed = (_SEED ^ len(key)) & _WORD
    whole = len(key) & ~3
    for at in range(0, whole, 4):
        part = int.from_bytes(key[at : at + 4], "little") * _FACTOR & _WORD
        part ^= part >> 24
        hashed = hashed * _FACTOR & _WORD ^ part * _FACTOR & _WORD
    if whole < len(key):
        hashed = (hashed ^ int.from_bytes(key[whole:], "little")) * _FACTOR & _WORD
    hashed ^= hashed >> 13
    hashed = hashed * _FACTOR & _WORD
    hashed ^= hashed >> 15
    return hashed - (1 << 32) if hashed >> 31 else hashed


def fnv1a(key: bytes) -> int:
    """Return the hash as librdkafka and Sarama take it: the absolute value of a signed 32-bit number."""
    hashed = _FNV_OFFSET
    for byte in key:
        hashed = (hashed ^ byte) * _FNV_PRIME & _WORD
    return (1 << 32) - hashed if hashed >> 31 else hashed


def partition_for_key(
    key: bytes, partitions: int, partitioner: Partitioner = Partitioner.MURMUR2
) -> int:
    """Return the partition of a key among that many partitions."""
    if partitioner is Partitioner.CRC32:
        return zlib.crc32(key) % partitions
    if partitioner is Partitioner.FNV1A:
        return fnv1a(key) % partitions
    return (murmur2(key) & 0x7FFFFFFF) % partitions
