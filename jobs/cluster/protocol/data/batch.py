"""A record batch on its way to a broker: one batch of the current format, with nothing before or after."""

from __future__ import annotations

import struct

HEADER_BYTES = 61
# Offset, length, leader epoch, magic, CRC, attributes, last offset delta, two timestamps, producer id,
# producer epoch, first sequence, number of records: DefaultRecordBatch of Kafka.
_HEADER = struct.Struct(">qiibIhiqqqhii")
_LENGTH_COUNTS_FROM = 12
_MAGIC = 2
_TRANSACTIONAL, _CONTROL = 0x10, 0x20


class BatchBytes:
    """Exactly one batch, in two parts: its header of 61 bytes and the rest, which is never copied.

    Raises ValueError for what a broker would refuse, or, worse, accept: bytes that are not one batch of
    format 2, a base offset that is not 0, more or fewer offsets than records, a control batch, a producer
    id without a sequence. The CRC is not looked at: the broker checks it.
    """

    __slots__ = ("body", "header", "is_idempotent", "is_transactional", "records")

    def __init__(self, header: bytes, body: bytes | memoryview) -> None:
        fields = _HEADER.unpack(header)
        view = memoryview(body).cast("B")
        problem = _problem(fields, len(view))
        if problem:
            raise ValueError(f"not a batch for a Produce request: {problem}")
        self.header = header
        self.body = view
        self.records: int = fields[12]
        self.is_transactional = bool(fields[5] & _TRANSACTIONAL)
        self.is_idempotent: bool = fields[9] >= 0

    def __len__(self) -> int:
        return HEADER_BYTES + len(self.body)

    def __repr__(self) -> str:
        return f"BatchBytes({self.records} records, {len(self)} bytes)"


def _problem(fields: tuple[int, ...], body_bytes: int) -> str | None:
    base_offset, length, _, magic = fields[:4]
    bytes_after_length = HEADER_BYTES - _LENGTH_COUNTS_FROM + body_bytes
    if magic != _MAGIC:
        return f"its format is {magic}, not {_MAGIC}"
    if length != bytes_after_length:
        return f"its length is {length}, but it has {bytes_after_length}"
    if base_offset != 0:
        return f"its base offset is {base_offset}, not 0"
    return _problem_inside(fields)


def _problem_inside(fields: tuple[int, ...]) -> str | None:
    attributes, last_delta = fields[5:7]
    producer_id, _, sequence, records = fields[9:]
    if attributes & _CONTROL:
        return "it is a control batch"
    if records < 1 or last_delta + 1 != records:
        return f"it has {records} records at {last_delta + 1} offsets"
    if (producer_id < 0) != (sequence < 0):
        return f"its producer id is {producer_id}, its sequence {sequence}"
    if attributes & _TRANSACTIONAL and producer_id < 0:
        return "it is transactional without a producer id"
    return None
