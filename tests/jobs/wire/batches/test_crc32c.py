"""CRC-32C and the advance of a difference through bytes that are not read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.wire.batches.hashes import advance, checksum
from tests.support import conformance_cases

uint32 = st.integers(0, 2**32 - 1)
LENGTHS = [0, 1, 4095, 4096, 4097, 255 * 4096, 256 * 4096, 257 * 4096 + 5, 3_000_000]


def bit_by_bit(difference, zero_bytes):
    """Shift a difference by single bits: the definition, without tables."""
    for _ in range(8 * zero_bytes):
        difference = difference >> 1 ^ (0x82F63B78 if difference & 1 else 0)
    return difference


@pytest.mark.parametrize("case", conformance_cases("kraft_vectors", "crc32c"))
def test_the_check_value_of_the_standard_is_met(case):
    assert checksum(case["input_utf8"].encode()) == int(case["expected_hex"], 16)


@pytest.mark.parametrize("length", LENGTHS)
def test_a_difference_travels_through_a_tail_of_any_length(length):
    tail = bytes(range(251)) * (length // 251 + 1)
    one, other = checksum(b"one" + tail[:length]), checksum(b"two" + tail[:length])
    assert advance(checksum(b"one") ^ checksum(b"two"), length) == one ^ other


@given(uint32, st.integers(0, 300))
def test_the_advance_agrees_with_its_definition(difference, zero_bytes):
    assert advance(difference, zero_bytes) == bit_by_bit(difference, zero_bytes)


@given(uint32, st.integers(0, 2**31), st.integers(0, 2**31))
def test_two_advances_are_one_of_both_lengths(difference, first, second):
    assert advance(advance(difference, first), second) == advance(difference, first + second)


@given(st.integers(0, 2**31))
def test_no_difference_stays_none(zero_bytes):
    assert advance(0, zero_bytes) == 0
