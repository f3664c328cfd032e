"""The frame of a batch: its header, its CRC, a walk over many, and the claim of one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.wire.batches.record_batch import (
    HEADER_BYTES,
    TRANSACTIONAL_MASK,
    BatchHeader,
    Codec,
    ControlType,
    claim_batch,
    control_type,
    has_valid_crc,
    iterate_batches,
    verify_crc,
    whole_header,
)
from jobs.wire.batches.records import PlacedRecord, encode_batch, placed_records, seal
from jobs.wire.errors import (
    ControlBatch,
    Damaged,
    HasDeleteHorizon,
    NotDense,
    OldMagic,
    RecordFormatError,
)
from tests.examples import examples
from tests.jobs.wire.strategies import dense, flipped, int64, shapes, stretches

CLAIM = {"producer_id": 7, "producer_epoch": 3, "base_sequence": 41, "transactional": True}
FLAGS = {
    "plain": ({}, ()),
    "log append time": ({"log_append_time_ms": 5}, ("is_log_append_time",)),
    "transactional": ({"is_transactional": True}, ("is_transactional",)),
    "control": ({"is_control": True}, ("is_control",)),
    "delete horizon": ({"delete_horizon_ms": 5}, ("has_delete_horizon",)),
}
OLD = bytes.fromhex("00000000000000050000000e000000000000") + bytes(8)


def marker(number, **fields):
    key = b"\0\0" + number.to_bytes(2, "big", signed=True)
    record = PlacedRecord(9, 1000, key, bytes(6))
    return encode_batch([record], is_control=True, **fields)


def claimed(batch, **changes):
    return claim_batch(batch, **CLAIM | changes) + bytes(batch[HEADER_BYTES:])


def changed(batch, **fields):
    """Return the batch with other header fields and a valid CRC."""
    return seal(BatchHeader.decode(batch)._replace(**fields), batch[HEADER_BYTES:])


def with_length(batch, length):
    return batch[:8] + length.to_bytes(4, "big", signed=True) + batch[12:]


@given(st.data())
def test_a_header_is_read_and_written_back(data):
    (_, batch), *_ = data.draw(stretches())
    assert BatchHeader.decode(batch).encode() == batch[:HEADER_BYTES]


@given(st.binary(min_size=HEADER_BYTES, max_size=HEADER_BYTES))
def test_any_61_bytes_are_the_same_header_again(content):
    assert BatchHeader.decode(content).encode() == content


def test_fewer_bytes_than_a_header_are_refused():
    with pytest.raises(RecordFormatError, match="60 bytes are not a header"):
        BatchHeader.decode(bytes(60))


@pytest.mark.parametrize(("fields", "expected"), FLAGS.values(), ids=FLAGS)
def test_each_attribute_has_its_own_bit(fields, expected):
    header = BatchHeader.decode(dense(**fields))
    names = ("is_log_append_time", "is_transactional", "is_control", "has_delete_horizon")
    assert tuple(name for name in names if getattr(header, name)) == expected


@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name)
def test_the_codec_is_in_the_attributes(codec):
    assert BatchHeader.decode(dense(codec=codec)).codec is codec


def test_a_codec_that_is_unknown_is_refused():
    with pytest.raises(Damaged, match="offset 100: has the unknown compression 5"):
        _ = BatchHeader.decode(changed(dense(), attributes=5)).codec


def test_size_and_offsets_follow_from_the_header():
    batch = dense(count=3, offset=100)
    header = BatchHeader.decode(batch)
    assert (header.size_bytes, header.last_offset, header.next_offset) == (len(batch), 102, 103)


def test_a_batch_with_a_gap_is_not_dense():
    assert not BatchHeader.decode(dense(last_offset=110)).is_dense


@given(stretches())
def test_a_walk_yields_every_batch_with_all_its_bytes(stretch):
    batches = [batch for _, batch in stretch]
    walked = list(iterate_batches(b"".join(batches)))
    assert [bytes(view) for _, view in walked] == batches
    assert [header for header, _ in walked] == [BatchHeader.decode(batch) for batch in batches]


def test_a_last_batch_that_is_cut_off_is_left_out_at_every_length():
    first, second = dense(offset=0), dense(offset=3)
    for kept in range(len(second)):
        assert len(list(iterate_batches(first + second[:kept]))) == 1


def test_nothing_is_walked_over_in_nothing():
    assert list(iterate_batches(b"")) == []


@pytest.mark.parametrize("magic", [0, 1])
def test_an_old_message_set_stops_the_walk_with_its_offset_and_magic(magic):
    walk = iterate_batches(dense(offset=2) + OLD[:16] + bytes([magic]) + OLD[17:])
    next(walk)
    with pytest.raises(OldMagic) as caught:
        next(walk)
    assert (caught.value.offset, caught.value.magic) == (5, magic)


def test_an_old_message_set_that_is_cut_off_is_left_out():
    longer = with_length(OLD, 100)
    assert list(iterate_batches(longer + bytes(40))) == []


DAMAGES = {
    "a negative length": with_length(dense(), -1),
    "a length of nothing": with_length(dense(), 0),
    "a length below a header": with_length(dense(), HEADER_BYTES - 13),
    "a magic of the future": dense()[:16] + b"\x03" + dense()[17:],
    "a negative offset": b"\xff" + dense()[1:],
}


@pytest.mark.parametrize("damaged", DAMAGES.values(), ids=DAMAGES)
def test_a_header_that_cannot_be_stops_the_walk(damaged):
    with pytest.raises(Damaged):
        list(iterate_batches(damaged))


@pytest.mark.parametrize("damaged", DAMAGES.values(), ids=DAMAGES)
def test_a_header_that_cannot_be_is_not_claimed(damaged):
    with pytest.raises(Damaged):
        claimed(damaged)


@given(st.binary(max_size=200))
def test_a_walk_over_any_bytes_ends_with_batches_or_a_named_error(content):
    try:
        walked = list(iterate_batches(content))
    except (Damaged, OldMagic):
        return
    assert sum(len(view) for _, view in walked) <= len(content)


@given(st.lists(st.integers(0, 8 * HEADER_BYTES - 1), min_size=1, max_size=4))
def test_a_walk_over_flipped_headers_ends_with_batches_or_a_named_error(bits):
    batch = dense(offset=0)
    for bit in bits:
        batch = bytes(flipped(batch, bit))
    try:
        walked = list(iterate_batches(batch + dense(offset=3)))
    except (Damaged, OldMagic):
        return
    assert len(walked) <= 2


def test_a_healthy_crc_is_accepted():
    assert has_valid_crc(dense())
    verify_crc(dense())


def test_a_wrong_crc_is_named_with_its_batch():
    with pytest.raises(Damaged, match=r"offset 100: has the CRC .{8} over bytes of .{8}"):
        verify_crc(flipped(dense(), 8 * 70))


@pytest.mark.parametrize("size", [60, 61, 130], ids=["no header", "no records", "a byte more"])
def test_bytes_that_are_not_one_whole_batch_are_refused(size):
    with pytest.raises(Damaged, match="which is not its length"):
        whole_header((dense() + bytes(20))[:size])


@given(st.data(), int64, st.integers(-1, 2**15 - 1), st.integers(-1, 2**31 - 1), st.booleans())
def test_a_claimed_batch_has_the_crc_of_its_bytes(data, pid, epoch, sequence, transactional):
    records = [PlacedRecord(5 + n, n, b"k", b"v" * 10 * n) for n in range(3)]
    shape = data.draw(shapes(records))
    shape.pop("delete_horizon_ms", None)
    batch = encode_batch(records, **shape | {"base_offset": 5})
    taken = claimed(
        batch,
        producer_id=pid,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
    )
    verify_crc(taken)


@pytest.mark.parametrize("size", [1, 4096, 100_000, 1_100_000])
def test_a_claimed_batch_of_any_size_has_the_crc_of_its_bytes(size):
    verify_crc(claimed(encode_batch([PlacedRecord(3, 4, None, b"x" * size)])))


@pytest.mark.parametrize("transactional", [True, False], ids=["transactional", "plain"])
@pytest.mark.parametrize("before", [True, False], ids=["from transactional", "from plain"])
def test_a_claim_sets_what_a_broker_looks_at(before, transactional):
    batch = dense(codec=Codec.LZ4, is_transactional=before, log_append_time_ms=77, producer_id=1)
    header = BatchHeader.decode(claimed(batch, transactional=transactional))
    source = BatchHeader.decode(batch)
    assert header == source._replace(
        base_offset=0,
        partition_leader_epoch=-1,
        producer_id=7,
        producer_epoch=3,
        base_sequence=41,
        attributes=source.attributes & ~TRANSACTIONAL_MASK
        | (TRANSACTIONAL_MASK if transactional else 0),
        crc=header.crc,
    )


def test_a_claim_leaves_the_records_as_they_are():
    batch = dense(codec=Codec.ZSTD)
    moved = placed_records(claimed(batch))
    assert [record.value for record in moved] == [record.value for record in placed_records(batch)]
    assert [record.offset for record in moved] == [0, 1, 2]


def test_a_batch_with_one_flipped_bit_stays_damaged_when_claimed():
    batch = dense(producer_id=12, base_sequence=5)
    for bit in range(8 * 17, 8 * len(batch)):
        try:
            taken = claimed(flipped(batch, bit))
        except (ControlBatch, NotDense, HasDeleteHorizon):
            continue
        assert not has_valid_crc(taken), f"bit {bit % 8} of byte {bit // 8}"


@examples(30)
@given(st.data())
def test_a_large_batch_with_flipped_bits_stays_damaged_when_claimed(data):
    batch = encode_batch([PlacedRecord(0, 0, None, b"x" * 20_000)], codec=Codec.NONE)
    bits = data.draw(
        st.sets(st.integers(8 * HEADER_BYTES, 8 * len(batch) - 1), min_size=1, max_size=3)
    )
    for bit in bits:
        batch = bytes(flipped(batch, bit))
    assert not has_valid_crc(claimed(batch))


UNFIT = {
    "a marker": (marker(1), ControlBatch),
    "a compacted one": (dense(last_offset=110), NotDense),
    "more records than offsets": (changed(dense(), record_count=9), NotDense),
    "an empty one": (encode_batch([], base_offset=4, last_offset=4), NotDense),
    "one without offsets": (changed(dense(), record_count=0, last_offset_delta=-1), NotDense),
    "one with a delete horizon": (dense(delete_horizon_ms=5), HasDeleteHorizon),
    "an old message set": (OLD, OldMagic),
    "one that is cut off": (dense()[:-1], Damaged),
    "two": (dense() + dense(), Damaged),
}

KNOWN_BY_HEADER = {
    name: batch for name, (batch, error) in UNFIT.items() if error not in {OldMagic, Damaged}
}


@pytest.mark.parametrize(("batch", "error"), UNFIT.values(), ids=UNFIT)
def test_an_unfit_batch_cannot_be_claimed(batch, error):
    with pytest.raises(error):
        claimed(batch)


@pytest.mark.parametrize("batch", KNOWN_BY_HEADER.values(), ids=KNOWN_BY_HEADER)
def test_the_header_of_an_unfit_batch_says_so_beforehand(batch):
    assert not BatchHeader.decode(batch).is_claimable


def test_the_header_of_a_fit_batch_says_so_beforehand():
    assert BatchHeader.decode(dense(is_transactional=True)).is_claimable


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, ControlType.ABORT),
        (1, ControlType.COMMIT),
        (2, ControlType.OTHER),
        (-1, ControlType.OTHER),
    ],
    ids=str,
)
def test_a_marker_says_what_it_marks(number, expected):
    assert control_type(marker(number)) is expected


def test_data_is_no_marker():
    with pytest.raises(Damaged, match="is not a control batch"):
        control_type(dense())


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0"], ids=["null", "empty", "short"])
def test_a_marker_without_a_readable_key_is_damaged(key):
    batch = encode_batch([PlacedRecord(0, 0, key, b"")], is_control=True)
    with pytest.raises(Damaged, match="without a readable key"):
        control_type(batch)
