"""What re-batching refuses, and that no bytes at all make it crash or read beyond them."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.wire.batches.compression import EXPANSION_LIMIT_BYTES, compress
from jobs.wire.batches.record_batch import BatchHeader, Codec
from jobs.wire.batches.records import PlacedRecord, encode_batch, seal
from jobs.wire.errors import (
    ControlBatch,
    Damaged,
    ExpandsTooFar,
    OldMagic,
    RecordFormatError,
)
from jobs.wire.rebatch import compiled as rebatch_compiled
from jobs.wire.rebatch.rebatcher import rebatch
from tests.examples import examples
from tests.jobs.wire.batches.test_record_batch import DAMAGES, OLD, changed, marker
from tests.jobs.wire.batches.test_records import MALFORMED, with_body
from tests.jobs.wire.rebatch import plain as rebatch_plain
from tests.jobs.wire.strategies import codecs, dense, flipped, stretches

PATIENT = settings(deadline=None)
KERNELS = {"plain": rebatch_plain, "compiled": rebatch_compiled}
BOTH = pytest.mark.parametrize("kernels", KERNELS.values(), ids=KERNELS)
ROOMY = {"from_offset": 0, "codec": None, "target_bytes": 10**6, "limit_bytes": 10**6}


def outcome(batches, kernels, **asked):
    """Return what comes out: the new bytes, or the error in words."""
    try:
        made = rebatch(batches, **ROOMY | asked, kernels=kernels)
    except RecordFormatError as error:
        return type(error), str(error)
    return [one.header_and_records for one in made]


def refused(batches, kernels):
    with pytest.raises(RecordFormatError) as caught:
        rebatch(batches, **ROOMY, kernels=kernels)
    assert "compiled loop alone" not in str(caught.value)
    return caught.value


@BOTH
@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name)
def test_no_flipped_bit_gets_a_valid_crc(kernels, codec):
    batch = dense(count=2, codec=codec)
    for bit in range(8 * 17, 8 * len(batch)):
        assert isinstance(refused([flipped(batch, bit)], kernels), Damaged), bit


@BOTH
@pytest.mark.parametrize("bad", [0, 1, 2])
def test_the_damaged_one_of_several_is_named(kernels, bad):
    batches = [dense(offset=100 + 3 * number) for number in range(3)]
    batches[bad] = flipped(batches[bad], 8 * 80)
    assert refused(batches, kernels).offset == 100 + 3 * bad


@BOTH
def test_a_damaged_batch_is_refused_even_when_all_of_it_is_below_the_start(kernels):
    batches = [flipped(dense(offset=0), 8 * 80), dense(offset=3)]
    assert outcome(batches, kernels, from_offset=3)[0] is Damaged


UNFIT = {
    **{name: (batch, Damaged) for name, batch in DAMAGES.items()},
    "a marker": (marker(1), ControlBatch),
    "an old message set": (OLD, OldMagic),
    "an old message set of the size of a batch": (bytes(8) + b"\0\0\0\x46" + bytes(70), OldMagic),
    "one that is cut off": (dense()[:-1], Damaged),
    "a few bytes": (dense()[:20], Damaged),
    "no bytes": (b"", Damaged),
    "two in one": (dense() + dense(), Damaged),
    "an unknown codec": (changed(dense(), attributes=7), Damaged),
    "a negative count": (changed(dense(), record_count=-1), Damaged),
    "a negative last offset": (changed(dense(), last_offset_delta=-1), Damaged),
    "offsets beyond all": (changed(dense(), base_offset=2**63 - 2), Damaged),
    "a count beyond memory": (changed(dense(), record_count=2**31 - 1), Damaged),
    "records behind the last offset": (changed(dense(), last_offset_delta=1), Damaged),
}


@BOTH
@pytest.mark.parametrize(("batch", "error"), UNFIT.values(), ids=UNFIT)
def test_an_unfit_batch_is_refused_with_its_reason(kernels, batch, error):
    assert type(refused([batch], kernels)) is error


@BOTH
@pytest.mark.parametrize(("batch", "error"), UNFIT.values(), ids=UNFIT)
def test_an_unfit_batch_behind_good_ones_is_refused_with_its_reason(kernels, batch, error):
    assert type(refused([dense(offset=0), dense(offset=3), batch], kernels)) is error


@BOTH
@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name)
@pytest.mark.parametrize(("body", "count"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_records_with_a_valid_crc_are_refused(kernels, codec, body, count):
    packed = compress(codec, body) if body else b""
    error = refused([dense(offset=0), with_body(packed, count, codec)], kernels)
    assert (type(error), error.offset) == (Damaged, 100)


ORDERS = {
    "the same batch twice": [dense(offset=5), dense(offset=5)],
    "batches that overlap": [dense(offset=5), dense(offset=7)],
    "batches in the wrong order": [dense(offset=8), dense(offset=5)],
    "a record twice": [
        encode_batch([PlacedRecord(5, 0, None, b""), PlacedRecord(5, 0, None, b"")], last_offset=6)
    ],
    "a record before its batch": [
        encode_batch([PlacedRecord(4, 0, None, b"")], base_offset=5, last_offset=6)
    ],
}


@BOTH
@pytest.mark.parametrize("batches", ORDERS.values(), ids=ORDERS)
def test_offsets_that_do_not_rise_are_refused(kernels, batches):
    assert isinstance(refused(batches, kernels), Damaged)


@BOTH
def test_a_batch_that_says_it_expands_too_far_is_named(kernels):
    two_gigabytes = b"\xff\xff\xff\xff\x07"
    error = refused([with_body(two_gigabytes, 1, Codec.SNAPPY)], kernels)
    assert (type(error), str(error)) == (
        ExpandsTooFar,
        f"record batch at offset 100: expands beyond {EXPANSION_LIMIT_BYTES} bytes",
    )


def test_the_usual_limit_is_far_above_a_batch():
    assert EXPANSION_LIMIT_BYTES >= 100 * 1024 * 1024


@PATIENT
@given(st.lists(st.binary(max_size=120), max_size=4), st.integers(0, 2**62))
def test_any_bytes_are_refused_alike(contents, start):
    plain = outcome(contents, rebatch_plain, from_offset=start)
    assert outcome(contents, rebatch_compiled, from_offset=start) == plain


@PATIENT
@given(st.data())
def test_any_records_with_a_valid_crc_come_out_alike(data):
    """Random bytes where records should be: the compiled loop must not trust what the CRC vouches for."""
    batches = []
    for number in range(data.draw(st.integers(1, 3))):
        body = data.draw(st.binary(max_size=60))
        codec = data.draw(codecs)
        header = BatchHeader.decode(dense(offset=3 * number))._replace(
            record_count=data.draw(st.integers(-1, 4)),
            last_offset_delta=data.draw(st.integers(-1, 4)),
            attributes=codec,
        )
        batches.append(seal(header, compress(codec, body)))
    assert outcome(batches, rebatch_compiled) == outcome(batches, rebatch_plain)


@examples(300)
@given(st.data())
def test_flipped_bits_behind_a_valid_crc_come_out_alike(data):
    """Damage that happened before the producer's CRC, in header fields and in records."""
    (_, batch), *_ = data.draw(stretches(most=1))
    bits = st.integers(8 * 21, 8 * len(batch) - 1)
    for bit in data.draw(st.lists(bits, min_size=1, max_size=5)):
        batch = bytes(flipped(batch, bit))
    sealed = seal(BatchHeader.decode(batch), batch[61:])
    room = data.draw(st.sampled_from([1, 60, 10**6]))
    plain = outcome([sealed], rebatch_plain, target_bytes=room)
    assert outcome([sealed], rebatch_compiled, target_bytes=room) == plain


def test_a_held_error_does_not_spoil_the_next_call():
    with pytest.raises(Damaged) as held:
        rebatch([flipped(dense(), 8 * 80)], **ROOMY)
    assert len(rebatch([dense()], **ROOMY)) == 1
    assert held.value.offset == 100


def test_numba_is_imported_by_the_first_use_only():
    code = (
        "import sys\n"
        "from jobs.wire.rebatch import rebatcher as rebatch; from jobs.wire.batches import records, record_batch, compression\n"
        "sys.exit('numba' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
