"""Kafka's variable-length integers: zigzag, seven bits a byte, the lowest first.

Source: readVarint, readVarlong and their writers in org.apache.kafka.common.utils.ByteUtils. As there, an
INT32 has at most 5 bytes and an INT64 at most 10, and bits beyond the type's width are dropped.
"""

from __future__ import annotations

from jobs.wire.errors import RecordFormatError

_INT32_BYTES = 5
_INT64_BYTES = 10
_MORE = 0x80
_ONE_BYTE = [bytes((raw,)) for raw in range(_MORE)]


def read_varint(content: bytes | memoryview, at: int) -> tuple[int, int]:
    """Return the INT32 at byte `at` and where the next field begins; raises `RecordFormatError`."""
    if at < len(content) and content[at] < _MORE:  # nearly all of them
        return content[at] >> 1 ^ -(content[at] & 1), at + 1
    raw, after = _read(content, at, _INT32_BYTES)
    return _from_zigzag(raw & 0xFFFFFFFF), after


def read_varlong(content: bytes | memoryview, at: int) -> tuple[int, int]:
    """Return the INT64 at byte `at` and where the next field begins; raises `RecordFormatError`."""
    raw, after = _read(content, at, _INT64_BYTES)
    return _from_zigzag(raw & 0xFFFFFFFFFFFFFFFF), after


def encode_varint(value: int) -> bytes:
    """Return an INT32 in its shortest form; raises ValueError outside its range."""
    return _encode(value, 32)


def encode_varlong(value: int) -> bytes:
    """Return an INT64 in its shortest form; raises ValueError outside its range."""
    return _encode(value, 64)


def wrap_int64(value: int) -> int:
    """Return the value as Java's long arithmetic leaves it: modulo 2^64, signed."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _read(content: bytes | memoryview, at: int, longest: int) -> tuple[int, int]:
    raw = 0
    for index, byte in enumerate(content[at : at + longest]):
        raw |= (byte & 0x7F) << 7 * index
        if byte < _MORE:
            return raw, at + index + 1
    problem = "is too long" if at + longest <= len(content) else "has no end"
    raise RecordFormatError("varint", f"the one at byte {at} {problem}")


def _from_zigzag(raw: int) -> int:
    return raw >> 1 ^ -(raw & 1)


def _encode(value: int, bits: int) -> bytes:
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"{value} does not fit into {bits} bits")
    raw = (value << 1) ^ (value >> bits)
    if raw < _MORE:  # nearly all of them
        return _ONE_BYTE[raw]
    encoded = bytearray()
    while raw >= _MORE:
        encoded.append(raw & 0x7F | _MORE)
        raw >>= 7
    encoded.append(raw)
    return bytes(encoded)
