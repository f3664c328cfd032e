"""A capture of what a broker answered about an application, as a JSON file, read without trusting it.

A list of records of `__consumer_offsets` (`key_hex`, `value_hex`) is a capture, too: of every generation.
Else it is an object with `group` and `describe_groups` (members with `member_metadata_hex`,
`member_assignment_hex`), or with the raw answers (`raw.describe_groups.response_hex`,
`raw.streams_group_describe.response_hex`), and, as far as it has them, `committed`, `topics`, `log_dirs`,
`internal_topic_configs_raw`, `list_groups`.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.group_members import ClassicGroup, ClassicMember, StreamsGroup
from jobs.cluster.protocol.groups.classic import read_classic_groups
from jobs.cluster.protocol.groups.streams import read_streams_groups
from jobs.json_text import BadJson, fault_of, parse_json
from jobs.streams.observation import Observation, TopicFacts
from jobs.wire.errors import RecordFormatError
from jobs.wire.topics.consumer_offsets import decode_group_record

MOST_BYTES = 256 * 1024 * 1024
MOST_PARTITIONS = 1_000_000
LARGEST_OFFSET = (1 << 63) - 1


class BadCapture(ValueError):
    """A file that is no capture; the message says what is wrong where."""


def read_capture(path: Path) -> tuple[Observation, ...]:
    """Return what the capture tells of each of its applications; raises OSError and `BadCapture`."""
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise BadCapture(f"It has {size} bytes, more than {MOST_BYTES}.")
    try:
        content = parse_json(path.read_bytes())
    except BadJson as error:
        raise BadCapture(str(error)) from None
    if not isinstance(content, dict | list):
        raise BadCapture(
            "It is no JSON object with the answers of a broker, nor a list of records."
        )
    try:
        if isinstance(content, list):
            return tuple(one.observation for one in rebalances_in(map(_record, content)))
        return tuple(_observation(content, group) for group in _groups(content))
    except BadCapture:
        raise
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        why = fault_of(error, RecordFormatError)
        raise BadCapture(f"It is no capture of group descriptions: {why}.") from None


def _record(one: Mapping[str, Any]) -> tuple[bytes, bytes | None]:
    value = one["value_hex"]
    return bytes.fromhex(one["key_hex"]), None if value is None else bytes.fromhex(value)


def _groups(content: Mapping[str, Any]) -> list[ClassicGroup | StreamsGroup]:
    """Return the groups that are described, the streams groups first: classic ones of their name are none."""
    raw = content.get("raw", {})
    streams = _answered(raw, "streams_group_describe", read_streams_groups)
    classic = {}
    if "members" in content.get("describe_groups", {}):
        one = _decoded(_text(content, "group"), content["describe_groups"])
        classic = {one.group_id: one}
    elif "describe_groups" in raw:
        classic = _answered(raw, "describe_groups", read_classic_groups)
    found: list[ClassicGroup | StreamsGroup] = list(streams.values())
    found += [one for name, one in classic.items() if name not in streams]
    if not found:
        raise BadCapture(
            "It describes no group: it needs `describe_groups` with members, or the raw answer of "
            "DescribeGroups or StreamsGroupDescribe."
        )
    return found


def _answered(raw: Mapping[str, Any], name: str, read: Any) -> dict[str, Any]:
    one = raw.get(name)
    if one is None:
        return {}
    try:
        answers = read(bytes.fromhex(one["response_hex"]), int(one["version"]))
    except ClusterFault as fault:
        raise BadCapture(f"raw.{name}: {fault}") from None
    return {group: found for group, found in answers.items() if not isinstance(found, ClusterFault)}


def _decoded(group_id: str, told: Mapping[str, Any]) -> ClassicGroup:
    members = tuple(
        ClassicMember(
            _text(one, "member_id"),
            _maybe(one, "group_instance_id"),
            _text(one, "client_id"),
            _text(one, "client_host"),
            bytes.fromhex(one["member_metadata_hex"]),
            bytes.fromhex(one["member_assignment_hex"]),
        )
        for one in told["members"]
    )
    state, kind, protocol = (_text(told, one) for one in ("state", "protocol_type", "protocol"))
    return ClassicGroup(group_id, state, kind, protocol, members)


def _maybe(told: Mapping[str, Any], name: str) -> str | None:
    return None if told.get(name) is None else _text(told, name)


def _text(told: Mapping[str, Any], name: str) -> str:
    value = told[name]
    if not isinstance(value, str):
        raise BadCapture(f"{name} is no text: {value!r}.")
    return value


def _observation(content: Mapping[str, Any], group: ClassicGroup | StreamsGroup) -> Observation:
    committed = {
        _place(name): CommittedOffset(_count(one["offset"]), _maybe(one, "metadata") or "")
        for name, one in content.get("committed", {}).items()
    }
    group_ids = {_text(one, "group_id") for one in content.get("list_groups", ())} | {
        group.group_id
    }
    return Observation(
        group,
        _count(content.get("captured_from") or 0),
        _topics(content),
        committed,
        group_ids=frozenset(group_ids),
    )


def _place(name: str) -> TopicPartition:
    topic, colon, number = name.rpartition(":")
    if not colon:
        raise BadCapture(f"{name!r} is no TOPIC:PARTITION")
    return TopicPartition(topic, int(number))


def _count(value: Any, most: int = LARGEST_OFFSET) -> int:
    if type(value) is not int or not 0 <= value <= most:
        raise BadCapture(f"{value!r} is no whole number from 0 to {most}.")
    return value


def _topics(content: Mapping[str, Any]) -> dict[str, TopicFacts]:
    sizes: dict[str, dict[int, int]] = {}
    for broker in content.get("log_dirs", ()):
        for folder in broker["log_dirs"]:
            for topic in folder["topics"]:
                own = sizes.setdefault(topic["name"], {})
                for one in topic["partitions"]:
                    number = int(one["partition_index"])
                    own[number] = max(own.get(number, 0), int(one["partition_size"]))
    settings = content.get("internal_topic_configs_raw", {}).get("topic", {})
    found = {}
    for name, one in content.get("topics", {}).items():
        offsets = {int(number): pair for number, pair in one.get("offsets", {}).items()}
        found[name] = TopicFacts(
            _count(one["partitions"], MOST_PARTITIONS),
            {number: _count(pair[0]) for number, pair in offsets.items()},
            {number: _count(pair[1]) for number, pair in offsets.items()},
            {},
            sizes.get(name, {}),
            {key: str(value) for key, value in settings.get(name, {}).items()},
        )
    return found


# Every finished rebalance of classic groups that is still in `__consumer_offsets`: exact generations.
#
# Source: GroupMetadataKey and GroupMetadataValue (key version 2), written once per completed rebalance.
# Kafka's DescribeGroups does not tell the generation; these records do, with the bytes of every member.

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
        """What is known of the application then, without its topics."""
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
