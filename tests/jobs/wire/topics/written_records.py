"""Records of internal topics as Kafka writes them."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from jobs.wire.messages.writer import encode_message
from jobs.wire.topics import transaction_state
from jobs.wire.topics.consumer_offsets import KEY_SCHEMAS, VALUE_SCHEMAS

_INT16 = struct.Struct(">h")


def encode_group_record(
    number: int, version: int, key: Mapping[str, Any], data: Mapping[str, Any] | None
) -> tuple[bytes, bytes | None]:
    """Return key and value of an offset commit or a classic group; raises ValueError, KeyError."""
    written = _INT16.pack(number) + encode_message(KEY_SCHEMAS[number], 0, key)
    if data is None:
        return written, None
    return written, _INT16.pack(version) + encode_message(VALUE_SCHEMAS[number], version, data)


def encode_transaction_record(
    transactional_id: str, data: Mapping[str, Any] | None, version: int = 0
) -> tuple[bytes, bytes | None]:
    """Return key and value of a record; raises ValueError."""
    key = _INT16.pack(0) + encode_message(
        transaction_state.KEY_SCHEMA, 0, {"transactionalId": transactional_id}
    )
    if data is None:
        return key, None
    return key, _INT16.pack(version) + encode_message(transaction_state.VALUE_SCHEMA, version, data)
