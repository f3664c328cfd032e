"""User data of Kafka Streams: upstream's vectors, every truncation, every count that lies."""

import base64
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.wire.errors import RecordFormatError
from jobs.wire.streams_userdata import (
    HostMaps,
    decode_assignment_info,
    decode_commit_metadata,
    decode_subscription_info,
)
from tests.support import conformance_cases

FILE = "streams_userdata"
DECODERS = {
    "subscription_user_data": decode_subscription_info,
    "assignment_user_data": decode_assignment_info,
}
USER_DATA = conformance_cases(FILE, *DECODERS)


def plain(value):
    """What JSON can hold of a decoded value."""
    if hasattr(value, "_asdict"):
        return {name: plain(one) for name, one in value._asdict().items()}
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, tuple) else value


def fields_of(decoded):
    return {name: plain(getattr(decoded, name)) for name in decoded.__dataclass_fields__}


@pytest.mark.parametrize("case", USER_DATA)
def test_user_data_is_read_as_upstream_wrote_it(case):
    found = fields_of(DECODERS[case["kind"]](bytes.fromhex(case["hex"])))
    expected = case["expected"]
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize("case", USER_DATA)
def test_every_truncation_and_every_byte_too_many_is_refused(case):
    content = bytes.fromhex(case["hex"])
    for size in range(len(content)):
        with pytest.raises(RecordFormatError):
            DECODERS[case["kind"]](content[:size])
    with pytest.raises(RecordFormatError):
        DECODERS[case["kind"]](content + b"\0")


@pytest.mark.parametrize("case", USER_DATA)
def test_four_bytes_that_lie_are_refused_or_read_but_take_no_memory(case):
    content = bytes.fromhex(case["hex"])
    for at in range(len(content) - 3):
        for lie in (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0"):
            try:
                DECODERS[case["kind"]](content[:at] + lie + content[at + 4 :])
            except RecordFormatError:
                continue


@given(st.binary(max_size=200), st.integers(1, 11))
def test_any_bytes_are_read_or_refused_and_nothing_else_happens(noise, version):
    for decode in DECODERS.values():
        for content in (noise, version.to_bytes(4, "big") + noise):
            try:
                decode(content)
            except RecordFormatError:
                continue


def test_a_later_subscription_tells_its_two_versions_only():
    found = decode_subscription_info(bytes.fromhex("0000000c0000000d") + b"anything")
    assert (found.version, found.latest_supported_version, found.is_future) == (12, 13, True)
    assert found.process_id is None


@pytest.mark.parametrize("version", [0, -1, 12])
def test_an_assignment_of_an_unknown_version_is_refused(version):
    with pytest.raises(RecordFormatError, match=f"the version {version} is unknown"):
        decode_assignment_info(version.to_bytes(4, "big", signed=True) + bytes(60))


def java_text(content: bytes) -> bytes:
    return len(content).to_bytes(2, "big") + content


def assignment_of_host(host: bytes, index: int = 0) -> bytes:
    topics = bytes.fromhex("0000000100000000") + java_text(b"orders")
    hosts = bytes.fromhex("00000001") + java_text(host) + bytes.fromhex("00001b5800000001")
    routed = hosts + index.to_bytes(4, "big") + bytes(4)
    return bytes.fromhex("0000000500000005") + bytes(8) + topics + routed + bytes(4)


@pytest.mark.parametrize(
    ("written", "host"),
    [
        pytest.param(b"h1.example", "h1.example", id="ascii"),
        pytest.param("h-ü".encode(), "h-ü", id="two bytes"),
        pytest.param(b"a\xc0\x80b", "a\0b", id="NUL in two bytes"),
        pytest.param(b"\xed\xa0\xbd\xed\xb8\x80", "\U0001f600", id="two surrogates"),
    ],
)
def test_hosts_are_written_in_modified_utf_8(written, host):
    found = decode_assignment_info(assignment_of_host(written))
    assert found.active_by_host[0][:2] == (host, 7000)


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("\U0001f600".encode(), id="four bytes"),
        pytest.param(b"\xed\xa0\xbd", id="half a pair"),
        pytest.param(b"\xff", id="no character"),
    ],
)
def test_hosts_in_another_coding_are_refused(written):
    with pytest.raises(RecordFormatError, match="UTF-8"):
        decode_assignment_info(assignment_of_host(written))


def test_a_topic_that_is_not_in_the_dictionary_is_refused():
    with pytest.raises(RecordFormatError, match="no topic has the index 7"):
        decode_assignment_info(assignment_of_host(b"h1", index=7))


def test_the_routing_of_a_group_is_read_once():
    known: dict[tuple[int, bytes], HostMaps] = {}
    first, second = (decode_assignment_info(assignment_of_host(b"h1"), known) for _ in range(2))
    assert len(known) == 1
    assert first.active_by_host is second.active_by_host
    assert asdict(first) == asdict(decode_assignment_info(assignment_of_host(b"h1")))


@pytest.mark.parametrize("case", conformance_cases(FILE, "commit_metadata"))
def test_commit_metadata_is_read_from_its_text_and_from_its_bytes(case):
    for content in (case["base64"], bytes.fromhex(case["hex"])):
        found = decode_commit_metadata(content)
        assert fields_of(found) == case["expected"]


@pytest.mark.parametrize("case", conformance_cases(FILE, "commit_metadata"))
def test_truncated_commit_metadata_has_no_stream_time_or_is_refused(case):
    content = bytes.fromhex(case["hex"])
    for size in range(len(content)):
        if size < 9:
            assert decode_commit_metadata(content[:size]).stream_time_ms is None
        elif size > 9:
            with pytest.raises(RecordFormatError):
                decode_commit_metadata(content[:size])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="none"),
        pytest.param("written by hand", id="no base64"),
        pytest.param("ÄÖ", id="no ASCII"),
        pytest.param(base64.b64encode(b"\3" + bytes(8)).decode(), id="a later version"),
        pytest.param("AgAAAYvP5Wh7\0", id="with the end of a C string"),
    ],
)
def test_text_that_streams_did_not_commit_has_no_stream_time(text):
    assert decode_commit_metadata(text).stream_time_ms is None
