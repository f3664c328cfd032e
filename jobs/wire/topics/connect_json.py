"""What Connect's JsonConverter makes of bytes that should have been left alone.

A worker that writes MirrorMaker 2's records through it turns each key and value into base64 inside JSON:
`{"schema":{"type":"bytes",...},"payload":"AAdn..."}`, or a bare `"AAdn..."` without schemas. Nobody who
expects MirrorMaker 2's bytes can read them. Source: JsonConverter of org.apache.kafka.connect.json.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

# Longer than any key or value of MirrorMaker 2's three records, wrapped.
_LONGEST = 400_000


def is_json_wrapped(content: bytes | None) -> bool:
    """Return whether these bytes are base64 inside JSON, as JsonConverter writes bytes."""
    return unwrap_json(content) is not None


def unwrap_json(content: bytes | None) -> bytes | None:
    """Return the bytes that JsonConverter wrapped; None when it did not."""
    if content is None or len(content) > _LONGEST or content[:1] not in (b"{", b'"'):
        return None
    match _load(content):
        case str(text):
            return _decode(text)
        case {"schema": _, "payload": str(text)}:
            return _decode(text)
    return None


def _load(content: bytes) -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _decode(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
