"""Uuids as Kafka writes them: url-safe base64 without padding, 22 characters (`Uuid.toString`)."""

from __future__ import annotations

import base64
import binascii
from uuid import UUID

UUID_BYTES = 16


def uuid_text(content: bytes) -> str:
    """Return 16 bytes as text."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode("ascii")


def uuid_bytes(text: str) -> bytes:
    """Return the 16 bytes of a text; raises ValueError."""
    try:
        content = base64.b64decode(f"{text}==", altchars=b"-_", validate=True)
    except binascii.Error:
        content = b""
    if len(content) != UUID_BYTES:
        raise ValueError(f"{text!r} is no uuid as Kafka writes them")
    return content


def id_text(value: UUID | None) -> str | None:
    """Return the text of an id; None for none, which Kafka also writes as zeros."""
    return uuid_text(value.bytes) if value is not None and value.int else None
