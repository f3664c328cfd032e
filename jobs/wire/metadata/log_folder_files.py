"""The small files of a log folder: quorum-state, meta.properties, the epochs and the topic id.

Source: FileQuorumStateStore, MetaProperties, LeaderEpochCheckpointFile and PartitionMetadataFile. Each
`decode_` takes the file's bytes and raises `RecordFormatError`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from jobs.wire.errors import RecordFormatError
from jobs.wire.messages.schema import ZERO_UUID

# No such file is longer than a few kilobytes: what is, is something else.
LARGEST_BYTES = 1 << 20

_QUORUM_STATE_VERSIONS = (0, 1)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_SEPARATOR = re.compile(r"(?<!\\)(?:\\\\)*(?P<cut>[ \t\f]*[=:][ \t\f]*|[ \t\f]+)")
# Python's own strip() and int() each take other control characters and digits for blanks and numbers.
_BLANKS = " \t\r\n\f"
_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,19}")
_INT64 = range(-(1 << 63), 1 << 63)
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@dataclass(frozen=True, slots=True)
class QuorumState:
    """What a voter must remember of elections; None means none.

    `current_voters` are ids and in data version 0 (static quorum) only; `voted_directory_id` is in version 1
    (kraft.version 1) only.
    """

    data_version: int
    leader_id: int | None
    leader_epoch: int
    voted_id: int | None
    voted_directory_id: str | None = None
    current_voters: tuple[int, ...] | None = None
    cluster_id: str | None = None
    applied_offset: int | None = None


@dataclass(frozen=True, slots=True)
class MetaProperties:
    """Who owns a log directory; `version` 0 names its node `broker.id`. None means absent."""

    version: int
    cluster_id: str | None
    node_id: int | None
    directory_id: str | None


class EpochStart(NamedTuple):
    """A leader epoch and the offset of its first record."""

    epoch: int
    start_offset: int


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """The topic that a partition's folder belongs to; that of the metadata log is uuid (0, 1)."""

    version: int
    topic_id: str


def decode_quorum_state(content: bytes) -> QuorumState:
    """Read a quorum-state; an unknown data_version is refused, as upstream does."""
    kind = "quorum-state"
    try:
        found = json.loads(_text(kind, content))
    except (ValueError, RecursionError) as error:
        raise RecordFormatError(kind, f"is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise RecordFormatError(kind, "is no JSON object")
    version = _integer(kind, found, "data_version")
    if version not in _QUORUM_STATE_VERSIONS:
        raise RecordFormatError(kind, f"has the data_version {version}, not 0 or 1")
    directory_id = found.get("votedDirectoryId") if version else None
    return QuorumState(
        data_version=version,
        leader_id=_present(_integer(kind, found, "leaderId")),
        leader_epoch=_integer(kind, found, "leaderEpoch"),
        voted_id=_present(_integer(kind, found, "votedId", -1)),
        voted_directory_id=None if directory_id in (None, ZERO_UUID) else str(directory_id),
        current_voters=None if version else _voters(kind, found),
        cluster_id=str(found["clusterId"]) if found.get("clusterId") else None,
        applied_offset=None if version else _integer(kind, found, "appliedOffset", 0),
    )


def decode_meta_properties(content: bytes) -> MetaProperties:
    """Read a meta.properties; its version is 0 where it names none."""
    kind = "meta.properties"
    found = decode_properties(kind, content)
    version = _number(kind, "version", found.get("version", "0"))
    name = "node.id" if version else "broker.id"
    node_id = found.get(name)
    return MetaProperties(
        version=version,
        cluster_id=found.get("cluster.id"),
        node_id=None if node_id is None else _number(kind, name, node_id),
        directory_id=found.get("directory.id"),
    )


def decode_leader_epochs(content: bytes) -> tuple[EpochStart, ...]:
    """Read a leader-epoch-checkpoint: version 0, a count, and as many lines of epoch and start offset."""
    kind = "leader-epoch-checkpoint"
    lines = _text(kind, content).split("\n")
    if len(lines) < 2:  # noqa: PLR2004  the version's line and the count's
        raise RecordFormatError(kind, "has no version and count")
    version, count = _number(kind, "version", lines[0]), _number(kind, "count", lines[1])
    if version != 0:
        raise RecordFormatError(kind, f"has the version {version}, not 0")
    rows = [line for line in lines[2:] if line]
    if len(rows) != count:
        raise RecordFormatError(kind, f"says {count} epochs and has {len(rows)}")
    return tuple(_epoch_start(kind, row) for row in rows)


def decode_partition_metadata(content: bytes) -> PartitionMetadata:
    """Read a partition.metadata."""
    kind = "partition.metadata"
    found = decode_properties(kind, content)
    if "topic_id" not in found:
        raise RecordFormatError(kind, "has no topic_id")
    return PartitionMetadata(_number(kind, "version", found.get("version", "0")), found["topic_id"])


def decode_properties(kind: str, content: bytes) -> dict[str, str]:
    """Read Java properties; of a repeated key the last counts. `kind` is for messages."""
    found: dict[str, str] = {}
    for line in _logical_lines(_text(kind, content)):
        cut = _SEPARATOR.search(line)
        key = line if cut is None else line[: cut.start("cut")]
        value = "" if cut is None else line[cut.end() :]
        found[_unescape(key)] = _unescape(value)
    return found


def _logical_lines(text: str) -> list[str]:
    lines: list[str] = []
    is_open = False
    for raw in re.split(r"\r\n|\r|\n", text):
        line = raw.lstrip(" \t\f")
        if is_open:
            lines[-1] = lines[-1][:-1] + line
        elif line and line[0] not in "#!":
            lines.append(line)
        else:
            continue
        is_open = (len(lines[-1]) - len(lines[-1].rstrip("\\"))) % 2 == 1
    return lines


def _unescape(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        letter = found[1]
        return chr(int(letter[1:], 16)) if len(letter) > 1 else _CONTROL.get(letter, letter)

    return _ESCAPE.sub(one, text)


def _text(kind: str, content: bytes) -> str:
    if len(content) > LARGEST_BYTES:
        raise RecordFormatError(kind, f"has {len(content)} bytes, more than {LARGEST_BYTES}")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RecordFormatError(kind, f"is not UTF-8 at byte {error.start}") from None


def _integer(kind: str, found: dict[str, Any], name: str, default: int | None = None) -> int:
    value = found.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value not in _INT64:
        raise RecordFormatError(kind, f"its {name} is {value!r}, no whole number")
    return value


def _number(kind: str, name: str, text: str) -> int:
    digits = text.strip(_BLANKS)
    if _WHOLE_NUMBER.fullmatch(digits) is None or int(digits) not in _INT64:
        raise RecordFormatError(kind, f"its {name} is {text[:40]!r}, no whole number")
    return int(digits)


def _present(number: int) -> int | None:
    return None if number == -1 else number


def _voters(kind: str, found: dict[str, Any]) -> tuple[int, ...]:
    voters = found.get("currentVoters") or []
    if not isinstance(voters, list) or not all(isinstance(one, dict) for one in voters):
        raise RecordFormatError(kind, "its currentVoters are no list of voters")
    return tuple(_integer(kind, one, "voterId") for one in voters)


def _epoch_start(kind: str, line: str) -> EpochStart:
    epoch, _, offset = line.strip(_BLANKS).partition(" ")
    return EpochStart(_number(kind, "epoch", epoch), _number(kind, "start offset", offset))
