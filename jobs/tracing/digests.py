"""Short digests of ids, for answers that show no content of records."""

from __future__ import annotations

from hashlib import sha256

DIGEST_DIGITS = 12


def digest(text: str) -> str:
    """Return the first 12 hex digits of the SHA-256 of a text; equal texts have equal digests."""
    return sha256(text.encode()).hexdigest()[:DIGEST_DIGITS]
