"""A flow's positions as MirrorMaker 2 writes them: Connect's source offsets in JSON.

Source: MirrorUtils.wrapPartition and wrapOffset, Connect's JsonConverter without schemas. The value
is the offset of the last replicated record, so the next offset to copy is one more.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from jobs.cluster.descriptions import TopicPartition

CONNECTOR = "MirrorSourceConnector"
RESET = -1  # what "last replicated" is when nothing was
# Numbers of JSON have no end, those of Kafka have.
_LAST_OFFSET, _NO_PARTITION = 2**63 - 1, 2**31


@dataclass(frozen=True, slots=True)
class PositionKey:
    """Whose position it is."""

    source_alias: str
    where: TopicPartition


def positions_topic(source_alias: str) -> str:
    """Return the topic of positions on the target; its dots do not follow the flow's separator."""
    return f"mm2-offsets.{source_alias}.internal"


def encode_position_key(key: PositionKey) -> bytes:
    """Return the key, in the order in which MirrorMaker 2's HashMap happens to write it."""
    partition = {
        "cluster": key.source_alias,
        "partition": key.where.partition,
        "topic": key.where.topic,
    }
    return _encode([CONNECTOR, partition])


def encode_position(next_offset: int) -> bytes:
    """Return the value for a next offset to copy."""
    return _encode({"offset": next_offset - 1})


def decode_position_key(content: bytes | None) -> PositionKey | None:
    """Read a key in any order of its fields; None for keys of others, which share the topic."""
    match _decode(content):
        case [
            str(connector),
            {"cluster": str(alias), "partition": int(partition), "topic": str(topic)},
        ] if (
            connector == CONNECTOR
            and not isinstance(partition, bool)
            and 0 <= partition < _NO_PARTITION
        ):
            return PositionKey(alias, TopicPartition(topic, partition))
    return None


def decode_position(content: bytes | None) -> int | None:
    """Read the next offset to copy; None when the position was reset (a null value) or is no position."""
    match _decode(content):
        case {"offset": int(offset)} if (
            not isinstance(offset, bool) and RESET <= offset < _LAST_OFFSET
        ):
            return offset + 1
    return None


def _encode(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def _decode(content: bytes | None) -> Any:
    if content is None:
        return None
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
