"""Every finished rebalance of classic groups that is still in `__consumer_offsets`: exact generations.

Source: GroupMetadataKey and GroupMetadataValue (key version 2), written once per completed rebalance. Kafka's
DescribeGroups does not tell the generation; these records do, with the bytes of every member.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jobs.cluster.group_members import ClassicGroup, ClassicMember
from jobs.streams.observation import Observation
from jobs.wire.topics.consumer_offsets import decode_group_record

_GROUP_METADATA = "GROUP_METADATA"
_STABLE, _EMPTY = "Stable", "Empty"


@dataclass(frozen=True, slots=True)
class Rebalance:
    """A group after a rebalance; `at_ms` is None in records before version 2, `leader` without members."""

    generation: int
    at_ms: int | None
    leader: str | None
    group: ClassicGroup

    @property
    def observation(self) -> Observation:
        """What can be told of the application then, without its topics."""
        return Observation(self.group, self.at_ms or 0, {}, {}, generation=self.generation)


def rebalances_in(records: Iterable[tuple[bytes | None, bytes | None]]) -> Iterator[Rebalance]:
    """Yield the rebalances in records of `__consumer_offsets`; all other records are left out."""
    for key, value in records:
        record = decode_group_record(key, value)
        if record.type == _GROUP_METADATA and record.data is not None:
            yield _rebalance(record.key["group"], record.data)


def _rebalance(group_id: str, told: Mapping[str, Any]) -> Rebalance:
    members = tuple(_member(one) for one in told["members"])
    at_ms = told.get("currentStateTimestamp", -1)
    group = ClassicGroup(
        group_id,
        _STABLE if members else _EMPTY,
        told["protocolType"],
        told["protocol"] or "",
        members,
    )
    return Rebalance(told["generation"], None if at_ms < 0 else at_ms, told["leader"], group)


def _member(told: Mapping[str, Any]) -> ClassicMember:
    return ClassicMember(
        told["memberId"],
        told.get("groupInstanceId"),
        told["clientId"],
        told["clientHost"],
        base64.b64decode(told["subscription"]),
        base64.b64decode(told["assignment"]),
    )
