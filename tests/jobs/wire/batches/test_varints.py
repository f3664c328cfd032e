"""Variable-length integers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.wire.batches.varints import (
    encode_varint,
    encode_varlong,
    read_varint,
    read_varlong,
    wrap_int64,
)
from jobs.wire.errors import RecordFormatError

INT32 = (encode_varint, read_varint, 32)
INT64 = (encode_varlong, read_varlong, 64)
BOTH = pytest.mark.parametrize(
    ("encode", "read", "bits"), [INT32, INT64], ids=["varint", "varlong"]
)
KNOWN = [
    (0, "00"),
    (-1, "01"),
    (1, "02"),
    (63, "7e"),
    (-64, "7f"),
    (64, "8001"),
    (-8192, "ff7f"),
    (2**31 - 1, "feffffff0f"),
    (-(2**31), "ffffffff0f"),
]


@BOTH
@pytest.mark.parametrize(("value", "written"), KNOWN, ids=[str(value) for value, _ in KNOWN])
def test_a_known_value_is_written_and_read(encode, read, bits, value, written):
    assert encode(value).hex() == written
    assert read(bytes.fromhex(written), 0) == (value, len(written) // 2)


@BOTH
@given(st.data())
def test_what_was_written_is_read_back(encode, read, bits, data):
    value = data.draw(st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1))
    before, after = data.draw(st.binary(max_size=3)), data.draw(st.binary(max_size=3))
    written = encode(value)
    end = len(before) + len(written)
    assert read(before + written + after, len(before)) == (value, end)


@BOTH
@pytest.mark.parametrize("is_negative", [False, True], ids=["above", "below"])
def test_a_value_outside_its_range_is_not_written(encode, read, bits, is_negative):
    largest = 2 ** (bits - 1) - 1
    with pytest.raises(ValueError, match=f"does not fit into {bits} bits"):
        encode(-largest - 2 if is_negative else largest + 1)


@BOTH
def test_a_value_that_is_cut_off_is_refused(encode, read, bits):
    with pytest.raises(RecordFormatError, match="has no end"):
        read(b"\x80\x80", 0)


@BOTH
def test_a_value_that_does_not_end_in_time_is_refused(encode, read, bits):
    with pytest.raises(RecordFormatError, match="is too long"):
        read(b"\xff" * 11, 0)


@BOTH
def test_bits_beyond_the_type_are_dropped_as_in_java(encode, read, bits):
    longest = {32: 5, 64: 10}[bits]
    assert read(b"\xff" * (longest - 1) + b"\x7f", 0) == (-(2 ** (bits - 1)), longest)


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_a_delta_that_overflows_leads_back(base, value):
    assert wrap_int64(base + wrap_int64(value - base)) == value
