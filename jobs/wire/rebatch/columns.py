"""Records of whole batches as columns: where they are, how large, and what they hash to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jobs.wire.rebatch.rebatcher import open_batches
from jobs.wire.rebatch.table import COUNT, CURSOR_START, Content, Int64s


@dataclass(frozen=True, slots=True, eq=False)
class RecordColumns:
    """Records of consecutive batches of one partition, an entry of each array for each record.

    `offsets`; `times` in ms since 1970, -1: none; `batches`: the index of its batch among those with records
    that were given. `key_bytes` and `value_bytes`: -1 for null; `key_at` and `value_at`: where they begin in
    `body`. `headers`: their number, `header_bytes`: of names and values. `key_hashes` (0 for null) and
    `record_hashes` (of key, value and headers): 64 bits, zeros where they were not wanted.

    `body` has the expanded records. It holds until the same thread opens other batches.
    """

    body: Content
    offsets: Int64s
    times: Int64s
    batches: Int64s
    key_at: Int64s
    key_bytes: Int64s
    value_at: Int64s
    value_bytes: Int64s
    headers: Int64s
    header_bytes: Int64s
    key_hashes: Int64s
    record_hashes: Int64s

    def __len__(self) -> int:
        return len(self.offsets)

    def only(self, wanted: np.ndarray) -> RecordColumns:
        """Return the records of a mask, or of indices."""
        names = self.__slots__[1:]
        return RecordColumns(self.body, *(getattr(self, name)[wanted] for name in names))

    def key(self, index: int) -> bytes | None:
        """Return the key of a record."""
        return self._field(int(self.key_at[index]), int(self.key_bytes[index]))

    def value(self, index: int) -> bytes | None:
        """Return the value of a record."""
        return self._field(int(self.value_at[index]), int(self.value_bytes[index]))

    def _field(self, at: int, size: int) -> bytes | None:
        return None if size < 0 else bytes(self.body[at : at + size])


def record_columns(
    batches: Sequence[memoryview | bytes], *, hash_keys: bool = False, hash_records: bool = False
) -> RecordColumns:
    """Return the records of whole data batches, none of them a marker.

    Equal keys and records have equal hashes, however they are batched and compressed; a time is no part of
    it. CRCs are checked. Raises `Damaged`, `OldMagic`, `ControlBatch` or `ExpandsTooFar`.
    """
    from jobs.wire.rebatch import column_kernels as kernels
    from jobs.wire.rebatch.compiled import address_of, fault_behind

    if not batches:
        return RecordColumns(b"", *np.empty((kernels.WIDTH, 0), np.int64))
    body, table = open_batches(batches)
    wanted = hash_keys * kernels.HASH_KEYS | hash_records * kernels.HASH_RECORDS
    found = np.zeros((kernels.WIDTH, int(table[:, COUNT].sum())), np.int64)
    cursor = np.array(CURSOR_START, np.int64)
    content = address_of(np.frombuffer(body, np.uint8))
    count = kernels.columns(content, table, cursor, wanted, found)
    if count < 0:
        raise fault_behind(body, table, np.array(CURSOR_START, np.int64), cursor)
    return RecordColumns(body, *found[:, :count])


def partitioner_hashes(records: RecordColumns) -> Int64s:
    """Return three rows: murmur2, CRC32 and FNV-1a of each key, unsigned 32 bits, 0 for null keys."""
    from jobs.wire.rebatch import column_kernels as kernels
    from jobs.wire.rebatch.compiled import address_of

    steps = np.empty(256, np.int64)
    kernels.crc_table(steps)
    found = np.empty((3, len(records)), np.int64)
    if len(records):
        content = address_of(np.frombuffer(records.body, np.uint8))
        kernels.partitioners(content, records.key_at, records.key_bytes, steps, found)
    return found


def header_slices(records: RecordColumns, names: Sequence[str]) -> dict[str, tuple[Int64s, Int64s]]:
    """Return where in `body` the value of the last header of each name begins, and its bytes (-1: none)."""
    from jobs.wire.rebatch import column_kernels as kernels
    from jobs.wire.rebatch.compiled import address_of

    found = np.empty((2 * len(names), len(records)), np.int64)
    if len(records) and names:
        encoded = [name.encode() for name in names]
        packed = np.frombuffer(b"".join(encoded) + b"\0", np.uint8)
        ends = address_of(packed) + np.cumsum([len(one) for one in encoded])
        starts = ends - np.array([len(one) for one in encoded])
        content = address_of(np.frombuffer(records.body, np.uint8))
        body = (records.value_at, records.value_bytes, records.headers)
        kernels.find_headers(content, body, starts, ends, found)
    return {name: (found[2 * n], found[2 * n + 1]) for n, name in enumerate(names)}


def slice_hashes(body: Content, at: Int64s, sizes: Int64s) -> Int64s:
    """Return a hash of 64 bits of each slice of bytes, 0 where its size is below 0."""
    from jobs.wire.rebatch import column_kernels as kernels
    from jobs.wire.rebatch.compiled import address_of

    found = np.zeros(len(at), np.int64)
    if len(at) and len(body):
        kernels.hash_slices(address_of(np.frombuffer(body, np.uint8)), at, sizes, found)
    return found
