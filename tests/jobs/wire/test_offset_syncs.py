"""Offset syncs out of whole batches: both ways to read them agree, and nothing in the topic stops them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.wire.mirror_records import OffsetSync, encode_offset_sync
from jobs.wire.offset_syncs import (
    BAD_NUMBER,
    DAMAGED,
    FOREIGN,
    NULL,
    decode_compiled,
    decode_plain,
)
from jobs.wire.record_batch import BatchHeader, Codec
from jobs.wire.records import PlacedRecord, encode_batch

OFFSETS = st.integers(0, 2**62 - 1)
SYNCS = st.builds(OffsetSync, st.text(max_size=5), st.integers(0, 2**31 - 1), OFFSETS, OFFSETS).map(
    encode_offset_sync
)
# Bytes that are nearly a sync, and anything.
CONTENT = (
    SYNCS
    | st.tuples(SYNCS, st.binary(max_size=2)).map(lambda pair: (pair[0][0] + pair[1], pair[0][1]))
    | st.tuples(st.none() | st.binary(max_size=9), st.none() | st.binary(max_size=20))
)
BATCHES = st.lists(
    st.tuples(st.lists(CONTENT, max_size=6), st.sampled_from([Codec.NONE, Codec.LZ4])), max_size=5
)
BOTH = pytest.mark.parametrize("decode", [decode_plain, decode_compiled])


def batch(contents, base_offset=0, codec=Codec.NONE):
    records = [
        PlacedRecord(base_offset + number, 1, key, value)
        for number, (key, value) in enumerate(contents)
    ]
    made = encode_batch(records, codec=codec, base_offset=base_offset)
    return BatchHeader.decode(made), memoryview(made)


def listed(found):
    columns = (found.key, found.upstream, found.downstream, found.offset)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(*found.keys[key], *rest) for key, *rest in rows]


@given(BATCHES, st.lists(st.integers(0, 400), max_size=2))
def test_the_compiled_loop_reads_what_the_plain_one_reads(contents, damaged):
    batches = [batch(one, 10 * at, codec) for at, (one, codec) in enumerate(contents)]
    for place in damaged:
        if batches:
            header, content = batches[place % len(batches)]
            broken = bytearray(content)
            broken[61 - 1 + place % (len(broken) - 60)] ^= 1 << place % 8
            batches[place % len(batches)] = (header, memoryview(bytes(broken)))
    plain, compiled = decode_plain(batches), decode_compiled(batches)
    assert listed(plain) == listed(compiled)
    assert plain.refused == compiled.refused


@BOTH
def test_a_sync_comes_with_its_place_in_the_log(decode):
    key, value = encode_offset_sync(OffsetSync("orders", 3, 100, 200))
    found = decode([batch([(key, value)], 7), batch([(key, value)], 9)])
    assert listed(found) == [("orders", 3, 100, 200, 7), ("orders", 3, 100, 200, 9)]
    assert not found.refused


@BOTH
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param((b"", None), NULL, id="a tombstone"),
        pytest.param((None, b"x" * 16), NULL, id="no key"),
        pytest.param((b"{}", b"{}"), FOREIGN, id="JSON"),
        pytest.param((b"\x00\x01\xff\x00\x00\x00\x00", bytes(16)), FOREIGN, id="no UTF-8"),
        pytest.param((b"\xff\xff\x00\x00\x00\x00", bytes(16)), FOREIGN, id="a negative length"),
        pytest.param((b"\x00\x00\x00\x00\x00\x00", bytes(15)), FOREIGN, id="a short value"),
        pytest.param((b"\x00\x00\xff\x00\x00\x00", bytes(16)), BAD_NUMBER, id="partition below 0"),
        pytest.param((b"\x00\x00\x00\x00\x00\x00", b"\xff" * 16), BAD_NUMBER, id="offset below 0"),
        pytest.param((b"\x00\x00\x00\x00\x00\x00", b"\x7f" * 16), BAD_NUMBER, id="beyond any log"),
    ],
)
def test_what_is_no_sync_is_counted_and_the_next_is_read(decode, content, reason):
    sync = encode_offset_sync(OffsetSync("orders", 0, 1, 2))
    found = decode([batch([content, sync])])
    assert found.refused == {reason: 1}
    assert listed(found) == [("orders", 0, 1, 2, 1)]


@BOTH
def test_a_damaged_batch_is_counted_and_the_next_is_read(decode):
    sync = encode_offset_sync(OffsetSync("orders", 0, 1, 2))
    header, content = batch([sync, sync])
    broken = memoryview(bytes(content[:-1]) + b"x")
    found = decode([(header, broken), batch([sync], 2)])
    assert found.refused == {DAMAGED: 2}
    assert listed(found) == [("orders", 0, 1, 2, 2)]


@BOTH
def test_no_batch_has_no_sync(decode):
    assert listed(decode([])) == []
