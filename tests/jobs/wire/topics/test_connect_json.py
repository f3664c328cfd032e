"""Bytes that a JSON converter wrapped are recognised, and nothing else is."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.wire.topics.connect_records import is_json_wrapped, unwrap_json

SCHEMA = {"type": "bytes", "optional": False}


@given(st.binary(max_size=200))
def test_bytes_that_were_wrapped_with_or_without_a_schema_come_back(content):
    text = base64.b64encode(content).decode()
    assert unwrap_json(json.dumps({"schema": SCHEMA, "payload": text}).encode()) == content
    assert unwrap_json(json.dumps(text).encode()) == content


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(None, id="no bytes at all"),
        pytest.param(b"", id="empty"),
        pytest.param(b"\x00\x07group-1", id="a key of MirrorMaker 2"),
        pytest.param(b'{"offset":12}', id="other JSON"),
        pytest.param(b'{"schema":{},"payload":7}', id="a payload that is no text"),
        pytest.param(b'"not base64!"', id="text that is no base64"),
        pytest.param(b'{"schema":', id="half a document"),
        pytest.param(b"[" * 5000, id="deep nesting"),
        pytest.param(b'"' + b"A" * 500_000 + b'"', id="longer than any record"),
    ],
)
def test_other_bytes_are_not_taken_for_wrapped_ones(content):
    assert not is_json_wrapped(content)
