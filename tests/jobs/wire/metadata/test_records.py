"""Record values of the metadata log: every type and version of the table, and everything that is none."""

import base64
import json
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.wire.errors import RecordFormatError
from jobs.wire.messages.reader import UnknownBytes
from jobs.wire.messages.writer import encode_uvarint
from jobs.wire.metadata.records import (
    REDACTED,
    decode_metadata_record,
    encode_metadata_record,
    redact,
)
from jobs.wire.metadata.schema import METADATA_SCHEMAS
from tests.examples import examples
from tests.jobs.wire.metadata_values import every_version, metadata_values, structs
from tests.support import conformance_cases

FILE = "kraft_vectors"
CHANGE = bytes.fromhex(
    "010502000000030000000000000000000000000000004d03000903000000010000000201040000000106050200000003"
)
NO_OP = bytes.fromhex("01140000")
NAMES = {
    "partition_id": "partitionId",
    "isr": "isr",
    "leader": "leader",
    "eligible_leader_replicas": "eligibleLeaderReplicas",
}
EVERY = [
    pytest.param(schema, version, id=f"{schema.type} v{version}")
    for schema, version in every_version(METADATA_SCHEMAS)
]


def as_json(expected: dict) -> dict:
    found = {NAMES[name]: value for name, value in expected.items() if name in NAMES}
    topic_id = uuid.UUID(expected["topic_id"]).bytes
    return found | {"topicId": base64.urlsafe_b64encode(topic_id).decode().rstrip("=")}


@pytest.mark.parametrize("case", conformance_cases(FILE, "metadata_body", "metadata_value"))
def test_a_vector_is_read_field_by_field(case):
    framed = case["hex"] if case["kind"] == "metadata_value" else f"010502{case['hex']}"
    record = decode_metadata_record(bytes.fromhex(framed), strict=True)
    expected = case["expected"]
    assert record.api_key == expected.get("api_key", case.get("api_key"))
    assert record.version == expected.get("version", case.get("version"))
    assert (record.type, record.data) == ("PARTITION_CHANGE_RECORD", as_json(expected))


def test_fields_are_named_as_kafka_dump_log_names_them():
    assert decode_metadata_record(CHANGE).data == {
        "partitionId": 3,
        "topicId": "AAAAAAAAAAAAAAAAAAAATQ",
        "isr": [1, 2],
        "leader": 1,
        "eligibleLeaderReplicas": [3],
    }


@given(metadata_values())
@settings(deadline=None)
def test_what_was_written_is_read_again_without_its_secrets(record):
    kind, version, data = record
    value = encode_metadata_record(kind, version, data)
    read = decode_metadata_record(value, strict=True)
    assert (read.type, read.version, read.unknown) == (kind, version, ())
    assert read.data == redact(kind, json.loads(json.dumps(data)))
    json.dumps(read.data, allow_nan=False)


@pytest.mark.parametrize(("schema", "version"), EVERY)
@given(st.data())
@examples(8)
def test_every_record_and_version_survives_the_round_trip(schema, version, data):
    fields = data.draw(structs(schema.fields, version))
    value = encode_metadata_record(schema.type, version, fields)
    read = decode_metadata_record(value, strict=True)
    assert read.data == redact(schema.type, dict(fields))
    assert list(read.data) == [f.name for f in schema.fields if f.name in read.data]


@given(metadata_values(), st.data())
@settings(deadline=None)
def test_every_proper_prefix_is_refused_and_leniently_named(record, data):
    value = encode_metadata_record(*record)
    cut = value[: data.draw(st.integers(0, len(value) - 1))]
    with pytest.raises(RecordFormatError):
        decode_metadata_record(cut, strict=True)
    lenient = decode_metadata_record(cut)
    assert (lenient.type, lenient.data["sizeBytes"]) == ("UNDECODABLE", len(cut))
    assert lenient.unknown == (UnknownBytes("", None, cut),)


@given(metadata_values(), st.binary(min_size=1, max_size=9))
@settings(deadline=None)
def test_bytes_behind_a_record_are_refused(record, more):
    value = encode_metadata_record(*record) + more
    with pytest.raises(RecordFormatError, match="are left behind it"):
        decode_metadata_record(value, strict=True)
    assert decode_metadata_record(value).type == "UNDECODABLE"


@given(
    metadata_values(), st.dictionaries(st.integers(100, 2**31), st.binary(max_size=9), max_size=3)
)
@settings(deadline=None)
def test_foreign_tags_are_kept_and_change_nothing(record, tags):
    kind, version, data = record
    read = decode_metadata_record(encode_metadata_record(kind, version, data, tags), strict=True)
    assert read.data == redact(kind, dict(data))
    assert read.unknown == tuple(UnknownBytes("", tag, tags[tag]) for tag in sorted(tags))


