"""Messages between driver and tasks of a flow, as JSON values.

Driver to task: `assignment` (once, first), then `add`, `remove`, `tuning`, `stop`. Task to driver:
`token` and `task` (once, first), then `partitions` (reports), `released`, `alive`, `fault` (why it ends).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, Remedy
from jobs.replication.copy.contract import CopyLimits, PartitionProgress, PartitionStart
from jobs.replication.flow.spec import FlowSpec

Message = Mapping[str, Any]


def encode_line(message: Message) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def decode_line(line: bytes) -> dict[str, Any] | None:
    """Read a line; None for one that was cut off."""
    if not line.endswith(b"\n"):
        return None
    value: dict[str, Any] = json.loads(line)
    return value


def values_of(one: PartitionStart | PartitionProgress | CopyLimits) -> dict[str, Any]:
    """Return the fields as they are; `asdict` would copy each value, which takes ten times as long."""
    return {name: getattr(one, name) for name in one.__dataclass_fields__}


def assignment(flow: FlowSpec) -> Message:
    """Say what a task is for; its partitions follow."""
    return {"assignment": {"flow": flow.to_mapping()}}


def add(starts: Iterable[PartitionStart]) -> Message:
    """Say which partitions a task is to take on."""
    return {"add": [values_of(start) for start in starts]}


def remove(partitions: Iterable[TopicPartition]) -> Message:
    """Say which partitions a task is to let go of."""
    return {"remove": [list(where) for where in partitions]}


def tuning(value: CopyLimits) -> Message:
    """Say how fast and in which order a task is to copy."""
    return {"tuning": values_of(value)}


def released(partitions: Sequence[PartitionStart]) -> Message:
    """Say which partitions a task has let go of."""
    return {"released": [values_of(partition) for partition in partitions]}


def fault(raised: ClusterFault) -> Message:
    """Say why a task ends."""
    names = ("message", "cluster", "hint", "code", "remedy")
    return {"fault": {name: getattr(raised, name) for name in names}}


def fault_in(message: Message) -> ClusterFault:
    told = message["fault"]
    found = ClusterFault(told["message"], cluster=told["cluster"], hint=told["hint"])
    found.code, found.remedy = told["code"], Remedy(told["remedy"])
    return found


def starts_in(rows: Iterable[Mapping[str, Any]]) -> list[PartitionStart]:
    """Return the starts of an `add` or a `released`."""
    return [PartitionStart(**_with_pair(values)) for values in rows]


def removed_in(message: Message) -> list[TopicPartition]:
    """Return the partitions of a `remove`."""
    return [TopicPartition(*values) for values in message["remove"]]


def tuning_in(message: Message) -> CopyLimits:
    """Return the values of a `tuning`."""
    return CopyLimits(**message["tuning"])


def _with_pair(values: Mapping[str, Any]) -> dict[str, Any]:
    """JSON knows no tuples."""
    pair, untold = values.get("last_sync"), values.get("untold_syncs", ())
    return {
        **values,
        "last_sync": None if pair is None else tuple(pair),
        "untold_syncs": tuple(map(tuple, untold)),
    }
