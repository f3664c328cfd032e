"""Subscriptions and assignments of classic groups, as a real broker handed them out."""

import json

import pytest

from jobs.wire.consumer_protocol import decode_consumer_assignment, decode_consumer_subscription
from jobs.wire.errors import RecordFormatError
from tests.jobs.streams.collection.comparisons import assert_members_are_read_as_kafka_reads_them
from tests.support import STREAMS_LIVE


def test_members_of_real_groups_are_read():
    for name in ("classic_two_instances", "one_without_endpoint"):
        assert_members_are_read_as_kafka_reads_them(STREAMS_LIVE / name)


def test_every_truncation_is_refused():
    outside = json.loads(
        (STREAMS_LIVE / "classic_two_instances" / "outside.json").read_text("utf-8")
    )
    member = outside["describe_groups"]["members"][0]
    for name, decode in (
        ("member_metadata_hex", decode_consumer_subscription),
        ("member_assignment_hex", decode_consumer_assignment),
    ):
        content = bytes.fromhex(member[name])
        for size in range(len(content)):
            with pytest.raises(RecordFormatError):
                decode(content[:size])


@pytest.mark.parametrize(
    ("content", "topics"),
    [
        pytest.param("0000 00000001 0001 61 ffffffff", ("a",), id="version 0, no user data"),
        pytest.param("0001 00000000 00000000 00000000", (), id="version 1"),
        pytest.param("0009 00000000 00000000 00000000 ffffffff ffff 0102", (), id="a later one"),
    ],
)
def test_each_version_is_read(content, topics):
    assert decode_consumer_subscription(bytes.fromhex(content)).topics == topics


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("ffff 00000000 00000000", id="a version below 0"),
        pytest.param("0000 ffffffff", id="fewer than no topics"),
        pytest.param("0000 7fffffff 0001", id="more topics than bytes"),
        pytest.param("0000 00000000 fffffffe", id="a length below -1"),
    ],
)
def test_numbers_that_cannot_be_are_refused(content):
    with pytest.raises(RecordFormatError):
        decode_consumer_subscription(bytes.fromhex(content))
