"""Write the answers of a round: only rows that changed, in a constant number of statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import transaction

from console.clusters.rows import remove, update
from console.replication.models import (
    FlowReadiness,
    GroupReadiness,
    ReadinessChange,
    ReplicationFlow,
    TopicReadiness,
)
from console.replication.readiness_answers import Answers, GroupAnswer
from console.replication.readiness_facts import Names
from console.replication.readiness_history import unasked_since
from console.replication.readiness_judge import partition_document
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.checkpoint_follow import CheckpointsRead
from jobs.replication.checkpoint_lag import Bounds, SeenCheckpoint
from jobs.replication.checkpoint_topic import GroupPartition
from jobs.replication.obstacles import Readiness
from jobs.replication.readiness import Verdict

BATCH = 500
# A table's column is searched by what a group reads; nobody reads a list of thousands of topics.
MOST_TOPIC_NAMES = 20


GROUP_FIELDS = (
    "readiness", "rank", "evidence", "rpo_records", "rpo_ms", "reread_lo", "reread_hi", "skipped_lo",
    "skipped_hi", "repeated_hi", "state", "topic_names", "partition_count", "checkpoint_count", "reason",
    "behind", "checkpoint_at", "topics", "partitions",
)  # fmt: skip
# Only needed to see what is new, and the most of a row.
HEAVY = ("partitions", "topics", "evidence")


def stored_answers(flow: ReplicationFlow, *, is_remembered: bool) -> dict[str, GroupReadiness]:
    """Return the answers of the last round, by group; of one that is remembered without what is heavy."""
    rows = GroupReadiness.objects.filter(flow=flow).order_by()
    rows = rows.defer(*HEAVY) if is_remembered else rows
    return {row.group: row for row in rows}


def stored_checkpoints(
    rows: Mapping[str, GroupReadiness],
) -> dict[GroupPartition, SeenCheckpoint]:
    """Return the checkpoints that the last round knew; the topic is read from there on."""
    found = {}
    for row in rows.values():
        for place in row.partitions:
            if place["upstream"] is not None:
                where = TopicPartition(place["remote_topic"], place["partition"])
                kept = SeenCheckpoint(
                    place["upstream"], place["downstream"], place["checkpoint_at_ms"]
                )
                found[GroupPartition(row.group, where)] = kept
    return found


def save_answers(
    flow: ReplicationFlow,
    answers: Answers,
    before: Mapping[str, GroupReadiness],
    names: Names,
    now: datetime,
) -> None:
    """Write groups, topics and the flow, and what became another answer."""
    with transaction.atomic():
        row = FlowReadiness.objects.get(flow=flow)
        gap = unasked_since(row, now)
        changes = [_unknown(flow, group, gap) for group in ("", *before)] if gap else []
        changes += _save_groups(flow, answers.groups, before, names, now, is_told_anew=bool(gap))
        _save_topics(flow, answers.topics, now)
        changes += _save_flow(flow, row, answers, now, is_told_anew=bool(gap))
        ReadinessChange.objects.bulk_create(changes, batch_size=BATCH)


def save_read(answer: FlowReadiness, read: CheckpointsRead, mark: str, now: datetime) -> None:
    """Remember up to where the topic of checkpoints was read; call in one transaction with the answers."""
    FlowReadiness.objects.filter(pk=answer.pk).update(
        checkpoints_read_to=read.read_to,
        checkpoints_read_at=now,
        checkpoints_topic_id=read.topic_id,
        settings_mark=mark,
    )


def _save_groups(
    flow: ReplicationFlow,
    groups: Sequence[GroupAnswer],
    before: Mapping[str, GroupReadiness],
    names: Names,
    now: datetime,
    *,
    is_told_anew: bool,
) -> list[ReadinessChange]:
    new, changed, moved = [], [], []
    for one in groups:
        row = before.get(one.group)
        if one.is_same:
            moved += [_change(flow, one.group, one.verdict, now)] if is_told_anew else []
            continue
        values = _group_values(one, names)
        if is_told_anew or row is None or row.readiness != values["readiness"]:
            moved.append(_change(flow, one.group, one.verdict, now))
        if row is None:
            row = GroupReadiness(flow=flow, group=one.group, since=now, readiness="")
            new.append(row)
        elif _is_as(row, values):
            continue
        else:
            changed.append(row)
        if row.readiness != values["readiness"]:
            row.since = now
        _set(row, values, now)
    GroupReadiness.objects.bulk_create(new, batch_size=BATCH)
    if changed:
        update(GroupReadiness, changed, [*GROUP_FIELDS, "since", "updated_at"])
    seen = {one.group for one in groups}
    remove(GroupReadiness, [row for group, row in before.items() if group not in seen])
    return moved


def _is_as(row: GroupReadiness, values: Mapping[str, Any]) -> bool:
    """Return whether a row says all that already; one of which not all was read is written."""
    if row.get_deferred_fields():
        return False
    return all(getattr(row, name) == value for name, value in values.items())


def _group_values(one: GroupAnswer, names: Names) -> dict[str, Any]:
    topics = [{"topic": t, **answer_values(verdict)} for t, verdict in one.topics.items()]
    covered = [part for part in one.parts if part.is_covered]
    return {
        **answer_values(one.verdict),
        "state": one.member.state if one.member else "",
        "topic_names": ", ".join(list(one.topics)[:MOST_TOPIC_NAMES]),
        "partition_count": len(covered) or len(one.parts),
        "checkpoint_count": sum(part.facts.checkpoint is not None for part in one.parts),
        "reason": one.reason,
        "behind": one.behind,
        "checkpoint_at": moment(one.checkpoint_at_ms),
        "topics": topics,
        "partitions": [
            partition_document(part, names.remote(part.facts.where)) for part in one.parts
        ],
    }


def answer_values(verdict: Verdict) -> dict[str, Any]:
    """Return the columns of `Answer` that a verdict fills."""
    reread, skipped = verdict.reread, verdict.skipped
    return {
        "readiness": verdict.readiness.value,
        "rank": verdict.readiness.rank,
        "evidence": [
            {
                "obstacle": each.obstacle.value,
                "readiness": each.readiness.value,
                "text": each.text,
                "hint": each.hint,
            }
            for each in verdict.evidence
        ],
        "rpo_records": verdict.rpo_records,
        "rpo_ms": verdict.rpo_ms,
        **_bounds("reread", reread),
        **_bounds("skipped", skipped),
        "repeated_hi": verdict.duplicates.hi if verdict.duplicates else None,
    }


def _bounds(name: str, bounds: Bounds | None) -> dict[str, int | None]:
    return {
        f"{name}_lo": bounds.lo if bounds else None,
        f"{name}_hi": bounds.hi if bounds else None,
    }


def _save_topics(
    flow: ReplicationFlow, topics: Mapping[str, tuple[Verdict, int]], now: datetime
) -> None:
    before = {row.topic: row for row in TopicReadiness.objects.filter(flow=flow)}
    new, changed = [], []
    for topic, (verdict, groups) in topics.items():
        row = before.pop(topic, None)
        values = {**answer_values(verdict), "group_count": groups}
        if row is None:
            row = TopicReadiness(flow=flow, topic=topic, since=now, readiness="")
            new.append(row)
        elif all(getattr(row, name) == value for name, value in values.items()):
            continue
        else:
            changed.append(row)
        if row.readiness != values["readiness"]:
            row.since = now
        _set(row, values, now)
    TopicReadiness.objects.bulk_create(new, batch_size=BATCH)
    if changed:
        fields = [
            *answer_values(next(iter(topics.values()))[0]),
            "group_count",
            "since",
            "updated_at",
        ]
        update(TopicReadiness, changed, fields)
    remove(TopicReadiness, list(before.values()))


def _save_flow(
    flow: ReplicationFlow,
    row: FlowReadiness,
    answers: Answers,
    now: datetime,
    *,
    is_told_anew: bool,
) -> list[ReadinessChange]:
    covered = [one for one in answers.groups if one.is_covered]
    behind = [one.behind for one in covered if one.behind is not None]
    oldest = [one.checkpoint_at_ms for one in covered if one.behind and one.checkpoint_at_ms]
    values = {
        **answer_values(answers.flow),
        "counts": answers.counts,
        "behind": sum(behind) if behind else None,
        "checkpoint_at": moment(min(oldest, default=None)),
    }
    is_other = row.succeeded_at is None or row.readiness != values["readiness"]
    row.since = now if is_other else row.since
    moved = [_change(flow, "", answers.flow, now)] if is_other or is_told_anew else []
    _set(row, values, now)
    row.save(update_fields=[*values, "since", "updated_at"])
    return moved


def _change(flow: ReplicationFlow, group: str, verdict: Verdict, now: datetime) -> ReadinessChange:
    return ReadinessChange(flow=flow, group=group, at=now, readiness=verdict.readiness.value)


def _unknown(flow: ReplicationFlow, group: str, at: datetime) -> ReadinessChange:
    return ReadinessChange(flow=flow, group=group, at=at, readiness=Readiness.UNKNOWN.value)


def _set(row: Any, values: Mapping[str, Any], now: datetime) -> None:
    for name, value in values.items():
        setattr(row, name, value)
    row.updated_at = now


def moment(at_ms: int | None) -> datetime | None:
    """Return a timestamp of Kafka as a time; None for none, and for one that is no time."""
    if at_ms is None:
        return None
    try:
        return datetime.fromtimestamp(at_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
