"""Records of `__consumer_offsets`, made here and by real brokers."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.wire.errors import RecordFormatError
from jobs.wire.messages.reader import UnknownBytes
from jobs.wire.topics.consumer_offsets import (
    GROUP_RECORD_TYPES,
    KEY_SCHEMAS,
    VALUE_SCHEMAS,
    decode_group_record,
)
from tests.examples import examples
from tests.jobs.wire.metadata_values import every_version, structs
from tests.jobs.wire.topics.written_records import encode_group_record
from tests.support import STREAMS_LIVE

CAPTURES = sorted(STREAMS_LIVE.glob("*/group_log.json"))
EVERY = [
    pytest.param(schema.number, version, id=f"{schema.type} v{version}")
    for schema, version in every_version(list(VALUE_SCHEMAS.values()))
]
COMMIT = {"group": "billing", "topic": "orders", "partition": 3}


def hex_of(text: str | None) -> bytes | None:
    return None if text is None else bytes.fromhex(text)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.parent.name)
def test_records_of_a_real_broker_are_read_strictly(path):
    types = set()
    for row in json.loads(path.read_text(encoding="utf-8")):
        read = decode_group_record(hex_of(row["key_hex"]), hex_of(row["value_hex"]), strict=True)
        assert read.number == row["key_version"]
        types.add(read.type)
    assert types <= set(GROUP_RECORD_TYPES.values())
    assert (
        "OFFSET_COMMIT" in types or "GROUP_METADATA" in types or "STREAMS_GROUP_METADATA" in types
    )


def test_an_offset_commit_of_the_version_that_brokers_write_today():
    key = bytes.fromhex("00010007") + b"billing" + b"\0\6orders" + b"\0\0\0\3"
    value = bytes.fromhex("000300000000000000640000000500000000018bcfe56800")
    read = decode_group_record(key, value, strict=True)
    assert (read.type, read.version, read.key) == ("OFFSET_COMMIT", 3, COMMIT)
    assert read.data == {
        "offset": 100,
        "leaderEpoch": 5,
        "metadata": "",
        "commitTimestamp": 1_700_000_000_000,
    }


@pytest.mark.parametrize(("number", "version"), EVERY)
@given(st.data())
@examples(15)
def test_every_version_survives_the_round_trip_and_no_prefix_does(number, version, data):
    key = data.draw(structs(KEY_SCHEMAS[number].fields, 0))
    value = data.draw(structs(VALUE_SCHEMAS[number].fields, version))
    written = encode_group_record(number, version, key, value)
    read = decode_group_record(*written, strict=True)
    assert (read.number, read.version, read.key, read.data) == (number, version, key, value)
    cut = written[1][: data.draw(st.integers(0, len(written[1]) - 1))]
    with pytest.raises(RecordFormatError):
        decode_group_record(written[0], cut, strict=True)
    assert decode_group_record(written[0], cut).type in {"UNDECODABLE", "UNKNOWN_GROUP_RECORD"}


def test_a_tombstone_has_a_key_only():
    read = decode_group_record(*encode_group_record(1, 0, COMMIT, None), strict=True)
    assert (read.type, read.version, read.key, read.data) == ("OFFSET_COMMIT", -1, COMMIT, None)


@pytest.mark.parametrize("number", sorted(set(GROUP_RECORD_TYPES) - set(KEY_SCHEMAS)))
def test_records_of_newer_groups_are_named_and_kept(number):
    value = b"\0\0abc"
    read = decode_group_record(number.to_bytes(2, "big") + b"\0\1g", value, strict=True)
    assert (read.type, read.data) == (GROUP_RECORD_TYPES[number], {"sizeBytes": 5})
    assert read.unknown == (UnknownBytes("", None, value),)


@pytest.mark.parametrize(
    ("key", "value", "kind", "problem"),
    [
        pytest.param(b"\0\x63", b"\0\0", "UNKNOWN_GROUP_RECORD", "type 99", id="type"),
        pytest.param(b"\0\2\0\1g", b"\0\5", "UNKNOWN_GROUP_RECORD", "no version 5", id="version"),
        pytest.param(None, b"\0\0", "UNDECODABLE", "no bytes", id="no key"),
        pytest.param(b"\0", b"\0\0", "UNDECODABLE", "1 bytes", id="short key"),
        pytest.param(b"\0\2\0\1g!", b"\0\0", "UNDECODABLE", "left behind", id="long key"),
        pytest.param(b"\0\2\xff\xffg", b"\0\0", "UNDECODABLE", "null", id="null group"),
    ],
)
def test_what_is_unknown_is_named_leniently_and_refused_strictly(key, value, kind, problem):
    assert decode_group_record(key, value).type == kind
    with pytest.raises(RecordFormatError, match=problem):
        decode_group_record(key, value, strict=True)


@given(st.none() | st.binary(max_size=40), st.none() | st.binary(max_size=80))
def test_no_bytes_at_all_make_lenient_reading_fail(key, value):
    json.dumps(decode_group_record(key, value).data)
