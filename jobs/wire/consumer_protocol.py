"""What members of a classic group tell each other: subscriptions and assignments, with their user data.

Source: ConsumerProtocolSubscription and ConsumerProtocolAssignment of Kafka, versions 0 to 3. Later versions
are read as version 3, and bytes behind its last field are ignored, as Kafka does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jobs.wire.fields import FieldReader

_SUBSCRIPTION, _ASSIGNMENT = "consumer subscription", "consumer assignment"
_LEAST_STRING, _LEAST_TOPIC = 2, 6
# Since which version there is what.
_OWNED, _GENERATION, _RACK = 1, 2, 3


@dataclass(frozen=True, slots=True)
class ConsumerSubscription:
    """What a member wants; `generation` is that before the join, -1: none; `owned` is (topic, partition)."""

    version: int
    topics: tuple[str, ...]
    user_data: bytes
    owned: tuple[tuple[str, int], ...] = ()
    generation: int = -1
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class ConsumerAssignment:
    """What a member was given."""

    version: int
    assigned: tuple[tuple[str, int], ...]
    user_data: bytes


def decode_consumer_subscription(content: bytes) -> ConsumerSubscription:
    """Read a member's subscription; raises `RecordFormatError`."""
    fields = FieldReader(_SUBSCRIPTION, content)
    version = _version(fields)
    topics = tuple(fields.string() for _ in range(fields.count(_LEAST_STRING)))
    user_data = fields.nullable_bytes()
    return ConsumerSubscription(
        version,
        topics,
        user_data,
        tuple(_partitions(fields)) if version >= _OWNED else (),
        fields.int32() if version >= _GENERATION else -1,
        fields.nullable_string() if version >= _RACK else None,
    )


def decode_consumer_assignment(content: bytes) -> ConsumerAssignment:
    """Read a member's assignment; raises `RecordFormatError`."""
    fields = FieldReader(_ASSIGNMENT, content)
    version = _version(fields)
    assigned = tuple(_partitions(fields))
    return ConsumerAssignment(version, assigned, fields.nullable_bytes())


def _version(fields: FieldReader) -> int:
    version = fields.int16()
    if version < 0:
        raise fields.error(f"there is no version {version}")
    return version


def _partitions(fields: FieldReader) -> Iterator[tuple[str, int]]:
    for _ in range(fields.count(_LEAST_TOPIC)):
        topic = fields.string()
        yield from ((topic, number) for number in fields.integers("i", fields.count(4)))
