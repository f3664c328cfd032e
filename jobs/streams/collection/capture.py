"""A capture of what a broker answered about an application, as a JSON file, read without trusting it.

A list of records of `__consumer_offsets` (`key_hex`, `value_hex`) is a capture, too: of every generation.
Else it is an object with `group` and `describe_groups` (members with `member_metadata_hex`,
`member_assignment_hex`), or with the raw answers (`raw.describe_groups.response_hex`,
`raw.streams_group_describe.response_hex`), and, as far as it has them, `committed`, `topics`, `log_dirs`,
`internal_topic_configs_raw`, `list_groups`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.errors import ClusterFault
from jobs.cluster.group_members import ClassicGroup, ClassicMember, StreamsGroup
from jobs.cluster.protocol.groups.classic import read_classic_groups
from jobs.cluster.protocol.groups.streams import read_streams_groups
from jobs.streams.collection.group_log import rebalances_in
from jobs.streams.observation import Observation, TopicFacts
from jobs.wire.errors import RecordFormatError

MOST_BYTES = 256 * 1024 * 1024


class BadCapture(ValueError):
    """A file that is no capture; the message says what is wrong where."""


def read_capture(path: Path) -> tuple[Observation, ...]:
    """Return what the capture tells of each of its applications; raises OSError and `BadCapture`."""
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise BadCapture(f"It has {size} bytes, more than {MOST_BYTES}.")
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise BadCapture(f"It is no JSON: {error}.") from None
    if not isinstance(content, dict | list):
        raise BadCapture(
            "It is no JSON object with the answers of a broker, nor a list of records."
        )
    try:
        if isinstance(content, list):
            return tuple(one.observation for one in rebalances_in(map(_record, content)))
        return tuple(_observation(content, group) for group in _groups(content))
    except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
        if isinstance(error, BadCapture):
            raise
        raise BadCapture(f"It is no capture of group descriptions: {_told(error)}.") from None


def _record(one: Mapping[str, Any]) -> tuple[bytes, bytes | None]:
    value = one["value_hex"]
    return bytes.fromhex(one["key_hex"]), None if value is None else bytes.fromhex(value)


def _told(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error} is missing"
    if isinstance(error, RecordFormatError):
        return str(error)
    return "a value in it is of another kind (text, number, hex digits, list) than a broker answers"


def _groups(content: Mapping[str, Any]) -> list[ClassicGroup | StreamsGroup]:
    """Return the groups that are described, the streams groups first: classic ones of their name are none."""
    raw = content.get("raw", {})
    streams = _answered(raw, "streams_group_describe", read_streams_groups)
    classic = {}
    if "members" in content.get("describe_groups", {}):
        one = _decoded(content["group"], content["describe_groups"])
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
            _text(one["member_id"]),
            one.get("group_instance_id"),
            _text(one["client_id"]),
            _text(one["client_host"]),
            bytes.fromhex(one["member_metadata_hex"]),
            bytes.fromhex(one["member_assignment_hex"]),
        )
        for one in told["members"]
    )
    return ClassicGroup(
        _text(group_id), told["state"], told["protocol_type"], told["protocol"], members
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _observation(content: Mapping[str, Any], group: ClassicGroup | StreamsGroup) -> Observation:
    committed = {
        _place(name): CommittedOffset(one["offset"], one.get("metadata") or "")
        for name, one in content.get("committed", {}).items()
    }
    group_ids = {one["group_id"] for one in content.get("list_groups", ())} | {group.group_id}
    return Observation(
        group,
        int(content.get("captured_from") or 0),
        _topics(content),
        committed,
        group_ids=frozenset(group_ids),
    )


def _place(name: str) -> TopicPartition:
    topic, colon, number = name.rpartition(":")
    if not colon:
        raise BadCapture(f"{name!r} is no TOPIC:PARTITION")
    return TopicPartition(topic, int(number))


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
            int(one["partitions"]),
            {number: int(pair[0]) for number, pair in offsets.items()},
            {number: int(pair[1]) for number, pair in offsets.items()},
            {},
            sizes.get(name, {}),
            settings.get(name, {}),
        )
    return found
