"""Positions byte by byte as MirrorMaker 2 writes them."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.copy.positions import (
    PositionKey,
    decode_position,
    decode_position_key,
    encode_position,
    encode_position_key,
    positions_topic,
    read_positions,
)
from tests.support import conformance_cases
from tests.waiting import eventually

KEY = PositionKey("A", TopicPartition("t", 0))
KEY_BYTES = b'["MirrorSourceConnector",{"cluster":"A","partition":0,"topic":"t"}]'


def mm2_offsets():
    """Cases of the topic of positions; crosslog does not read the answers of Connect's REST interface."""
    return [
        c
        for c in conformance_cases("mirror_maker_records", "json")
        if c.values[0]["record"] == "mm2-offsets"
    ]


@pytest.mark.parametrize("case", mm2_offsets())
def test_the_documented_form_is_read(case):
    expected = case["expected"]
    key = decode_position_key(json.dumps(case["key"]).encode())
    assert key == PositionKey(
        expected["source_cluster"], TopicPartition(expected["topic"], expected["partition"])
    )
    assert decode_position(json.dumps(case["value"]).encode()) == expected["next_source_offset"]
    assert positions_topic(key.source_alias) == case["topic"]


@pytest.mark.parametrize("case", mm2_offsets())
def test_the_documented_form_is_written(case):
    key = PositionKey("A", TopicPartition("t", 0))
    assert encode_position_key(key) == json.dumps(case["key"], separators=(",", ":")).encode()
    assert encode_position(12346) == json.dumps(case["value"], separators=(",", ":")).encode()


def test_key_and_value_are_compact_and_in_mirror_makers_order():
    assert encode_position_key(KEY) == KEY_BYTES
    assert encode_position(1) == b'{"offset":0}'


def test_the_order_of_a_keys_fields_does_not_matter():
    other = b'["MirrorSourceConnector",{"topic":"t","cluster":"A","partition":0}]'
    assert decode_position_key(other) == KEY


@given(
    st.text(st.characters(codec="utf-8"), max_size=20),
    st.text(st.characters(codec="utf-8"), max_size=20),
    st.integers(0, 2**31 - 1),
    st.integers(0, 2**62),
)
def test_what_was_written_is_read_back(alias, topic, partition, next_offset):
    key = PositionKey(alias, TopicPartition(topic, partition))
    assert decode_position_key(encode_position_key(key)) == key
    assert decode_position(encode_position(next_offset)) == next_offset


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(None, id="null"),
        pytest.param(b"", id="empty"),
        pytest.param(b"[1", id="not JSON"),
        pytest.param(b"\xff\xfe", id="not text"),
        pytest.param(
            b'["other",{"cluster":"A","partition":0,"topic":"t"}]', id="another connector"
        ),
        pytest.param(b'["MirrorSourceConnector",{"cluster":"A","topic":"t"}]', id="no partition"),
        pytest.param(
            b'["MirrorSourceConnector",{"cluster":"A","partition":true,"topic":"t"}]', id="a flag"
        ),
        pytest.param(
            b'["MirrorHeartbeatConnector",{"sourceClusterAlias":"A","targetClusterAlias":"B"}]',
            id="a heartbeat's",
        ),
        pytest.param(b"[" * 100_000, id="too deep"),
        pytest.param(
            b'["MirrorSourceConnector",{"cluster":"A","partition":2147483648,"topic":"t"}]',
            id="a number that no partition has",
        ),
    ],
)
def test_keys_of_others_are_not_changed(key):
    assert decode_position_key(key) is None


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, id="a reset"),
        pytest.param(b"{}", id="no offset"),
        pytest.param(b'{"offset":"7"}', id="a text"),
        pytest.param(b'{"offset":true}', id="a flag"),
        pytest.param(b'{"offset":-2}', id="below nothing"),
        pytest.param(b"7", id="no object"),
        pytest.param(b'{"offset":9223372036854775807}', id="behind the last offset"),
    ],
)
def test_a_reset_and_what_is_no_position_is_none(value):
    assert decode_position(value) is None


class Asking:
    """A client of a cluster without a topic of positions, which answers when it may."""

    def __init__(self, answers: threading.Event, asked: list[object]) -> None:
        self.connection = Connection("waits", "127.0.0.1:1")
        self.has_come = threading.Event()
        self._answers, self._asked = answers, asked

    @property
    def timeout_s(self) -> float:
        self.has_come.set()
        return 60.0

    def ask(self, _about: str, question: object) -> None:
        self._asked.append(question)
        assert self._answers.wait(60)


def test_those_that_wait_for_a_reader_share_one_reading_that_begins_after_their_calls():
    answers, asked = threading.Event(), []
    clients = [Asking(answers, asked) for _ in range(20)]
    with ThreadPoolExecutor(len(clients)) as threads:
        found = [threads.submit(read_positions, client, "east") for client in clients]
        eventually(lambda: asked and all(client.has_come.is_set() for client in clients))
        answers.set()
        assert [dict(one.result(60)) for one in found] == [{}] * len(clients)
    assert len(asked) == 2
