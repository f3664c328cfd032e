"""Records of `__transaction_state`: the last transaction of each transactional id.

Source: TransactionLogKey and TransactionLogValue of Kafka 4.3 (version 1: KIP-890, written since Kafka 4.0).
Key and value begin with an INT16, their version; a null value means that the id has expired.
"""

from __future__ import annotations

import struct
from typing import Any

from jobs.wire.errors import RecordFormatError
from jobs.wire.messages.reader import decode_message
from jobs.wire.messages.schema import Field, Kind, MessageSchema

# By the number in a record.
TRANSACTION_STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)
_INT16 = struct.Struct(">h")
_PARTITIONS = (
    Field("topic", Kind.STRING, default=""),
    Field("partitionIds", Kind.INT32, is_array=True, default=()),
)
_ID = Field("transactionalId", Kind.STRING, default="")
KEY_SCHEMA = MessageSchema(0, "TransactionLogKey", "TRANSACTION_KEY", 0, 0, (_ID,), compact_since=1)
VALUE_SCHEMA = MessageSchema(
    0,
    "TransactionLogValue",
    "TRANSACTION",
    0,
    1,
    (
        Field("producerId", Kind.INT64, default=0),
        Field("previousProducerId", Kind.INT64, since=1, tag=0, default=-1),
        Field("nextProducerId", Kind.INT64, since=1, tag=1, default=-1),
        Field("producerEpoch", Kind.INT16, default=0),
        Field("nextProducerEpoch", Kind.INT16, since=1, tag=3, default=-1),
        Field("transactionTimeoutMs", Kind.INT32, default=0),
        Field("transactionStatus", Kind.INT8, default=0),
        Field(
            "transactionPartitions", Kind.STRUCT, is_array=True, nullable=True, fields=_PARTITIONS
        ),
        Field("transactionLastUpdateTimestampMs", Kind.INT64, default=0),
        Field("transactionStartTimestampMs", Kind.INT64, default=0),
        Field("clientTransactionVersion", Kind.INT16, since=1, tag=2, default=0),
    ),
    compact_since=1,
)


def decode_transaction_key(key: bytes | None) -> str:
    """Return the transactional id; raises `RecordFormatError`."""
    name: str = _decode(KEY_SCHEMA, key)["transactionalId"]
    return name


def decode_transaction_value(name: str, value: bytes) -> dict[str, Any]:
    """Return the fields of what the log has of `name`; raises `RecordFormatError`."""
    found = _decode(VALUE_SCHEMA, value)
    if not 0 <= found["transactionStatus"] < len(TRANSACTION_STATES):
        number = found["transactionStatus"]
        raise RecordFormatError(VALUE_SCHEMA.name, f"the state {number} of {name} is unknown")
    return found


def partition_of(transactional_id: str, partitions: int) -> int:
    """Return where an id is kept (TransactionStateManager#partitionFor: Java's hash of a string)."""
    units = transactional_id.encode("utf-16-be", "surrogatepass")
    hashed = 0
    for (unit,) in struct.iter_unpack(">H", units):
        hashed = (31 * hashed + unit) & 0xFFFF_FFFF
    # The lowest INT32 has no absolute value and counts as 0.
    return min(hashed, 2**32 - hashed) % 2**31 % partitions


def _decode(schema: MessageSchema, content: bytes | None) -> dict[str, Any]:
    if content is None or len(content) < _INT16.size:
        raise RecordFormatError(schema.name, "it has no version")
    (version,) = _INT16.unpack_from(content)
    if not schema.oldest <= version <= schema.latest:
        raise RecordFormatError(schema.name, f"the version {version} is unknown")
    return decode_message(schema, version, content, _INT16.size)[0]
