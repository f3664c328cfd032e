"""Record batches for tests, with a header of our own making."""

import struct

import crc32c

from jobs.cluster.protocol.data.produce import BatchBytes

HEADER = struct.Struct(">qiibIhiqqqhii")
TRANSACTIONAL, CONTROL = 0x10, 0x20


def header(body: bytes, **changes) -> bytes:
    """Return the header of a good batch of one record around a body, with some fields changed."""
    fields = {
        "base_offset": 0,
        "length": 49 + len(body),
        "leader_epoch": -1,
        "magic": 2,
        "crc": 0,
        "attributes": 0,
        "last_offset_delta": 0,
        "base_timestamp": 0,
        "max_timestamp": 0,
        "producer_id": -1,
        "producer_epoch": -1,
        "sequence": -1,
        "records": 1,
    }
    assert changes.keys() <= fields.keys()
    return HEADER.pack(*(fields | changes).values())


def batch(body: bytes = b"", **changes) -> BatchBytes:
    """Return a batch that a Produce request takes."""
    return BatchBytes(header(body, **changes), body)


def split(records: memoryview) -> list[memoryview]:
    """Cut what was fetched into its whole batches."""
    found = []
    at = 0
    while len(records) - at >= HEADER.size:
        (length,) = struct.unpack_from(">i", records, at + 8)
        if at + 12 + length > len(records):
            break
        found.append(records[at : at + 12 + length])
        at += 12 + length
    return found


def fields_of(batch: memoryview) -> tuple:
    """Return the fields of a batch's header, in their order."""
    return HEADER.unpack_from(batch)


def claimed(
    fetched: memoryview, identity=(-1, -1), sequence: int = -1, *, is_transactional: bool = False
) -> BatchBytes:
    """Return a fetched batch as another producer's: its content is not touched."""
    fields = list(fields_of(fetched))
    fields[0], fields[2] = 0, -1
    fields[5] = fields[5] & ~TRANSACTIONAL | (TRANSACTIONAL if is_transactional else 0)
    fields[9:12] = *identity, sequence
    after_crc = HEADER.pack(*fields)[21:]
    fields[4] = crc32c.crc32c(bytes(fetched[61:]), crc32c.crc32c(after_crc))
    return BatchBytes(HEADER.pack(*fields), fetched[61:])
