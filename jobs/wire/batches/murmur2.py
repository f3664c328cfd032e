"""Where Kafka's clients put a key: the murmur2 hash of its bytes.

Source: org.apache.kafka.common.utils.Utils.murmur2 and BuiltInPartitioner.partitionForKey; cases in
`conformance/streams_partitioning.json`.
"""

from __future__ import annotations

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


def partition_for_key(key: bytes, partitions: int) -> int:
    """Return the partition of a key among that many partitions."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
