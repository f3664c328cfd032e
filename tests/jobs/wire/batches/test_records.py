"""Records of a batch one by one, against bytes written by hand, another library and a real log."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.wire.batches.compression import compress
from jobs.wire.batches.record_batch import (
    HEADER_BYTES,
    BatchHeader,
    Codec,
    has_valid_crc,
    iterate_batches,
    verify_crc,
)
from jobs.wire.batches.records import (
    PlacedRecord,
    Record,
    decode_records,
    encode_batch,
    placed_records,
    seal,
)
from jobs.wire.errors import Damaged, ExpandsTooFar
from tests.jobs.wire.strategies import contents, dense, headers, placed, shapes
from tests.support import CONFORMANCE, METADATA_FOLDER

# length 14, attributes 0, timestamp +5, offset +1, key "k", null value, headers ("h", "v") and ("h", null)
BY_HAND = bytes.fromhex("1c 00 0a 02 02 6b 01 04 02 68 02 76 02 68 01")


def with_body(body, count=1, attributes=0):
    """Return a batch with a valid CRC around any bytes."""
    header = BatchHeader.decode(dense(count=1, offset=100))
    return seal(header._replace(record_count=count, attributes=attributes), body)


@given(st.data())
def test_records_are_read_as_they_were_written(data):
    records = data.draw(placed(least=1))
    batch = encode_batch(records, codec=data.draw(st.sampled_from(Codec)))
    assert placed_records(batch) == records


@given(st.data())
def test_a_written_batch_has_its_crc_and_its_latest_timestamp(data):
    records = data.draw(placed(least=1))
    batch = encode_batch(records, codec=data.draw(st.sampled_from(Codec)))
    verify_crc(batch)
    header = BatchHeader.decode(batch)
    assert header.max_timestamp == max(record.timestamp for record in records)
    assert header.base_timestamp == records[0].timestamp
    assert (header.base_offset, header.last_offset) == (records[0].offset, records[-1].offset)


@given(st.data())
def test_any_fields_of_a_batch_are_written(data):
    records = data.draw(placed(least=1))
    shape = data.draw(shapes(records))
    header = BatchHeader.decode(encode_batch(records, **shape))
    for name in (
        "base_offset",
        "producer_id",
        "producer_epoch",
        "base_sequence",
        "is_transactional",
    ):
        assert getattr(header, name) == shape[name], name
    assert header.codec is shape["codec"]


def test_a_record_written_by_hand_is_read():
    assert decode_records(with_body(BY_HAND)) == [
        Record(1, 5, b"k", None, ((b"h", b"v"), (b"h", None)))
    ]


def test_a_record_is_written_as_by_hand():
    record = PlacedRecord(101, 1005, b"k", None, ((b"h", b"v"), (b"h", None)))
    batch = encode_batch([record], base_offset=100, delete_horizon_ms=1000)
    assert batch[HEADER_BYTES:] == BY_HAND


def test_with_log_append_time_every_record_has_the_time_of_the_broker():
    assert [record.timestamp for record in placed_records(dense(log_append_time_ms=77))] == [77] * 3


def test_with_a_delete_horizon_times_stay_what_they_are():
    assert [record.timestamp for record in placed_records(dense(delete_horizon_ms=9))] == [
        1000,
        1001,
        1002,
    ]


@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name)
def test_a_batch_that_was_cleaned_to_nothing_has_no_records(codec):
    batch = encode_batch([], codec=codec, base_offset=5, last_offset=9)
    assert (decode_records(batch), BatchHeader.decode(batch).next_offset) == ([], 10)


MALFORMED = {
    "a length beyond the batch": (b"\x7e" + BY_HAND[1:], 1),
    "a length too short": (b"\x1a" + BY_HAND[1:], 1),
    "a length of nothing": (b"\x00" + BY_HAND, 1),
    "a negative length": (b"\x01" + BY_HAND, 1),
    "a length without end": (b"\xff" * 6, 1),
    "bytes behind the last record": (BY_HAND + b"\0", 1),
    "fewer records than said": (BY_HAND, 2),
    "a negative count": (BY_HAND, -1),
    "no records at all": (b"", 1),
    "records where none are said": (BY_HAND, 0),
    "a key beyond the record": (bytes.fromhex("0c 00 00 00 40 6b 00"), 1),
    "a key of length -2": (bytes.fromhex("0c 00 00 00 03 00 00"), 1),
    "a header without a name": (bytes.fromhex("10 00 00 00 01 01 02 01 01"), 1),
    "a negative number of headers": (bytes.fromhex("0c 00 00 00 01 01 01"), 1),
    "more headers than bytes": (bytes.fromhex("0c 00 00 00 01 01 7e"), 1),
}


@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name)
@pytest.mark.parametrize(("body", "count"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_records_are_named_with_their_batch(body, count, codec):
    with pytest.raises(Damaged) as caught:
        decode_records(with_body(compress(codec, body) if body else b"", count, codec))
    assert caught.value.offset == 100


def test_records_that_cannot_be_expanded_are_named_with_their_batch():
    with pytest.raises(Damaged, match="offset 100: zstd: "):
        decode_records(with_body(b"not zstd", 1, Codec.ZSTD))


def test_records_that_expand_too_far_are_named_with_their_batch():
    batch = encode_batch([PlacedRecord(100, 0, None, bytes(5000))], codec=Codec.GZIP)
    with pytest.raises(ExpandsTooFar, match="offset 100: expands beyond 4000 bytes"):
        decode_records(batch, limit_bytes=4000)


@given(st.binary(max_size=80), st.integers(-1, 4), st.sampled_from(Codec))
def test_any_bytes_are_records_or_a_named_error(body, count, codec):
    try:
        found = decode_records(with_body(body, count, codec))
    except (Damaged, ExpandsTooFar):
        return
    assert len(found) == count


@settings(deadline=None)  # the first example waits for the other library's import
@given(st.data())
def test_another_library_reads_the_same_records(data):
    from kio.records.readers import read_batch

    # Whole seconds of this century: kio makes dates of timestamps.
    seconds = st.integers(10**9, 2 * 10**9).map(lambda second: 1000 * second)
    parts = st.lists(st.tuples(seconds, contents, contents, headers), min_size=1, max_size=6)
    records = [PlacedRecord(70 + at, *part) for at, part in enumerate(data.draw(parts))]
    batch, size = read_batch(encode_batch(records, producer_id=4), 0)
    found = [
        PlacedRecord(
            record.offset,
            int(record.timestamp.timestamp() * 1000),
            record.key,
            record.value,
            tuple((header.key, header.value) for header in record.headers),
            record.attributes,
        )
        for record in batch.records
    ]
    assert (found, batch.producer_id, size) == (records, 4, len(encode_batch(records)))


LOG_FILES = sorted([*METADATA_FOLDER.glob("*.log"), *METADATA_FOLDER.glob("*.checkpoint")])
REAL = pytest.mark.parametrize("file", LOG_FILES, ids=lambda file: file.name)


@REAL
def test_every_batch_of_a_real_log_is_whole_and_has_its_crc(file):
    content = file.read_bytes()
    batches = list(iterate_batches(content))
    assert sum(len(batch) for _, batch in batches) == len(content)
    assert all(has_valid_crc(batch) for _, batch in batches)


@REAL
def test_every_batch_of_a_real_log_is_written_again_byte_by_byte(file):
    for header, batch in iterate_batches(file.read_bytes()):
        again = encode_batch(
            placed_records(batch),
            base_offset=header.base_offset,
            last_offset=header.last_offset,
            partition_leader_epoch=header.partition_leader_epoch,
            is_control=header.is_control,
        )
        assert again == batch


@REAL
def test_the_headers_of_a_real_log_are_those_that_kafkas_own_tool_prints(file):
    dump = (CONFORMANCE / "kraft_log" / "expected_dump.txt").read_text(encoding="utf-8")
    section = dump.split(f"Dumping {file.name}\n")[1].split("Dumping ")[0]
    form = r"^baseOffset: (\d+) lastOffset: (\d+) count: (\d+).* isControl: (\w+).* crc: (\d+)"
    printed = re.findall(form, section, re.MULTILINE)
    found = [
        (header.base_offset, header.last_offset, header.record_count, header.is_control, header.crc)
        for header, _ in iterate_batches(file.read_bytes())
    ]
    assert [tuple(map(str, row)) for row in found] == [
        (base, last, count, control.title(), crc) for base, last, count, control, crc in printed
    ]
