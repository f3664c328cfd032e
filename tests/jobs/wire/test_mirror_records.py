"""MirrorMaker 2's records byte by byte."""

from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.wire import mirror_records as records
from jobs.wire.errors import RecordFormatError
from tests.support import conformance_cases

FILE = "mirror_maker_records"
FORMS = {
    "OffsetSync": (
        records.OffsetSync,
        records.encode_offset_sync,
        records.decode_offset_sync,
    ),
    "Checkpoint": (
        records.Checkpoint,
        records.encode_checkpoint,
        records.decode_checkpoint,
    ),
    "Heartbeat": (
        records.Heartbeat,
        records.encode_heartbeat,
        records.decode_heartbeat,
    ),
}

names = st.text(st.characters(codec="utf-8"), max_size=60)
int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
some_records = st.one_of(
    st.builds(records.OffsetSync, names, int32, int64, int64),
    st.builds(records.Checkpoint, names, names, int32, int64, int64, names),
    st.builds(records.Heartbeat, names, names, int64),
)


def read(case):
    _, _, decode = FORMS[case["record"]]
    return decode(bytes.fromhex(case["key_hex"]), bytes.fromhex(case["value_hex"]))


@pytest.mark.parametrize("case", conformance_cases(FILE, "vector"))
def test_a_vector_is_written_byte_by_byte(case):
    kind, encode, _ = FORMS[case["record"]]
    key, value = encode(kind(**case["fields"]))
    assert (key.hex(), value.hex()) == (case["key_hex"], case["value_hex"])
    assert (len(key), len(value)) == (case["key_length"], case["value_length"])


@pytest.mark.parametrize("case", conformance_cases(FILE, "vector"))
def test_a_vector_is_read_field_by_field(case):
    assert asdict(read(case)) == case["fields"]


@pytest.mark.parametrize("case", conformance_cases(FILE, "refuse"))
def test_an_unknown_version_is_refused(case):
    with pytest.raises(RecordFormatError, match=case["expected"]):
        read(case)


@given(some_records)
def test_what_was_written_is_read_back(record):
    _, encode, decode = FORMS[type(record).__name__]
    assert decode(*encode(record)) == record


@given(some_records, st.binary(min_size=1, max_size=20))
def test_bytes_after_the_last_field_are_ignored(record, more):
    _, encode, decode = FORMS[type(record).__name__]
    key, value = encode(record)
    assert decode(key + more, value + more) == record


@given(some_records)
def test_every_proper_prefix_is_refused(record):
    _, encode, decode = FORMS[type(record).__name__]
    key, value = encode(record)
    cut = [(key[:n], value) for n in range(len(key))] + [
        (key, value[:n]) for n in range(len(value))
    ]
    for pair in cut:
        with pytest.raises(RecordFormatError):
            decode(*pair)


@given(st.sampled_from(sorted(FORMS)), st.binary(max_size=60), st.binary(max_size=60))
def test_any_bytes_are_a_record_or_a_named_error(kind, key, value):
    form, _, decode = FORMS[kind]
    try:
        read_record = decode(key, value)
    except RecordFormatError:
        return
    assert isinstance(read_record, form)


@pytest.mark.parametrize("kind", FORMS)
@pytest.mark.parametrize(("key", "value"), [(None, b"x"), (b"x", None)])
def test_a_null_is_refused_with_its_reason(kind, key, value):
    with pytest.raises(RecordFormatError, match="never null"):
        FORMS[kind][2](key, value)


def test_a_checkpoint_without_metadata_has_an_empty_text():
    key, value = records.encode_checkpoint(records.Checkpoint("g", "t", 0, 1, 2))
    assert value.endswith(b"\0\0")
    assert records.decode_checkpoint(key, value).metadata == ""


def test_a_negative_length_of_a_string_is_refused():
    with pytest.raises(RecordFormatError, match="length -1"):
        records.decode_offset_sync(b"\xff\xff\0\0\0\0", bytes(16))


def test_a_name_that_is_not_utf8_is_refused():
    with pytest.raises(RecordFormatError, match="not UTF-8"):
        records.decode_offset_sync(b"\0\x01\xff\0\0\0\0", bytes(16))


@pytest.mark.parametrize(
    "record", [records.Checkpoint("g", "t", 0, 1, 2, version=1), records.Heartbeat("a", "b", 1, 7)]
)
def test_an_unknown_version_is_not_written_either(record):
    with pytest.raises(RecordFormatError, match="unsupported version"):
        FORMS[type(record).__name__][1](record)


def test_a_name_that_is_too_long_is_not_written():
    with pytest.raises(ValueError, match="longer than 32767"):
        records.encode_heartbeat(records.Heartbeat("a" * 32768, "b", 1))
