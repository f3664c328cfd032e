"""Consumer groups: list, members, committed offsets."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError
from confluent_kafka import TopicPartition as ClientPartition

from jobs.cluster.admin.offsets import MARKER_RANGE, read_data_end, read_offset_ranges
from jobs.cluster.admin.topics import chunks
from jobs.cluster.client import UNTIL_CLOSED, ClusterClient
from jobs.cluster.descriptions import (
    CommittedOffset,
    GroupDescription,
    OffsetRange,
    TopicPartition,
)
from jobs.cluster.errors import ClusterFault, TimedOut
from jobs.cluster.librdkafka_errors import error_in, sentence_of
from jobs.cluster.protocol.cluster import most_telling
from jobs.cluster.protocol.data.group_offsets import delete_offsets, read_offsets
from jobs.cluster.protocol.errors import AnswerFault
from jobs.cluster.read_only import refuse_when_read_only

GROUPS_PER_REQUEST = 100
COORDINATOR_PAUSE_S = 0.25
_COORDINATOR_MOVES = frozenset(
    {"NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE"}
)
# The client library spells Kafka's states its own way.
_STATES = {
    "PREPARING_REBALANCING": "PreparingRebalance",
    "COMPLETING_REBALANCING": "CompletingRebalance",
    "STABLE": "Stable",
    "DEAD": "Dead",
    "EMPTY": "Empty",
}


@dataclass(frozen=True, slots=True)
class GroupListing:
    """The groups that answered; `errors` are set when some coordinator did not, so groups may be missing."""

    groups: tuple[GroupDescription, ...]
    errors: tuple[str, ...] = ()


class CommittedGroups(NamedTuple):
    """Committed offsets per group; `errors` says why a group is absent from `committed`."""

    committed: dict[str, dict[TopicPartition, CommittedOffset]]
    errors: dict[str, str]


@dataclass(frozen=True, slots=True)
class GroupOffsets:
    """Committed offsets per group, and the offsets of those partitions read afterwards.

    `data_ends` holds the offset after the last record for partitions where only a few offsets
    separate a group from the end: they may be transaction markers. `errors` says why a group is
    absent from `committed`.
    """

    committed: Mapping[str, Mapping[TopicPartition, CommittedOffset]]
    ranges: Mapping[TopicPartition, OffsetRange]
    data_ends: Mapping[tuple[str, TopicPartition], int] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)


def list_groups(client: ClusterClient) -> GroupListing:
    """Return all consumer groups with state and type, without their members."""
    answer = client.ask(
        lambda admin, left: admin.list_consumer_groups(request_timeout=left),
        "Listing groups",
        any_broker=False,
    )
    errors = [error_in(error) for error in answer.errors or ()]
    listed = sorted(answer.valid or (), key=lambda group: group.group_id)
    if errors and not listed:
        raise client.fault_of(errors[0], "Listing groups")
    groups = tuple(GroupDescription(g.group_id, _state(g.state), _type(g)) for g in listed)
    return GroupListing(groups, tuple(map(sentence_of, errors)))


def describe_groups(client: ClusterClient, ids: Collection[str]) -> dict[str, GroupDescription]:
    """Return every group asked for; a group that could not be described has `error`."""
    answers = client.ask_all(
        chunks(sorted(set(ids)), GROUPS_PER_REQUEST),
        lambda admin, chunk, _: admin.describe_consumer_groups(
            list(chunk), request_timeout=UNTIL_CLOSED
        ),
        "Describing groups",
    )
    return {group_id: _group(group_id, answers.get(group_id)) for group_id in ids}


def read_committed_offsets(
    client: ClusterClient, ids: Collection[str]
) -> dict[str, dict[TopicPartition, CommittedOffset]]:
    """Return the committed offsets of each group; a group that could not be read is absent.

    Read end offsets only after this, or use `read_group_offsets`, which also says why one is absent.
    """
    return read_committed_or_why(client, ids).committed


def read_committed_or_why(client: ClusterClient, ids: Collection[str]) -> CommittedGroups:
    """Return the committed offsets of each group, or why they could not be read; raises `ClusterFault`."""
    answers = client.ask_raw(lambda raw: read_offsets(raw, ids, budget_s=client.timeout_s))
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
    with: a negative lag.
    """
    committed, errors = read_committed_or_why(client, ids)
    partitions = {where for offsets in committed.values() for where in offsets}
    ranges = read_offset_ranges(client, sorted(partitions), with_timestamps=False)
    return GroupOffsets(
        committed,
        ranges,
        _data_ends(client, committed, ranges),
        errors,
    )