def test_a_foreign_tag_inside_a_list_says_where_it_was():
    value = encode_metadata_record(
        "REGISTER_CONTROLLER_RECORD", 0, {"endPoints": [{"name": "A"}, {"name": "B"}]}
    )
    second = value.index(b"\x02B") + len(b"\x02B\x01\x00\x00\x00\x00")
    tagged = value[:second] + b"\x01\x64\x02hi" + value[second + 1 :]
    read = decode_metadata_record(tagged, strict=True)
    assert read.unknown == (UnknownBytes("endPoints[1]", 100, b"hi"),)


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_no_bytes_at_all_make_lenient_reading_fail(value):
    json.dumps(decode_metadata_record(value).data, allow_nan=False)


@given(metadata_values(), st.data())
@settings(deadline=None)
def test_a_flipped_bit_is_another_record_or_named_never_an_exception(record, data):
    value = bytearray(encode_metadata_record(*record))
    at = data.draw(st.integers(0, 8 * len(value) - 1))
    value[at // 8] ^= 1 << at % 8
    assert decode_metadata_record(bytes(value)).type


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        pytest.param("00140000", "frame version 0", id="frame of the preview"),
        pytest.param("02140000", "frame version 2", id="later frame"),
        pytest.param("01ffffffff1f0000", "larger than 32767", id="type out of range"),
        pytest.param("01808002" + "0000", "larger than 32767", id="type 32768"),
        pytest.param("0114ffffffff0f00", "larger than 32767", id="version out of range"),
        pytest.param("018080808080" + "00", "too long", id="type without an end"),
        pytest.param("01630000", "type 99 is unknown", id="unknown type"),
        pytest.param("01060000", "type 6 is unknown", id="type that was never used"),
        pytest.param("01140100", "no version 1", id="unknown version"),
        pytest.param("", "has no end", id="nothing"),
        pytest.param("0102000000000000000000000000000000000000" + "00", "null", id="null name"),
    ],
)
def test_strict_reading_refuses_as_upstream_does(value, problem):
    with pytest.raises(RecordFormatError, match=problem):
        decode_metadata_record(bytes.fromhex(value), strict=True)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("01e30703616263", {"apiKey": 995, "sizeBytes": 3}, id="type"),
        pytest.param(
            "011409616263", {"apiKey": 20, "name": "NO_OP_RECORD", "sizeBytes": 3}, id="version"
        ),
    ],
)
def test_unknown_types_and_versions_are_named_and_their_bytes_kept(value, expected):
    read = decode_metadata_record(bytes.fromhex(value))
    assert (read.type, read.data) == ("UNKNOWN_RECORD", expected)
    assert read.unknown == (UnknownBytes("", None, b"abc"),)
    assert "abc" not in repr(read)


@pytest.mark.parametrize(
    "bomb",
    [
        pytest.param("0105020000000300000000000000000000000000000000" + "01" + "00" + "05ffffffff0f", id="array"),
        pytest.param("01020" + "0ffffffff0f" + "00" * 16, id="string"),
        pytest.param("010b0002610000ffffffff0f", id="bytes"),
        pytest.param("011400ffffffff0f", id="tags"),
        pytest.param("0114000164ffffffff0f", id="size of a tag"),
    ],
)  # fmt: skip
def test_a_length_beyond_the_bytes_left_is_refused_before_anything_is_made(bomb):
    with pytest.raises(RecordFormatError):
        decode_metadata_record(bytes.fromhex(bomb), strict=True)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(b"\1\x0e\0" + encode_uvarint(2**18 + 1) + b"\1\0\0" * 2**18, id="structs"),
        pytest.param(b"\1\x14\0" + encode_uvarint(2**18) + b"\x64\0" * 2**18, id="tags"),
    ],
)
def test_more_elements_than_any_real_record_has_are_not_made(value):
    with pytest.raises(RecordFormatError, match="more than 131072 elements"):
        decode_metadata_record(value, strict=True)


def test_a_tagged_field_that_is_not_as_long_as_its_tag_says_is_refused():
    value = bytearray(CHANGE)
    at = CHANGE.index(b"\x01\x04\x00\x00\x00\x01\x06")
    value[at + 1] = 3
    with pytest.raises(RecordFormatError, match="leader has 4 bytes, its tag says 3"):
        decode_metadata_record(bytes(value), strict=True)


def test_an_empty_list_differs_from_an_unchanged_one():
    told = {"partitionId": 1, "isr": [], "directories": []}
    value = encode_metadata_record("PARTITION_CHANGE_RECORD", 1, told)
    read = decode_metadata_record(value).data
    assert (read["isr"], read["directories"], "replicas" in read) == ([], [], False)


