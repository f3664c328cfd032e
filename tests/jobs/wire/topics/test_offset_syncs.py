"""Offset syncs out of whole batches: both ways to read them agree, and nothing in the topic stops them."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.wire.batches.record_batch import HEADER_BYTES, BatchHeader, Codec
from jobs.wire.batches.records import PlacedRecord, encode_batch, seal
from jobs.wire.batches.varints import encode_varlong
from jobs.wire.mirror_records import OffsetSync, encode_offset_sync
from jobs.wire.topics.offset_syncs import (
    BAD_NUMBER,
    DAMAGED,
    FOREIGN,
    NULL,
    decode_compiled,
    decode_plain,
)
from jobs.wire.topics.sync_links import LARGEST_CHAINS_BYTES, encode_chain
from tests.jobs.wire.mutations import damaged, damaged_batch

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
BOTH = pytest.mark.parametrize("decode", [decode_plain, decode_compiled])


NOTES = [
    b"",
    b"1",
    b"2",
    b"3",
    b"7:0",
    b"7:",
    b":7",
    b"07:1:2",
    b"-1:2",
    b"9" * 18,
    b"9" * 19,
    None,
    encode_chain([(0, 0)]),
    encode_chain([(1, 1), (2, 3), (6, 5)]),
    encode_chain([(1, 1), (2, 3), (6, 5)])[:-1],
    encode_chain([(2**61, 2**61), (2**62 - 2, 2**62 - 2)]),
]
HEADERS = [
    (),
    ((b"crosslog.chain", encode_chain([(0, 0), (3, 2), (5, 4)])),),
    ((b"crosslog.together", b"2"),),
    ((b"crosslog.follows", b"7:0"), (b"crosslog.together", b"3")),
    ((b"h", None), (b"", b"")),
]
NAMES = st.sampled_from([b"crosslog.follows", b"crosslog.together", b"crosslog.chain", b"h"])
STEPS = st.lists(st.tuples(st.integers(1, 2**60), st.integers(1, 2**60)), min_size=1, max_size=4)
CHAINS = STEPS.map(lambda steps: encode_chain(np.cumsum(steps, axis=0).tolist()))
NUMBERS = st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1)
VALUES = (
    st.sampled_from(NOTES)
    | CHAINS
    | st.binary(max_size=24)
    | st.lists(NUMBERS, max_size=6).map(lambda some: b"".join(map(encode_varlong, some)))
)
# An INT32 in five bytes whose highest bits are beyond 32: Kafka drops them.
BATCHES = st.lists(
    st.tuples(
        st.lists(CONTENT, max_size=6),
        st.sampled_from([Codec.NONE, Codec.LZ4]),
        st.lists(st.none() | st.tuples(NAMES, VALUES), min_size=6, max_size=6),
    ),
    max_size=5,
)
HUGE_ZERO = b"\x80\x80\x80\x80\x70"


def batch(contents, base_offset=0, codec=Codec.NONE, headers=lambda number: ()):
    records = [
        PlacedRecord(base_offset + number, 1, key, value, headers(number))
        for number, (key, value) in enumerate(contents)
    ]
    made = encode_batch(records, codec=codec, base_offset=base_offset)
    return BatchHeader.decode(made), memoryview(made)


def resealed(body, base_offset=0, count=1, last_offset=0):
    """Return a batch of these bytes of records, with a valid CRC."""
    sync = encode_offset_sync(OffsetSync("orders", 0, 1, 2))
    header, _ = batch([sync] * count, base_offset)
    made = seal(header._replace(last_offset_delta=last_offset), body)
    return BatchHeader.decode(made), memoryview(made)


def hostile(chance):
    """Return a few batches of syncs, foreign records and tombstones, most of them damaged."""
    batches = []
    for number in range(chance.randrange(1, 5)):
        contents = []
        for _ in range(chance.randrange(5)):
            sync = OffsetSync(
                chance.choice(["a", "orders", "\u00e4"]),
                chance.choice([0, 1, -1]),
                chance.choice([0, 7, -1, 2**62 - 1, 2**63 - 1]),
                chance.randrange(9),
            )
            key, value = encode_offset_sync(sync)
            key = damaged(key, chance) if chance.random() < 0.2 else key
            contents.append(chance.choice([(key, value)] * 8 + [(None, value), (key, None)]))
        codec = chance.choice([Codec.NONE] * 4 + list(Codec))
        base_offset = chance.choice([10 * number] * 20 + [2**63 - 9])
        _, made = batch(contents, base_offset, codec, lambda _: hostile_headers(chance))
        made = made if chance.random() < 0.4 else memoryview(damaged_batch(made, chance))
        if len(made) >= HEADER_BYTES:
            batches.append((BatchHeader.decode(made), made))
    return batches


def hostile_headers(chance):
    """Return no headers, those of a flow, or notes that are nearly such."""
    if chance.random() < 0.7:
        return chance.choice(HEADERS)
    names = [b"crosslog.follows", b"crosslog.together", b"crosslog.follow", b"h"]
    names += [b"crosslog.chain"] * 2
    return tuple((chance.choice(names), chance.choice(NOTES)) for _ in range(chance.randrange(4)))


def columns_of(found):
    columns = (
        found.key,
        found.upstream,
        found.downstream,
        found.offset,
        *follows(found),
        found.chained,
    )
    return found.keys, [column.tolist() for column in columns], found.refused


def follows(found):
    return found.follows_upstream, found.follows_downstream


def listed(found):
    columns = (found.key, found.upstream, found.downstream, found.offset)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(*found.keys[key], *rest) for key, *rest in rows]


@BOTH
def test_a_sync_follows_the_one_that_its_headers_name_or_that_it_was_written_together_with(decode):
    pairs = [(10, 100), (12, 101), (15, 102), (16, 103)]
    contents = [encode_offset_sync(OffsetSync("orders", 0, *pair)) for pair in pairs]
    notes = {0: ((b"crosslog.follows", b"5:95"), (b"crosslog.together", b"3"))}
    found = decode([batch(contents, headers=lambda number: notes.get(number, ()))])
    told = list(zip(*(column.tolist() for column in follows(found)), strict=True))
    assert told == [(5, 95), (10, 100), (12, 101), (-1, -1)]


@BOTH
def test_a_record_with_a_chain_is_a_row_for_each_sync_and_what_comes_behind_is_not_linked(decode):
    contents = [encode_offset_sync(OffsetSync("orders", 0, *pair)) for pair in [(9, 99), (10, 100)]]
    chain = (b"crosslog.chain", encode_chain([(5, 95), (7, 96), (8, 98)]))
    notes = {0: (chain, (b"crosslog.follows", b"1:1"), (b"crosslog.together", b"2"))}
    found = decode([batch(contents, 7, headers=lambda number: notes.get(number, ()))])
    pairs = [(7, 96, 7), (8, 98, 7), (9, 99, 7), (10, 100, 8)]
    assert listed(found) == [("orders", 0, *pair) for pair in pairs]
    told = list(zip(*(column.tolist() for column in follows(found)), strict=True))
    assert told == [(5, 95), (7, 96), (8, 98), (-1, -1)]
    assert found.chained.tolist() == [1, 1, 0, 0]


@given(BATCHES)
def test_the_compiled_loop_reads_what_the_plain_one_reads(contents):
    batches = [
        batch(
            one, 10 * at, codec, lambda number, told=told: (told[number],) if told[number] else ()
        )
        for at, (one, codec, told) in enumerate(contents)
    ]
    assert columns_of(decode_compiled(batches)) == columns_of(decode_plain(batches))


@pytest.mark.parametrize("seed", range(4))
def test_both_say_the_same_of_damaged_batches(seed):
    chance = random.Random(seed)
    for _ in range(500):
        batches = hostile(chance)
        plain, compiled = columns_of(decode_plain(batches)), columns_of(decode_compiled(batches))
        assert compiled == plain, [bytes(content).hex() for _, content in batches]


@BOTH
@pytest.mark.parametrize(
    "rest",
    [
        pytest.param(b"\x01", id="a negative number of headers"),
        pytest.param(b"\x02", id="a header is missing"),
        pytest.param(b"\x02\x01\x00", id="a header without a name"),
        pytest.param(b"\x00\x00", id="a byte behind the headers"),
        pytest.param(b"", id="no number of headers"),
        pytest.param(b"\x80\x80\x80\x80\x80\x00", id="a varint of six bytes"),
    ],
)
def test_a_batch_whose_headers_are_malformed_is_damaged_and_the_next_is_read(decode, rest):
    key, value = encode_offset_sync(OffsetSync("orders", 0, 1, 2))
    record = b"\x00\x00\x00" + bytes([2 * len(key)]) + key + bytes([2 * len(value)]) + value + rest
    broken = resealed(bytes([2 * len(record)]) + record)
    found = decode([broken, batch([(key, value)], 1)])
    assert found.refused == {DAMAGED: 1}
    assert listed(found) == [("orders", 0, 1, 2, 1)]


@BOTH
def test_bits_beyond_an_int32_are_dropped(decode):
    key, value = encode_offset_sync(OffsetSync("orders", 0, 1, 2))
    record = b"\x00\x00" + HUGE_ZERO + bytes([2 * len(key)]) + key + bytes([2 * len(value)]) + value
    found = decode([resealed(bytes([2 * (len(record) + 1)]) + record + b"\x00")])
    assert listed(found) == [("orders", 0, 1, 2, 0)]


@BOTH
@pytest.mark.parametrize(
    "delta", [pytest.param(b"\x01", id="before"), pytest.param(b"\x02", id="behind")]
)
def test_a_record_outside_of_its_batch_makes_it_damaged(decode, delta):
    key, value = encode_offset_sync(OffsetSync("orders", 0, 1, 2))
    record = b"\x00\x00" + delta + bytes([2 * len(key)]) + key + bytes([2 * len(value)]) + value
    found = decode([resealed(bytes([2 * (len(record) + 1)]) + record + b"\x00", base_offset=5)])
    assert (found.refused, listed(found)) == ({DAMAGED: 1}, [])


@BOTH
def test_offsets_that_no_log_has_make_a_batch_damaged(decode):
    sync = encode_offset_sync(OffsetSync("orders", 0, 1, 2))
    assert decode([batch([sync, sync], 2**63 - 2)]).refused == {DAMAGED: 2}


@BOTH
def test_a_key_that_only_a_damaged_batch_has_is_not_named(decode):
    one, other = (encode_offset_sync(OffsetSync(name, 0, 1, 2)) for name in ("a", "b"))
    broken = bytearray(batch([one, one])[1])
    broken[-1] = 2  # the last record tells of a header that is missing
    found = decode(
        [resealed(bytes(broken[HEADER_BYTES:]), count=2, last_offset=1), batch([other], 2)]
    )
    assert found.keys == [("b", 0)]


@BOTH
def test_a_topic_that_is_no_text_counts_before_a_bad_number(decode):
    found = decode([batch([(b"\x00\x01\xff\xff\xff\xff\xff", b"\xff" * 16)])])
    assert found.refused == {FOREIGN: 1}


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
@pytest.mark.parametrize("is_too_long", [False, True])
def test_a_batch_whose_chains_are_too_long_together_is_damaged(decode, is_too_long):
    chain = (b"crosslog.chain", bytes(LARGEST_CHAINS_BYTES // 2))
    sync = encode_offset_sync(OffsetSync("orders", 0, 1, 2))
    more = (b"crosslog.chain", b"\0" * is_too_long)
    notes = [(chain,), (chain, chain), (chain, more)]
    made = batch([sync] * 3, codec=Codec.ZSTD, headers=lambda number: notes[number])
    found = decode([made, batch([sync], 3)])
    assert found.refused == ({DAMAGED: 3} if is_too_long else {})
    assert len(found.key) == 1 + 3 * (not is_too_long)


@BOTH
def test_no_batch_has_no_sync(decode):
    assert listed(decode([])) == []
