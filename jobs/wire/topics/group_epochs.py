"""Records of `__consumer_offsets` about who is in a group: keys of all protocols, values of the newer ones.

Source: ConsumerGroup*Value (KIP-848) and StreamsGroup*Value (KIP-1071) of Kafka 4.3. Of each value only the
first fields are read, those that every version has. Values of classic groups: `consumer_offsets`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jobs.wire.errors import RecordFormatError
from jobs.wire.messages.reader import MessageReader
from jobs.wire.values import UUID_BYTES, uuid_text

CLASSIC = 2
CONSUMER_EPOCH, CONSUMER_MEMBER, CONSUMER_CURRENT = 3, 5, 8
STREAMS_EPOCH, STREAMS_MEMBER, STREAMS_CURRENT = 17, 19, 22
EPOCHS, MEMBERS = (CONSUMER_EPOCH, STREAMS_EPOCH), (CONSUMER_MEMBER, STREAMS_MEMBER)
CURRENT = (CONSUMER_CURRENT, STREAMS_CURRENT)
NUMBERS = (CLASSIC, *EPOCHS, *MEMBERS, *CURRENT)
_KIND = "group record"
_STABLE = {CONSUMER_CURRENT: 0, STREAMS_CURRENT: 1}
_ROLES = ("active", "standby", "warm-up")


@dataclass(frozen=True, slots=True)
class GroupKey:
    """What a record is about: `number` is one of NUMBERS, `member` is "" for the whole group."""

    number: int
    group: str
    member: str = ""


@dataclass(frozen=True, slots=True)
class EpochMember:
    """A member of a group with epochs."""

    instance_id: str | None
    client_id: str
    host: str


@dataclass(frozen=True, slots=True)
class Current:
    """What a member has: (role, "SUBTOPOLOGY_PARTITION" or "TOPIC-ID-PARTITION")."""

    epoch: int
    is_stable: bool
    held: frozenset[tuple[str, str]]


def decode_group_key(key: bytes) -> GroupKey:
    """Read a key of one of NUMBERS; raises `RecordFormatError`."""
    reader = MessageReader(_KIND, key)
    number = _int(reader, 2)
    has_member = number in MEMBERS or number in CURRENT
    texts = []
    for _ in range(1 + has_member):
        if (size := _int(reader, 2)) < 0:
            raise reader.problem(f"a text has the length {size}")
        texts.append(reader.take(size).decode("utf-8", errors="replace"))
    return GroupKey(number, *texts)


def decode_epoch(value: bytes) -> int:
    """Return the epoch of a group; raises `RecordFormatError`."""
    return _int(_versioned(value), 4)


def decode_epoch_member(value: bytes) -> EpochMember:
    """Read a member; raises `RecordFormatError`."""
    reader = _versioned(value)
    instance, _rack, client, host = (_text(reader) for _ in range(4))
    return EpochMember(instance, client or "", host or "")


def decode_current(number: int, value: bytes) -> Current:
    """Read what a member has; raises `RecordFormatError`."""
    reader = _versioned(value)
    epoch, _previous, state = _int(reader, 4), _int(reader, 4), _int(reader, 1)
    is_streams = number == STREAMS_CURRENT
    held: set[tuple[str, str]] = set()
    for role in _ROLES if is_streams else _ROLES[:1]:
        for _ in _items(reader):
            name = f"{_text(reader)}_" if is_streams else f"{uuid_text(reader.take(UUID_BYTES))}-"
            held.update((role, f"{name}{_int(reader, 4)}") for _ in _items(reader))
            for _ in range(reader.uvarint()):
                reader.uvarint()
                reader.take(reader.uvarint())
    return Current(epoch, state == _STABLE[number], frozenset(held))


def offsets_partition(group: str, partitions: int) -> int:
    """Return the partition of `__consumer_offsets` that has a group: by Java's hash of its id.

    As Kafka's Utils.abs: the absolute value, and 0 for the lowest number of 32 bits.
    """
    units, found = group.encode("utf-16-be"), 0
    for at in range(0, len(units), 2):
        found = (31 * found + int.from_bytes(units[at : at + 2])) & 0xFFFFFFFF
    size = min(found, (1 << 32) - found)
    return (0 if size == 1 << 31 else size) % partitions


def _versioned(value: bytes) -> MessageReader:
    reader = MessageReader(_KIND, value)
    if version := _int(reader, 2):
        raise RecordFormatError(_KIND, f"its value has the unknown version {version}")
    return reader


def _int(reader: MessageReader, size: int) -> int:
    return int.from_bytes(reader.take(size), signed=True)


def _items(reader: MessageReader) -> Iterator[int]:
    count = reader.uvarint() - 1
    if count > len(reader.content) - reader.at:
        raise reader.problem(f"{count} elements do not fit at byte {reader.at}")
    reader.spend(max(count, 0))
    return iter(range(count))


def _text(reader: MessageReader) -> str | None:
    size = reader.uvarint() - 1
    return None if size < 0 else reader.take(size).decode("utf-8", errors="replace")
