"""Reading a metadata log by compiled loops; functions of `jobs.wire.metadata.columns.Loops`.

Imported only when first used: numba takes about 100 MB and half a second.
"""

from __future__ import annotations

import numpy as np

from jobs.wire.batches.record_batch import has_valid_crc
from jobs.wire.machine_code import HAS_CRC
from jobs.wire.metadata import kernels
from jobs.wire.metadata import table as t
from jobs.wire.metadata.table import Bytes, Int64s, Tables


def scan(content: Bytes, start: Int64s, table: Int64s, room_bytes: int, *, with_crc: bool) -> int:
    """See `Loops.scan`."""
    filled = kernels.scan(_address(content), len(content), start, table, room_bytes, int(with_crc))
    return _sound(content, start, table[:filled]) if with_crc and not HAS_CRC else filled


def decode(content: Bytes, table: Int64s, tables: Tables) -> None:
    """See `Loops.decode`."""
    t.lay_out(content, tables)
    kernels.decode(_address(content), table, tables.counts)


def decode_values(content: Bytes, tables: Tables) -> None:
    """Read the bodies of typed records into their tables; the rows of all records are filled already."""
    t.lay_out(content, tables)
    kernels.decode_values(_address(content), tables.records.shape[1], tables.counts)


def pack(content: Bytes, places: Int64s, sizes: Int64s) -> Bytes:
    """Return the bytes at places, one behind the other."""
    packed: Bytes = np.empty(int(sizes.sum()), np.uint8)
    kernels.pack(_address(content), places, sizes, _address(packed))
    return packed


def _sound(content: Bytes, start: Int64s, table: Int64s) -> int:
    """Ask the library for every CRC; return how many batches stand before the first wrong one."""
    log = content.data
    for index, (at, size) in enumerate(table[:, : t.SIZE + 1].tolist()):
        if not has_valid_crc(log[at : at + size]):
            start[:] = at, table[index, t.BASE_OFFSET], t.EXTRAORDINARY
            return index
    return len(table)


def _address(content: Bytes) -> int:
    return int(content.ctypes.data)
