"""Batches of a topic of offset syncs, as they lie in its log."""

from jobs.wire.batches.records import PlacedRecord, encode_batch
from jobs.wire.mirror_records import OffsetSync, encode_offset_sync

COMMIT, ABORT = (bytes([0, 0, 0, kind]) for kind in (1, 0))


def batch(*offsets, last=None, **fields) -> bytes:
    """One batch with a sync at each offset, whose upstream offset is the same and whose copy is 10 behind."""
    records = [
        PlacedRecord(n, 1000 + n, *encode_offset_sync(OffsetSync("orders", 0, n, n + 10)))
        for n in offsets
    ]
    return encode_batch(records, **{"last_offset": last} if last else {}, **fields)


def marker(offset, key=COMMIT, producer_id=7) -> bytes:
    record = PlacedRecord(offset, 1, key, bytes(6))
    return encode_batch([record], is_control=True, is_transactional=True, producer_id=producer_id)
