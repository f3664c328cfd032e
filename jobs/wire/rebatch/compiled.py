"""Re-batching by compiled loops; functions of `jobs.wire.rebatch.table.Kernels`.

Imported only when first used: numba takes about 100 MB and half a second. The loops report a fault as a
number; what is wrong is then said by `jobs.wire.rebatch.faults`.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from jobs.wire.batches.record_batch import verify_crc
from jobs.wire.errors import Damaged
from jobs.wire.rebatch import kernels as rebatch_kernels
from jobs.wire.rebatch.faults import check, split, upcoming
from jobs.wire.rebatch.table import BASE_OFFSET, ROW, Bytes, Content, Cut, Int64s


def alike(content: Content, mask: int, before: int, small_bytes: int, lengths: Int64s) -> int:
    """See `Kernels.alike`."""
    at = _address(np.frombuffer(content, np.uint8))
    end = at + len(content)
    count: int = rebatch_kernels.alike(at, end, mask, before, small_bytes, lengths)
    return count


def scan(buffer: Content, lengths: Int64s, table: Int64s) -> None:
    """See `Kernels.scan`."""
    sound = rebatch_kernels.scan(_address(np.frombuffer(buffer, np.uint8)), lengths, table)
    if sound == len(table) and rebatch_kernels.HAS_CRC:
        return
    batches = list(split(memoryview(buffer), lengths))
    for _, batch in batches[:sound]:
        verify_crc(batch)
    if sound < len(table):
        header = check(batches[sound][1])
        raise Damaged(header.base_offset, "is refused by the compiled loop alone")


def cut(  # noqa: PLR0913, PLR0917 - the form of `Kernels.cut`
    body: Content,
    table: Int64s,
    cursor: Int64s,
    from_offset: int,
    room_bytes: int,
    out: Bytes,
    offsets: Int64s,
) -> Cut:
    """See `Kernels.cut`."""
    before = cursor.copy()
    content = _address(np.frombuffer(body, np.uint8))
    to = _address(out)
    is_sound, *written = rebatch_kernels.cut(
        content, table, cursor, from_offset, room_bytes, to, offsets
    )
    if not is_sound:
        raise _fault(body, table, before, cursor)
    return Cut(*written)


def fingerprint(
    body: Content,
    table: Int64s,
    cursor: Int64s,
    offsets: Int64s,
    times: Int64s,
    hashes: Int64s,
) -> int:
    """See `Kernels.fingerprint`."""
    before = cursor.copy()
    content = _address(np.frombuffer(body, np.uint8))
    count: int = rebatch_kernels.fingerprint(content, table, cursor, offsets, times, hashes)
    if count < 0:
        raise _fault(body, table, before, cursor)
    return count


def _fault(body: Content, table: Int64s, before: Int64s, cursor: Int64s) -> Damaged:
    """Return what is wrong behind a cursor."""
    try:
        deque(upcoming(body, table, before), maxlen=0)
    except Damaged as fault:
        return fault
    offset = int(table[cursor[ROW], BASE_OFFSET])
    return Damaged(offset, "has records that are refused by the compiled loop alone")


def _address(content: Bytes) -> int:
    return int(content.ctypes.data)
