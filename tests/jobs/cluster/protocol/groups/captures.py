"""Answers of a real broker about groups, as they came over the wire."""

import json

import pytest

from tests.support import CONFORMANCE

LIVE = CONFORMANCE / "streams_live"


def scenarios(*names: str):
    """Return scenarios as parameters of a test, which skips where there is no capture."""
    missing = pytest.mark.skipif(not LIVE.is_dir(), reason=f"no conformance data: {LIVE}")
    return [pytest.param(name, id=name, marks=missing) for name in names]


def capture(scenario: str, api: str):
    """Return what was captured, the bytes of the answer to one request, and its version."""
    outside = json.loads((LIVE / scenario / "outside.json").read_text(encoding="utf-8"))
    raw = outside["raw"][api]
    return outside, bytes.fromhex(raw["response_hex"]), raw["version"]
