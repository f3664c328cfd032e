"""The codecs of record batches and their frames."""

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.wire.batches.compression import compress, decompress
from jobs.wire.batches.record_batch import Codec
from jobs.wire.errors import ExpandsTooFar, RecordFormatError

LIMIT = 10_000_000
PACKED = [codec for codec in Codec if codec is not Codec.NONE]
EVERY = pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name)
EVERY_PACKED = pytest.mark.parametrize("codec", PACKED, ids=lambda codec: codec.name)
SIZES = [0, 1, 32 * 1024, 64 * 1024, 64 * 1024 + 1, 2_500_000]
contents = st.one_of(
    st.binary(max_size=300),
    st.builds(lambda part, times: part * times, st.binary(max_size=50), st.integers(0, 5000)),
)


@EVERY
@given(contents)
def test_what_was_compressed_is_expanded_again(codec, content):
    assert decompress(codec, compress(codec, content), LIMIT) == content


@EVERY
@pytest.mark.parametrize("size", SIZES)
def test_content_of_any_size_is_expanded_again(codec, size):
    content = bytes(index * index % 251 for index in range(1000)) * (size // 1000 + 1)
    assert decompress(codec, compress(codec, memoryview(content)[:size]), LIMIT) == content[:size]


@EVERY
@pytest.mark.parametrize("size", [1000, 5_000_000])
def test_what_expands_beyond_the_limit_is_refused(codec, size):
    with pytest.raises(ExpandsTooFar, match=f"expands beyond {size - 1} bytes") as caught:
        decompress(codec, compress(codec, bytes(size)), size - 1)
    assert caught.value.limit_bytes == size - 1


@EVERY
def test_what_just_fits_into_the_limit_is_expanded(codec):
    assert len(decompress(codec, compress(codec, bytes(5_000_000)), 5_000_000)) == 5_000_000


@EVERY_PACKED
@given(st.binary(max_size=300))
def test_any_bytes_are_expanded_or_refused_with_a_named_error(codec, content):
    try:
        assert len(decompress(codec, content, 5000)) <= 5000
    except (RecordFormatError, ExpandsTooFar):
        return


@EVERY_PACKED
@given(st.data())
def test_flipped_bytes_are_expanded_or_refused_with_a_named_error(codec, data):
    content = bytearray(compress(codec, b"some words, some words again" * 40))
    for at in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=4)):
        content[at] ^= data.draw(st.integers(1, 255))
    try:
        assert len(decompress(codec, content, 5000)) <= 5000
    except (RecordFormatError, ExpandsTooFar):
        return


@EVERY_PACKED
def test_content_that_is_cut_off_is_refused(codec):
    packed = compress(codec, bytes(range(256)) * 20)
    with pytest.raises(RecordFormatError):
        decompress(codec, packed[:-5], LIMIT)


def test_an_lz4_frame_has_independent_blocks_and_no_checksums_as_java_reads_it():
    packed = compress(Codec.LZ4, bytes(100))
    assert packed[:7].hex() == "04224d18604082"


def test_every_lz4_block_can_be_expanded_on_its_own():
    content = bytes(range(256)) * 600
    packed = compress(Codec.LZ4, content)
    at, expanded = 7, b""
    while size := int.from_bytes(packed[at : at + 4], "little"):
        block = packed[at + 4 : at + 4 + size]
        whole = min(65536, len(content) - len(expanded))
        expanded += bytes(cramjam.lz4.decompress_block(block, output_len=whole))
        at += 4 + size
    assert expanded == content


def test_an_lz4_block_that_does_not_shrink_is_stored():
    content = bytes(cramjam.zstd.compress(bytes(index * 7919 % 257 % 256 for index in range(3000))))
    packed = compress(Codec.LZ4, content)
    assert packed[7:11] == (len(content) | 0x80000000).to_bytes(4, "little")
    assert packed[11:-4] == content


@pytest.mark.parametrize("linked", [True, False], ids=["linked", "independent"])
def test_lz4_frames_with_any_blocks_are_expanded(linked):
    content = bytes(range(256)) * 1000
    maker = cramjam.lz4.Compressor(content_checksum=True, block_linked=linked)
    maker.compress(content)
    assert decompress(Codec.LZ4, bytes(maker.finish()), LIMIT) == content


def test_snappy_is_written_in_the_frame_of_java():
    packed = compress(Codec.SNAPPY, bytes(100))
    assert packed[:16].hex() == "82534e41505059000000000100000001"
    assert int.from_bytes(packed[16:20], "big") == len(packed) - 20


def test_snappy_without_a_frame_is_expanded():
    content = b"some words, some words again" * 40
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(content)), LIMIT) == content


def test_snappy_streams_one_behind_the_other_are_expanded():
    packed = compress(Codec.SNAPPY, b"one") + compress(Codec.SNAPPY, b"two")
    assert decompress(Codec.SNAPPY, packed, LIMIT) == b"onetwo"


def test_the_limit_holds_for_all_snappy_blocks_together():
    with pytest.raises(ExpandsTooFar, match="expands beyond 60000 bytes"):
        decompress(Codec.SNAPPY, compress(Codec.SNAPPY, bytes(70_000)), 60_000)


@pytest.mark.parametrize("length", [0, 7, 2**31 + 5, 2**32 - 1])
def test_a_snappy_block_with_a_length_that_cannot_be_is_refused(length):
    packed = compress(Codec.SNAPPY, b"")
    with pytest.raises(RecordFormatError, match="block at byte 16 has no such length"):
        decompress(Codec.SNAPPY, packed + length.to_bytes(4, "big") + b"123", LIMIT)