def test_texts_that_are_no_utf8_are_read_with_replacements_as_java_does():
    value = encode_metadata_record("CLEAR_ELR_RECORD", 0, {"topicName": "ab"})
    assert decode_metadata_record(value.replace(b"ab", b"a\xff")).data == {"topicName": "a�"}


@pytest.mark.parametrize(
    ("kind", "version", "data", "problem"),
    [
        pytest.param("NO_RECORD", 0, {}, "no record type", id="type"),
        pytest.param("NO_OP_RECORD", 1, {}, "no version 1", id="version"),
        pytest.param("NO_OP_RECORD", 0, {"x": 1}, "no field x", id="field"),
        pytest.param("REGISTER_BROKER_RECORD", 2, {"logDirs": []}, "no field logDirs", id="later"),
        pytest.param("TOPIC_RECORD", 0, {"name": None}, "never null", id="null"),
        pytest.param("TOPIC_RECORD", 0, {"topicId": "AA"}, "no uuid", id="uuid"),
        pytest.param("TOPIC_RECORD", 0, {"name": "x" * 32768}, "more than 32767", id="length"),
        pytest.param("FENCE_BROKER_RECORD", 0, {"id": 2**31}, "id cannot be", id="range"),
    ],
)
def test_what_no_record_can_hold_is_not_written(kind, version, data, problem):
    with pytest.raises(ValueError, match=problem):
        encode_metadata_record(kind, version, data)


SECRET = "correct-horse-battery"


def config(name, value=SECRET):
    data = {"resourceType": 4, "resourceName": "1", "name": name, "value": value}
    return decode_metadata_record(encode_metadata_record("CONFIG_RECORD", 0, data)).data["value"]


@pytest.mark.parametrize(
    "name",
    [
        "ssl.keystore.password",
        "listener.name.external.ssl.key.password",
        "ssl.keystore.key",
        "ssl.keystore.certificate.chain",
        "ssl.truststore.certificates",
        "sasl.jaas.config",
        "listener.name.x.plain.sasl.jaas.config",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "delegation.token.secret.key",
        "password.encoder.secret",
        "rsm.config.aws.secret.access.key",
        "my.plugin.apiKey",
        "SOME_API_KEY",
    ],
)
def test_configs_that_look_like_secrets_are_redacted(name):
    assert config(name) == REDACTED


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("min.insync.replicas", "2"),
        ("ssl.keystore.location", "keys/broker.jks"),
        ("ssl.keystore.type", "PKCS12"),
        ("delegation.token.expiry.time.ms", "86400000"),
        ("sasl.oauthbearer.token.endpoint.url", "https://login.example/token"),
        ("password.encoder.iterations", "4096"),
        ("sasl.enabled.mechanisms", "SCRAM-SHA-512"),
        ("leader.replication.throttled.replicas", "0:1,1:2"),
        ("message.timestamp.type", "CreateTime"),
        ("key.converter.schemas.enable", "false"),
    ],
)
def test_configs_without_a_secret_stay_readable(name, value):
    assert config(name, value) == value


@pytest.mark.parametrize(
    "value",
    [
        f'o.a.k.PlainLoginModule required username="bob" password="{SECRET}";',
        f"jdbc:postgresql://bob:{SECRET}@db.example/x",
        "-----BEGIN RSA PRIVATE KEY-----",
        f'{{"secret": "{SECRET}"}}',
    ],
)
def test_a_value_that_carries_a_secret_is_redacted_whatever_its_name(value):
    assert config("metric.reporters.settings", value) == REDACTED


def test_a_config_that_was_taken_away_stays_null():
    assert config("ssl.key.password", None) is None


def test_scram_credentials_are_read_without_their_material():
    secret = base64.b64encode(SECRET.encode()).decode()
    material = dict.fromkeys(("salt", "storedKey", "serverKey"), secret)
    told = {"name": "bob", "mechanism": 2, "iterations": 8192, **material}
    read = decode_metadata_record(encode_metadata_record("USER_SCRAM_CREDENTIAL_RECORD", 0, told))
    assert read.data == told | dict.fromkeys(material, REDACTED)
    assert secret not in repr(read)


def test_records_of_one_token_can_be_told_to_belong_together_and_no_more():
    made = encode_metadata_record("DELEGATION_TOKEN_RECORD", 0, {"owner": "bob", "tokenId": SECRET})
    gone = encode_metadata_record("REMOVE_DELEGATION_TOKEN_RECORD", 0, {"tokenId": SECRET})
    other = encode_metadata_record("REMOVE_DELEGATION_TOKEN_RECORD", 0, {"tokenId": "another"})
    ids = [decode_metadata_record(value).data["tokenId"] for value in (made, gone, other)]
    assert ids[0] == ids[1] != ids[2]
    assert not any(SECRET in told for told in ids)