def alter_group_offsets(
    client: ClusterClient, group_id: str, offsets: Mapping[TopicPartition, CommittedOffset]
) -> dict[TopicPartition, str | None]:
    """Set committed offsets of a group without members; returns why not, per partition (None: it is set).

    A group that does not exist is made. Partitions without an offset (None) are left as they are: to take an
    offset away is `delete_group_offsets`. Raises `ClusterFault` when the group as a whole is refused: it has
    members, or there is no right to it; and `ReadOnly`.
    """
    refuse_when_read_only(client.connection.alias, f"Altering offsets of group {group_id}")
    wanted = [
        ClientPartition(where.topic, where.partition, offset.offset, offset.metadata)
        for where, offset in offsets.items()
        if offset.offset is not None
    ]
    if not wanted:
        return {}
    give_up_at = time.monotonic() + client.timeout_s
    while True:
        answer = _alter(client, group_id, wanted)
        moving = [one for one in answer.topic_partitions if _is_moving(one.error)]
        if not moving or time.monotonic() >= give_up_at:
            break
        client.close()  # it would go on asking the broker that it knows
        time.sleep(COORDINATOR_PAUSE_S)
    return {
        TopicPartition(one.topic, one.partition): sentence_of(one.error) if one.error else None
        for one in answer.topic_partitions
    }


def _alter(client: ClusterClient, group_id: str, wanted: list[ClientPartition]) -> Any:
    answers = client.ask_all(
        [ConsumerGroupTopicPartitions(group_id, wanted)],
        lambda admin, one, _: admin.alter_consumer_group_offsets(
            [one], request_timeout=UNTIL_CLOSED
        ),
        f"Altering offsets of group {group_id}",
    )
    answer = answers.get(group_id)
    if answer is None:
        raise TimedOut(
            f"Altering offsets of group {group_id}: no answer in time.",
            cluster=client.connection.alias,
        )
    if isinstance(answer, ClusterFault):
        raise answer
    return answer


def _is_moving(error: KafkaError | None) -> bool:
    """Return whether the group's coordinator is elsewhere, or not ready: nothing was done."""
    return error is not None and error.name() in _COORDINATOR_MOVES


def delete_group_offsets(
    client: ClusterClient, group_id: str, partitions: Collection[TopicPartition]
) -> dict[TopicPartition, str | None]:
    """Take committed offsets of a group away; returns why not, per partition (None: there is none now).

    A partition without an offset is as wanted already. Raises `ClusterFault` when the group as a whole is
    refused: it does not exist, or there is no right to it; and `ReadOnly`. Partitions of topics that members
    of the group read are refused one by one.
    """
    # The client library has no such request.
    return client.ask_raw(
        lambda raw: delete_offsets(raw, group_id, partitions, budget_s=client.timeout_s)
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


def _group(group_id: str, answer: Any) -> GroupDescription:
    if answer is None or isinstance(answer, ClusterFault):
        error = answer.message if answer else "Describing groups: no answer in time."
        return GroupDescription(group_id, "Unknown", "unknown", error=error)
    assigned = frozenset(
        TopicPartition(tp.topic, tp.partition)
        for member in answer.members
        for tp in member.assignment.topic_partitions
    )
    return GroupDescription(
        group_id,
        _state(answer.state),
        _type(answer),
        member_count=len(answer.members),
        coordinator=answer.coordinator.id if answer.coordinator else None,
        assignor=answer.partition_assignor or None,
        assigned=assigned,
    )


def _state(state: Any) -> str:
    return _STATES.get(state.name, "Unknown")


def _type(group: Any) -> str:
    return str(group.type.name).lower()
