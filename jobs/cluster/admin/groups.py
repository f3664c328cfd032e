"""Groups: list, members, committed offsets, and the offsets of share groups."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from jobs import limits
from jobs.cluster.admin.offsets import MARKER_RANGE, read_data_end, read_offset_ranges
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import (
    CommittedOffset,
    GroupDescription,
    OffsetRange,
    ShareOffset,
    TopicPartition,
)
from jobs.cluster.errors import ClusterFault
from jobs.cluster.group_members import ClassicGroup, StreamsGroup
from jobs.cluster.protocol.cluster import RawCluster, most_telling
from jobs.cluster.protocol.errors import AnswerFault, VersionNotOffered, VersionRefused
from jobs.cluster.protocol.groups.classic import describe_classic_groups
from jobs.cluster.protocol.groups.committed_offsets import (
    alter_offsets,
    delete_offsets,
    read_offsets,
)
from jobs.cluster.protocol.groups.consumer import ConsumerGroup, describe_consumer_groups
from jobs.cluster.protocol.groups.listing import list_all_groups
from jobs.cluster.protocol.groups.share import describe_share_groups, read_share_offsets
from jobs.cluster.protocol.groups.streams import describe_streams_groups
from jobs.cluster.read_only import refuse_when_read_only
from jobs.wire.consumer_protocol import decode_consumer_assignment
from jobs.wire.errors import RecordFormatError

_LISTING, _DESCRIBING, _READING = (
    "Listing groups",
    "Describing groups",
    "Reading committed offsets",
)
# Members are not kept, so more at once than where they are.
CLASSIC_GROUPS_PER_REQUEST = 20
# Groups without members that only commit have no protocol type.
_CONSUMER, _ONLY_COMMITS = "consumer", ""
CONSUMERS, SHARE = frozenset({_CONSUMER, _ONLY_COMMITS}), "share"
_NO_SUCH_TYPE = (VersionNotOffered, VersionRefused)
_NOT_FOUND, _DEAD = "GROUP_ID_NOT_FOUND", "Dead"
# What a group may be that is no classic one, and how it is described then.
_OTHER_TYPES: dict[str, Any] = {
    "consumer": describe_consumer_groups,
    "streams": describe_streams_groups,
    SHARE: describe_share_groups,
}


_Offset = TypeVar("_Offset", CommittedOffset, ShareOffset)


@dataclass(frozen=True, slots=True)
class GroupListing:
    """The groups that answered; `errors` are set when some coordinator did not, so groups may be missing."""

    groups: tuple[GroupDescription, ...]
    errors: tuple[str, ...] = ()


class CommittedGroups(NamedTuple):
    """Committed offsets per group; `errors` says why a group is absent from `committed`."""

    committed: dict[str, dict[TopicPartition, CommittedOffset]]
    errors: dict[str, str]


class SharesRead(NamedTuple):
    """Offsets per share group, why a group has none, and how many are beyond the limits."""

    offsets: Mapping[str, Mapping[TopicPartition, ShareOffset]]
    errors: Mapping[str, str]
    left_out: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class GroupOffsets:
    """Committed offsets per group, and the offsets of those partitions read afterwards.

    `data_ends` holds the offset after the last record for partitions where only a few offsets
    separate a group from the end: they may be transaction markers. `errors` says why a group is
    absent from `committed`, `left_out` how many of a group's offsets are beyond the limits.
    """

    committed: Mapping[str, Mapping[TopicPartition, CommittedOffset]]
    ranges: Mapping[TopicPartition, OffsetRange]
    data_ends: Mapping[tuple[str, TopicPartition], int] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)


def list_groups(client: ClusterClient, *, every_type: bool = False) -> GroupListing:
    """Return all consumer groups with state and type, without their members, sorted.

    `every_type`: also those that commit no offsets as consumers do: of shares, Streams, Connect and others.
    """
    found = client.ask(_LISTING, lambda cluster: list_all_groups(cluster, client.timeout_s))
    if found.faults and not found.groups:
        raise most_telling(found.faults, client.connection.alias)
    groups = tuple(
        GroupDescription(
            one.group_id,
            one.state or "Unknown",
            one.type.lower() or "classic",
            protocol=one.protocol_type,
        )
        for one in found.groups
        if every_type or one.protocol_type in CONSUMERS
    )
    return GroupListing(groups, tuple(fault.message for fault in found.faults))


def describe_groups(client: ClusterClient, ids: Collection[str]) -> dict[str, GroupDescription]:
    """Return every group asked for; a group that could not be described has `error`.

    Dead is a group that does not exist.
    """

    async def ask(cluster: RawCluster) -> dict[str, GroupDescription]:
        budget_s = client.timeout_s
        classic = await describe_classic_groups(
            cluster, ids, budget_s=budget_s, at_once=CLASSIC_GROUPS_PER_REQUEST
        )
        found = {group_id: _group(group_id, one) for group_id, one in classic.items()}
        for type_, describe in _OTHER_TYPES.items():
            others = [group_id for group_id, one in found.items() if one.state == _DEAD]
            if not others:
                break
            for group_id, one in (await describe(cluster, others, budget_s=budget_s)).items():
                # Where no broker speaks of a type, or its feature is off, there is no group of it.
                if not _is_not_found(one) and not isinstance(one, _NO_SUCH_TYPE):
                    found[group_id] = _group(group_id, one, type_)
        return found

    return client.ask(_DESCRIBING, ask)


def read_committed_offsets(
    client: ClusterClient, ids: Collection[str]
) -> dict[str, dict[TopicPartition, CommittedOffset]]:
    """Return the committed offsets of each group; a group that could not be read is absent.

    Read end offsets only after this, or use `read_group_offsets`, which also says why one is absent.
    """
    return read_committed_or_why(client, ids).committed


def read_committed_or_why(client: ClusterClient, ids: Collection[str]) -> CommittedGroups:
    """Return the committed offsets of each group, or why they could not be read; raises `ClusterFault`."""
    answers = client.ask(
        _READING, lambda cluster: read_offsets(cluster, ids, budget_s=client.timeout_s)
    )
    faults = {g: a for g, a in answers.items() if isinstance(a, ClusterFault)}
    if answers and len(faults) == len(answers) and not any(map(_is_answer, faults.values())):
        raise most_telling(faults.values(), client.connection.alias)
    committed = {g: a for g, a in answers.items() if not isinstance(a, ClusterFault)}
    return CommittedGroups(committed, {g: fault.message for g, fault in faults.items()})


def _is_answer(fault: ClusterFault) -> bool:
    """Return whether a broker said it, about one group; all else is about the way there."""
    return isinstance(fault, AnswerFault)


def read_group_offsets(client: ClusterClient, ids: Collection[str]) -> GroupOffsets:
    """Return committed offsets, then the end offsets, in this order. Costs up to three budgets.

    The other way round, a group that commits in between would be ahead of the end it is compared
    with: a negative lag. Only the offsets within the limits are returned.
    """
    every, errors = read_committed_or_why(client, ids)
    committed, left_out = first_offsets(every)
    partitions = {where for offsets in committed.values() for where in offsets}
    ranges = read_offset_ranges(client, sorted(partitions), with_timestamps=False)
    return GroupOffsets(
        committed,
        ranges,
        _data_ends(client, committed, ranges),
        errors,
        left_out,
    )


def read_shares(client: ClusterClient, ids: Collection[str]) -> SharesRead:
    """Return where share groups are; raises `ClusterFault` without any coordinator."""
    answers = client.ask(
        _READING, lambda cluster: read_share_offsets(cluster, ids, budget_s=client.timeout_s)
    )
    told = {g: a for g, a in answers.items() if not isinstance(a, ClusterFault)}
    errors = {g: a.message for g, a in answers.items() if isinstance(a, ClusterFault)}
    found, left_out = first_offsets(told)
    return SharesRead(found, errors, left_out)


def first_offsets(
    committed: Mapping[str, Mapping[TopicPartition, _Offset]],
) -> tuple[dict[str, dict[TopicPartition, _Offset]], dict[str, int]]:
    """Return the first offsets of each group, and how many are left out; small ones lose none to large ones.

    Who may commit writes an offset for each number of a partition, whether it exists or not.
    """
    found: dict[str, dict[TopicPartition, _Offset]] = {}
    left_out: dict[str, int] = {}
    left = limits.ROUND_PARTITIONS
    for group_id, offsets in sorted(committed.items(), key=lambda one: (len(one[1]), one[0])):
        most = min(limits.GROUP_PARTITIONS, left)
        kept = offsets if len(offsets) <= most else dict(sorted(offsets.items())[:most])
        found[group_id] = dict(kept)
        left -= len(kept)
        if len(kept) < len(offsets):
            left_out[group_id] = len(offsets) - len(kept)
    return found, left_out


def alter_group_offsets(
    client: ClusterClient, group_id: str, offsets: Mapping[TopicPartition, CommittedOffset]
) -> dict[TopicPartition, str | None]:
    """Set committed offsets of a group without members; returns why not, per partition (None: it is set).

    A group that does not exist is made. Partitions without an offset (None) are left as they are: to take an
    offset away is `delete_group_offsets`. Raises `ClusterFault` when the group as a whole is refused: it has
    members, or there is no right to it; and `ReadOnly`.
    """
    doing = f"Altering offsets of group {group_id}"
    refuse_when_read_only(client.connection.alias, doing)
    wanted = {where: one for where, one in offsets.items() if one.offset is not None}
    return client.ask(
        doing, lambda cluster: alter_offsets(cluster, group_id, wanted, budget_s=client.timeout_s)
    )


def delete_group_offsets(
    client: ClusterClient, group_id: str, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, str | None]:
    """Take committed offsets of a group away; returns why not, per partition (None: there is none now).

    A partition without an offset is as wanted already. Raises `ClusterFault` when the group as a whole is
    refused: it does not exist, or there is no right to it; and `ReadOnly`. Partitions of topics that members
    of the group read are refused one by one.
    """
    return client.ask(
        f"Deleting offsets of group {group_id}",
        lambda cluster: delete_offsets(cluster, group_id, partitions, budget_s=client.timeout_s),
    )


def _data_ends(
    client: ClusterClient,
    committed: Mapping[str, Mapping[TopicPartition, CommittedOffset]],
    ranges: Mapping[TopicPartition, OffsetRange],
) -> dict[tuple[str, TopicPartition], int]:
    near = {
        (group_id, where): offset.offset
        for group_id, offsets in committed.items()
        for where, offset in offsets.items()
        if offset.offset is not None and 0 < _distance(offset.offset, ranges[where]) <= MARKER_RANGE
    }
    first: dict[TopicPartition, int] = {}
    for (_, where), position in near.items():
        first[where] = min(position, first.get(where, position))
    ends = read_data_end(client, {w: (p, ranges[w].end_offset or p) for w, p in first.items()})
    return {key: max(ends[key[1]], position) for key, position in near.items()}


def _distance(position: int, offsets: OffsetRange) -> int:
    return 0 if offsets.end_offset is None else offsets.end_offset - position


def _is_not_found(answer: object) -> bool:
    return isinstance(answer, AnswerFault) and answer.error == _NOT_FOUND


def _group(
    group_id: str,
    answer: ClassicGroup | ConsumerGroup | StreamsGroup | ClusterFault,
    type_: str = "",
) -> GroupDescription:
    if isinstance(answer, StreamsGroup):
        assigned = frozenset(_read_by_tasks(answer))
        return GroupDescription(
            group_id, answer.state, type_, len(answer.members), assigned=assigned
        )
    if isinstance(answer, ConsumerGroup):
        return GroupDescription(
            group_id,
            answer.state,
            type_,
            answer.member_count,
            answer.coordinator,
            answer.assignor or None,
            answer.assigned,
        )
    if isinstance(answer, ClassicGroup):
        return GroupDescription(
            group_id,
            answer.state,
            "classic",
            len(answer.members),
            answer.coordinator,
            answer.protocol or None,
            frozenset(_assigned(answer)),
        )
    if _is_not_found(answer):
        return GroupDescription(group_id, _DEAD, "classic", member_count=0)
    return GroupDescription(group_id, "Unknown", "unknown", error=answer.message)


def _read_by_tasks(group: StreamsGroup) -> Iterator[TopicPartition]:
    """Yield what active tasks read by the names that the topology has; patterns are not among them."""
    sources = {
        one.subtopology: (*one.source_topics, *one.repartition_source_topics)
        for one in group.subtopologies or ()
    }
    for member in group.members:
        for subtopology, numbers in member.assignment.active.items():
            for topic in sources.get(subtopology, ()):
                yield from (TopicPartition(topic, number) for number in numbers)


def _assigned(group: ClassicGroup) -> Iterator[TopicPartition]:
    if group.protocol_type != _CONSUMER:
        return
    for member in group.members:
        # What members wrote is not trusted; in a rebalance there is nothing.
        with suppress(RecordFormatError):
            assigned = decode_consumer_assignment(member.assignment).assigned
            yield from (TopicPartition(*where) for where in assigned)
