"""Answers of a real broker about groups, as they came over the wire."""

import json

import pytest

from tests.support import STREAMS_LIVE


def scenarios(*names: str):
    """Return scenarios as parameters of a test, which skips where there is no capture."""
    return [pytest.param(name, id=name) for name in names]


def capture(scenario: str, api: str):
    """Return what was captured, the bytes of the answer to one request, and its version."""
    outside = json.loads((STREAMS_LIVE / scenario / "outside.json").read_text(encoding="utf-8"))
    raw = outside["raw"][api]
    return outside, bytes.fromhex(raw["response_hex"]), raw["version"]
