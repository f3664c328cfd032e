"""Control records of the quorum and of transactions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.wire.errors import RecordFormatError
from jobs.wire.metadata.control_records import (
    decode_control_key,
    decode_control_record,
    encode_control_record,
)
from jobs.wire.metadata.schema import CONTROL_SCHEMAS
from tests.examples import examples
from tests.jobs.wire.metadata_values import every_version, structs
from tests.support import conformance_cases

FILE = "kraft_vectors"
DIRECTORIES = {
    "11111111-1111-4111-8111-111111111111": "ERERERERQRGBEREREREREQ",
    "22222222-2222-4222-8222-222222222222": "IiIiIiIiQiKCIiIiIiIiIg",
}


def key_of(number: int) -> bytes:
    return bytes(2) + number.to_bytes(2, "big")


def as_json(expected: dict) -> dict:
    names = {
        "kraft_version": "kRaftVersion",
        "last_contained_log_timestamp": "lastContainedLogTimestamp",
    }
    found = {names.get(name, name): value for name, value in expected.items()}
    if "voters" in found:
        found["voters"] = [voter_json(voter) for voter in found["voters"]]
    return found


def voter_json(voter: dict) -> dict:
    low, high = voter["kraft_version"]
    return {
        "voterId": voter["voter_id"],
        "voterDirectoryId": DIRECTORIES[voter["directory_id"]],
        "endpoints": voter["endpoints"],
        "kRaftVersionFeature": {"minSupportedVersion": low, "maxSupportedVersion": high},
    }


@pytest.mark.parametrize("case", conformance_cases(FILE, "control_value"))
def test_a_vector_is_read_field_by_field_and_written_byte_by_byte(case):
    value = bytes.fromhex(case["hex"])
    read = decode_control_record(key_of(case["control_type"]), value, strict=True)
    assert (read.number, read.version) == (case["control_type"], case["version"])
    assert read.data == as_json(case["expected"])
    assert encode_control_record(read.type, read.data) == (key_of(case["control_type"]), value)


@pytest.mark.parametrize("case", conformance_cases(FILE, "control_key"))
def test_a_key_says_what_its_value_is(case):
    version, number = decode_control_key(bytes.fromhex(case["hex"]))
    expected = case["expected"]
    assert (version, number) == (expected["version"], expected["type"])
    names = {schema.number: schema.type for schema in CONTROL_SCHEMAS}
    assert names[number] == expected["name"]


@pytest.mark.parametrize(
    ("schema", "version"),
    [pytest.param(*one, id=f"{one[0].type} v{one[1]}") for one in every_version(CONTROL_SCHEMAS)],
)
@given(st.data())
@examples(20)
def test_every_control_record_survives_the_round_trip(schema, version, data):
    fields = data.draw(structs(schema.fields, version)) | {"version": version}
    key, value = encode_control_record(schema.type, fields)
    read = decode_control_record(key, value, strict=True)
    assert (read.type, read.version, read.data, read.unknown) == (schema.type, version, fields, ())
    cut = value[: data.draw(st.integers(0, len(value) - 1))]
    with pytest.raises(RecordFormatError):
        decode_control_record(key, cut, strict=True)
    assert decode_control_record(key, cut).type == "UNDECODABLE"


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        pytest.param(None, b"", "no bytes", id="no key"),
        pytest.param(b"\0\0\0", b"", "3 bytes", id="short key"),
        pytest.param(b"\xff\xff\0\5", b"\0\0\0\1\0", "version -1", id="negative version"),
        pytest.param(b"\0\0\0\5", None, "no bytes", id="no value"),
        pytest.param(b"\0\0\0\7", b"\0\0\0", "type 7 is unknown", id="unknown type"),
        pytest.param(b"\0\0\0\5", b"\0\1\0\1\0", "no version 1", id="unknown version"),
        pytest.param(b"\0\0\0\5", b"\0\0\0\1\0\0", "left behind", id="trailing bytes"),
        pytest.param(b"\0\0\0\1", b"\0\0\0", "COMMIT has 3 bytes", id="short marker"),
    ],
)
def test_what_is_no_control_record_is_refused_strictly_and_named_leniently(key, value, problem):
    with pytest.raises(RecordFormatError, match=problem):
        decode_control_record(key, value, strict=True)
    assert decode_control_record(key, value).type in {"UNDECODABLE", "UNKNOWN_CONTROL_RECORD"}


def test_a_newer_key_is_read_as_if_it_were_version_0():
    assert decode_control_key(b"\0\3\0\6and more") == (3, 6)


@pytest.mark.parametrize("kind", ["ABORT", "COMMIT"])
def test_markers_of_transactions_are_read(kind):
    key, value = encode_control_record(kind, {"coordinatorEpoch": 9})
    read = decode_control_record(key, value + b"of a newer version", strict=True)
    assert (read.type, read.data) == (kind, {"version": 0, "coordinatorEpoch": 9})


@given(st.binary(max_size=12), st.binary(max_size=60))
def test_no_bytes_at_all_make_lenient_reading_fail(key, value):
    assert decode_control_record(key, value).type


def test_leader_changes_of_version_0_have_no_directory_ids():
    key, value = encode_control_record(
        "LEADER_CHANGE", {"leaderId": 1, "voters": [{"voterId": 1}, {"voterId": 2}]}
    )
    assert decode_control_record(key, value).data == {
        "version": 0,
        "leaderId": 1,
        "voters": [{"voterId": 1}, {"voterId": 2}],
        "grantingVoters": [],
    }
