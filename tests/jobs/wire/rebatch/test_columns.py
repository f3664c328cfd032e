"""Records as columns: compared with the plain reader of records and with the hashes that producers use."""

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.wire.batches.hashes import murmur2
from jobs.wire.batches.record_batch import Codec
from jobs.wire.batches.records import PlacedRecord, encode_batch, encode_rest, placed_records
from jobs.wire.errors import Damaged
from jobs.wire.rebatch.columns import partitioner_hashes, record_columns
from tests.jobs.wire.batches.test_records import MALFORMED, with_body
from tests.jobs.wire.rebatch.plain import hash_of
from tests.jobs.wire.strategies import dense

BYTES = st.none() | st.binary(max_size=40)
RECORDS = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.integers(-1, 2**40),
        BYTES,
        BYTES,
        st.lists(st.tuples(st.binary(max_size=5), BYTES), max_size=3),
    ),
    min_size=1,
    max_size=12,
)


def batches_of(drawn, codec=Codec.NONE):
    records, offset = [], 5
    for gap, at_ms, key, value, headers in drawn:
        offset += 1 + gap
        records.append(PlacedRecord(offset, at_ms, key, value, tuple(headers)))
    half = len(records) // 2
    return [encode_batch(part, codec=codec) for part in (records[:half], records[half:]) if part]


@settings(deadline=None)
@given(drawn=RECORDS, codec=st.sampled_from(Codec))
def test_columns_are_what_the_plain_reader_finds(drawn, codec):
    batches = batches_of(drawn, codec)
    found = record_columns(batches, hash_keys=True, hash_records=True)
    plain = [one for batch in batches for one in placed_records(batch)]
    assert len(found) == len(plain)
    for row, one in enumerate(plain):
        sizes = sum(len(name) + len(value or b"") for name, value in one.headers)
        assert (found.offsets[row], found.times[row]) == (one.offset, one.timestamp)
        assert (found.key(row), found.value(row)) == (one.key, one.value)
        assert (found.headers[row], found.header_bytes[row]) == (len(one.headers), sizes)
        assert found.record_hashes[row] == hash_of(encode_rest(one.key, one.value, one.headers))
        assert found.key_hashes[row] == (0 if one.key is None else hash_of(one.key))


@settings(deadline=None)
@given(keys=st.lists(st.binary(max_size=30), min_size=1, max_size=20))
def test_keys_hash_as_producers_hash_them(keys):
    records = [PlacedRecord(n, 0, key, None) for n, key in enumerate(keys)]
    found = partitioner_hashes(record_columns([encode_batch(records)]))
    assert found[0].tolist() == [murmur2(key) & 0xFFFFFFFF for key in keys]
    assert found[1].tolist() == [zlib.crc32(key) for key in keys]
    assert found[2].tolist() == [fnv1a(key) for key in keys]


def fnv1a(key):
    hashed = 0x811C9DC5
    for byte in key:
        hashed = (hashed ^ byte) * 0x01000193 & 0xFFFFFFFF
    return hashed


def test_a_hash_is_the_same_however_records_are_batched():
    records = [PlacedRecord(n, n, b"k%d" % (n % 3), b"v%d" % (n % 4)) for n in range(20)]
    one = record_columns([encode_batch(records)], hash_keys=True, hash_records=True)
    many = record_columns(
        [encode_batch([record], codec=Codec.ZSTD) for record in records],
        hash_keys=True,
        hash_records=True,
    )
    assert np.array_equal(one.key_hashes, many.key_hashes)
    assert np.array_equal(one.record_hashes, many.record_hashes)


@settings(deadline=None, max_examples=300)
@given(drawn=RECORDS, at=st.integers(61, 400), byte=st.integers(0, 255))
def test_altered_bytes_are_refused_and_never_read_beyond(drawn, at, byte):
    batch = bytearray(batches_of(drawn)[-1])
    at = 61 + (at - 61) % (len(batch) - 61)
    if batch[at] == byte:
        return
    batch[at] = byte
    with pytest.raises(Damaged):
        record_columns([bytes(batch)])


OTHERS = {
    "another key": PlacedRecord(5, 7, b"l", b"v"),
    "no key": PlacedRecord(5, 7, None, b"v"),
    "an empty key": PlacedRecord(5, 7, b"", b"v"),
    "another value": PlacedRecord(5, 7, b"k", b"w"),
    "a zero behind the value": PlacedRecord(5, 7, b"k", b"v\0"),
    "a header": PlacedRecord(5, 7, b"k", b"v", ((b"h", b""),)),
    "a byte that moved": PlacedRecord(5, 7, b"kv", b""),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_another_content_has_another_hash(other):
    first, second = (
        record_columns([encode_batch([one])], hash_records=True)
        for one in (PlacedRecord(5, 7, b"k", b"v"), other)
    )
    assert first.record_hashes[0] != second.record_hashes[0]


@pytest.mark.parametrize(("body", "count"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_records_are_refused(body, count):
    with pytest.raises(Damaged):
        record_columns([dense(offset=0), with_body(body, count, Codec.NONE)])
