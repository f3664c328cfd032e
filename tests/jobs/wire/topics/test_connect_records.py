"""States and settings of connectors, decoded from what Connect keeps of them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.wire.errors import RecordFormatError
from jobs.wire.topics.connect_records import (
    HIDDEN,
    ConfigKey,
    ConnectStatus,
    StatusKey,
    decode_config,
    decode_config_key,
    decode_status,
    decode_status_key,
)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        pytest.param(
            b"status-connector-MirrorSourceConnector",
            StatusKey("MirrorSourceConnector"),
            id="connector",
        ),
        pytest.param(
            b"status-task-MirrorSourceConnector-12",
            StatusKey("MirrorSourceConnector", 12),
            id="task",
        ),
        pytest.param(b"status-task-my-own-3", StatusKey("my-own", 3), id="a name with dashes"),
        pytest.param(b"status-topic-t:connector-c", None, id="a topic's state is none of ours"),
    ],
)
def test_a_key_says_whose_state_it_is(key, expected):
    assert decode_status_key(key) == expected


# As MirrorMaker 2 4.3.1 (dedicated) wrote them; of the properties only some.
CAPTURED_STATUS = (
    b"status-task-MirrorSourceConnector-0",
    b'{"state":"RUNNING","trace":null,"worker_id":"localhost/east->west/93d8e519-a158-4306-bf7a-3cdb6bff3a0b",'
    b'"generation":6,"version":"4.3.1"}',
)
CAPTURED_TOPIC = (
    b"status-topic-east.heartbeats:connector-MirrorSourceConnector",
    b'{"topic":{"name":"east.heartbeats","connector":"MirrorSourceConnector","task":0,'
    b'"discoverTimestamp":1795305191182}}',
)
CAPTURED_CONFIG = (
    b"connector-MirrorSourceConnector",
    b'{"properties":{"connector.class":"org.apache.kafka.connect.mirror.MirrorSourceConnector",'
    b'"replication.factor":"1","source.cluster.alias":"east"}}',
)


def test_what_mirror_maker_wrote_is_read():
    key, value = CAPTURED_STATUS
    assert decode_status_key(key) == StatusKey("MirrorSourceConnector", 0)
    worker = "localhost/east->west/93d8e519-a158-4306-bf7a-3cdb6bff3a0b"
    assert decode_status(value) == ConnectStatus("RUNNING", "", worker, 6)
    assert decode_status_key(CAPTURED_TOPIC[0]) is None
    key, value = CAPTURED_CONFIG
    assert decode_config_key(key) == ConfigKey("connector", "MirrorSourceConnector")
    assert decode_config(value).properties["source.cluster.alias"] == "east"
    assert decode_config(b'{"tasks":1}').tasks == 1


def test_a_state_is_read_in_any_order_and_with_unknown_fields():
    value = b'{"generation":4,"new":1,"worker_id":"w","trace":"boom","state":"FAILED"}'
    assert decode_status(value) == ConnectStatus("FAILED", "boom", "w", 4)


def test_a_state_without_a_trace_says_nothing_of_it():
    assert decode_status(b'{"state":"RUNNING","trace":null,"worker_id":"w"}') == ConnectStatus(
        "RUNNING", "", "w"
    )


def test_a_deletion_is_no_state_and_no_setting():
    assert decode_status(None) is None
    assert decode_config(None) is None


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (b"connector-MirrorSourceConnector", ConfigKey("connector", "MirrorSourceConnector")),
        (b"task-MirrorSourceConnector-0", ConfigKey("task", "MirrorSourceConnector", 0)),
        (b"commit-MirrorSourceConnector", ConfigKey("commit", "MirrorSourceConnector")),
        (b"target-state-MirrorSourceConnector", ConfigKey("target_state", "MirrorSourceConnector")),
        (b"session-key", None),
    ],
    ids=["connector", "task", "commit", "target state", "a session key"],
)
def test_a_key_says_which_entry_of_the_settings_it_is(key, expected):
    assert decode_config_key(key) == expected


@pytest.mark.parametrize(
    "name",
    [
        "target.cluster.sasl.jaas.config",
        "source.cluster.ssl.keystore.password",
        "source.cluster.ssl.keystore.key",
        "some.api.token",
        "client.secret",
    ],
)
def test_what_may_be_a_secret_is_hidden_while_it_is_read(name):
    document = json.dumps({"properties": {name: "s3cr3t", "topics": "a,b"}}).encode()
    found = decode_config(document)
    assert found.properties == {name: HIDDEN, "topics": "a,b"}
    assert "s3cr3t" not in repr(found)


def test_commits_and_target_states_are_read():
    assert decode_config(b'{"tasks":3}').tasks == 3
    assert decode_config(b'{"state":"PAUSED","state.v2":"STOPPED"}').state == "STOPPED"


@pytest.mark.parametrize(
    ("decode", "content"),
    [
        pytest.param(decode_status_key, None, id="a state without a key"),
        pytest.param(decode_status_key, b"\xff", id="a key that is no text"),
        pytest.param(decode_status_key, b"status-task-x", id="a task without a number"),
        pytest.param(decode_status_key, b"status-connector-", id="no name"),
        pytest.param(decode_status, b"{", id="no JSON"),
        pytest.param(decode_status, b"[]", id="no object"),
        pytest.param(decode_status, b"{}", id="no state"),
        pytest.param(decode_config, b'{"properties":[1]}', id="properties that are a list"),
        pytest.param(decode_config, b"[" * 100_000, id="too deep"),
    ],
)
def test_foreign_bytes_are_refused_by_name(decode, content):
    with pytest.raises(RecordFormatError):
        decode(content)


@given(st.binary(max_size=200))
def test_no_bytes_do_more_than_be_refused(content):
    for decode in (decode_status_key, decode_status, decode_config_key, decode_config):
        try:
            decode(content)
        except RecordFormatError:
            continue
