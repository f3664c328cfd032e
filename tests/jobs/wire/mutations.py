"""Damage to bytes and texts, the same for the same seed."""

import random

from jobs.wire.batches.hashes import checksum
from jobs.wire.batches.record_batch import CRC_FROM

# Varints that end late or never, and the largest and smallest of fixed-width integers.
EDGES = [
    b"\xff" * 5,
    b"\xff" * 4 + b"\x0f",
    b"\x80" * 4 + b"\x10",
    b"\x80" * 9 + b"\x01",
    b"\xff" * 9 + b"\x01",
    b"\x80" * 10,
    b"\x7f" + b"\xff" * 7,
    b"\x80" + b"\x00" * 7,
    b"\x00",
    b"\x01",
    b"\xff",
]

# What readers of texts, numbers and patterns stumble over.
TEXT_EDGES = [
    b"99999999999999999999", b"{99999999999}", b"(a{999}){999}", b"[", b"(", b"*" * 9, b"(?<a>",
    b"null", b"{}", b"[]", b"- ", b": ", b"? ", b"<<: ", b"&a ", b"*a", b"!!binary ", b"!!set ",
    b"!!timestamp ", b"!!bool ", b"!!int ", b"1e999", b".nan", b"0x_", b"1_000", b"2001-01-01",
    b"12:30:45.6", b"\\u", b"\\ud800", b"\\\n", b"'", b'"', b"->", b",", b"=", b"${file:x}",
    b"\x00", b"\x0b\x0c", b"\x1c", b"\x1d", b"\x85", b"\xc2\xa0", b"\xd9\xa3", b"\xe2\x80\xa8",
    b"\xff",
]  # fmt: skip


def damaged(content, chance: random.Random, *, from_byte=0, edges=EDGES):
    """Return the bytes with one to three places turned, replaced, removed, repeated or put in between."""
    broken = bytearray(content)
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        if len(broken) <= from_byte:
            break
        at = chance.randrange(from_byte, len(broken))
        kind = chance.randrange(6)
        if kind == 0:
            broken[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            broken[at] = chance.randrange(256)
        elif kind == 2:
            edge = chance.choice(edges)
            broken[at : at + chance.choice([1, len(edge)])] = edge
        elif kind == 3:
            del broken[at : at + chance.randrange(1, 5)]
        elif kind == 4:
            broken[at:at] = chance.randbytes(chance.randrange(1, 4))
        else:
            broken[at:at] = broken[at : at + chance.randrange(1, 20)]
    return bytes(broken)


def damaged_batch(batch, chance: random.Random):
    """Return the batch with damage that its length and CRC mostly do not show."""
    broken = bytearray(damaged(batch, chance, from_byte=chance.choice([0, CRC_FROM, 61])))
    if len(broken) > CRC_FROM and chance.random() < 0.8:
        if chance.random() < 0.9:
            broken[8:12] = (len(broken) - 12).to_bytes(4, "big")
            broken[16] = 2
        broken[CRC_FROM - 4 : CRC_FROM] = checksum(bytes(broken[CRC_FROM:])).to_bytes(4, "big")
    return bytes(broken)
