"""Write the answers of a round: only rows that changed, in a constant number of statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.db import transaction

from console.clusters.collection.rows import remove, update_changed
from console.replication.checkpoints.history import unasked_since
from console.replication.checkpoints.models import Answer
from console.replication.checkpoints.rounds.answers import Answers, GroupAnswer
from console.replication.checkpoints.rounds.evaluation import partition_document
from console.replication.checkpoints.rounds.facts import Names
from console.replication.flows.models import (
    FlowReadiness,
    GroupReadiness,
    ReadinessChange,
    ReplicationFlow,
    TopicReadiness,
)
from jobs.cluster.descriptions import TopicPartition
from jobs.replication.checkpoints.follow import CheckpointsRead
from jobs.replication.checkpoints.lag import Bounds, SeenCheckpoint
from jobs.replication.checkpoints.obstacles import Held, Readiness, follow
from jobs.replication.checkpoints.readiness import Verdict
from jobs.replication.checkpoints.topic import GroupPartition

BATCH = 500
# The column is for search; a longer list of topics is not readable.
MOST_TOPIC_NAMES = 20
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
) -> bool:
    """Write groups, topics and the flow, and what became another answer; True: some change is held."""
    with transaction.atomic():
        row = FlowReadiness.objects.get(flow=flow)
        gap = unasked_since(row, now)
        save = _Save(flow, now, is_told_anew=gap is not None)
        if gap is not None:
            save.moved += [_change(flow, group, Readiness.UNKNOWN, gap) for group in ("", *before)]
        counts = _save_groups(save, answers.groups, before, names)
        _save_topics(save, answers.topics)
        _save_flow(save, row, answers, counts)
        ReadinessChange.objects.bulk_create(save.moved, batch_size=BATCH)
    return save.is_held


@dataclass(slots=True)
class _Save:
    """One writing of answers: `moved` are changes that count, `is_held` whether one does not count yet.

    `is_told_anew`: for long no round has succeeded, so what is found now counts at once.
    """

    flow: ReplicationFlow
    now: datetime
    is_told_anew: bool
    moved: list[ReadinessChange] = field(default_factory=list)
    is_held: bool = False

    def hold(self, row: Answer | None, verdict: Verdict, group: str | None) -> dict[str, Any]:
        """Return the columns of an answer and note its change; `group` None: changes are not kept."""
        columns = hold(None if self.is_told_anew else row, verdict, self.now)
        self.is_held |= bool(columns["found"])
        readiness = columns.get("readiness")
        is_other = readiness is not None and (row is None or row.readiness != readiness)
        if group is not None and (is_other or self.is_told_anew):
            self.moved.append(_change(self.flow, group, verdict.readiness, self.now))
        return columns

    def set(self, row: Any, values: Mapping[str, Any]) -> list[str]:
        """Set the values of a row and return the names of what is to be written."""
        names = [*values, "updated_at"]
        if values.get("readiness", row.readiness) != row.readiness:
            row.since = self.now
            names.append("since")
        for name, value in values.items():
            setattr(row, name, value)
        row.updated_at = self.now
        return names


def save_read(answer: FlowReadiness, read: CheckpointsRead, mark: str, now: datetime) -> None:
    """Remember up to where the topic of checkpoints was read; call in one transaction with the answers."""
    FlowReadiness.objects.filter(pk=answer.pk).update(
        checkpoints_read_to=read.read_to,
        checkpoints_read_at=now,
        checkpoints_topic_id=read.topic_id,
        settings_mark=mark,
    )


def _save_groups(
    save: _Save,
    groups: Sequence[GroupAnswer],
    before: Mapping[str, GroupReadiness],
    names: Names,
) -> dict[str, int]:
    """Write the groups; returns how many have which readiness now."""
    new, changed = [], []
    counts: Counter[str] = Counter()
    for one in groups:
        row = before.get(one.group)
        is_held = row is not None and row.found != ""
        columns = save.hold(row, one.verdict, one.group)
        values = columns if one.is_same else {**_group_values(one, names), **columns}
        if row is None:
            row = GroupReadiness(flow=save.flow, group=one.group, since=save.now, readiness="")
            save.set(row, values)
            new.append(row)
        elif is_held or columns["found"] or not (one.is_same or _is_as(row, values)):
            changed.append((row, save.set(row, values)))
        counts[row.readiness] += 1
    GroupReadiness.objects.bulk_create(new, batch_size=BATCH)
    update_changed(GroupReadiness, changed)
    seen = {one.group for one in groups}
    remove(GroupReadiness, [row for group, row in before.items() if group not in seen])
    return {step.value: counts[step.value] for step in Readiness if counts[step.value]}


def _is_as(row: GroupReadiness | TopicReadiness, values: Mapping[str, Any]) -> bool:
    """Return whether a row says all that already; one of which not all was read is written."""
    if row.get_deferred_fields():
        return False
    return all(getattr(row, name) == value for name, value in values.items())


def _group_values(one: GroupAnswer, names: Names) -> dict[str, Any]:
    topics = [{"topic": t, **answer_values(verdict)} for t, verdict in one.topics.items()]
    covered = [part for part in one.parts if part.is_covered]
    return {
        **numbers_of(one.verdict),
        "state": one.member.state if one.member else "",
        "topic_names": ", ".join(list(one.topics)[:MOST_TOPIC_NAMES]),
        "partition_count": len(covered) or len(one.parts),
        "checkpoint_count": sum(part.facts.checkpoint is not None for part in one.parts),
        "reason": one.reason,
        "behind": one.behind.value,
        "behind_unknown_count": one.behind.unknown,
        "checkpoint_at": moment(one.checkpoint_at_ms),
        "topics": topics,
        "partitions": [
            partition_document(part, names.remote(part.facts.where)) for part in one.parts
        ],
    }


def answer_values(verdict: Verdict) -> dict[str, Any]:
    """Return the columns of `Answer` that a verdict fills when it counts."""
    return {**answer_of(verdict), **numbers_of(verdict)}


def numbers_of(verdict: Verdict) -> dict[str, Any]:
    """Return the columns of `Answer` that are numbers: they are never held."""
    reread, skipped = verdict.reread, verdict.skipped
    return {
        "rpo_records": verdict.rpo_records,
        "rpo_ms": verdict.rpo_ms,
        **_bounds("reread", reread),
        **_bounds("skipped", skipped),
        "repeated_hi": verdict.duplicates.hi if verdict.duplicates else None,
        "repeated_coming_hi": verdict.duplicates_coming.hi if verdict.duplicates_coming else None,
    }


def _bounds(name: str, bounds: Bounds | None) -> dict[str, int | None]:
    return {
        f"{name}_lo": bounds.lo if bounds else None,
        f"{name}_hi": bounds.hi if bounds else None,
    }


def _save_topics(save: _Save, topics: Mapping[str, tuple[Verdict, int]]) -> None:
    before = {row.topic: row for row in TopicReadiness.objects.filter(flow=save.flow)}
    new, changed = [], []
    for topic, (verdict, groups) in topics.items():
        row = before.pop(topic, None)
        columns = save.hold(row, verdict, None)
        values = {**columns, **numbers_of(verdict), "group_count": groups}
        if row is None:
            row = TopicReadiness(flow=save.flow, topic=topic, since=save.now, readiness="")
            save.set(row, values)
            new.append(row)
        elif not _is_as(row, values):
            changed.append((row, save.set(row, values)))
    TopicReadiness.objects.bulk_create(new, batch_size=BATCH)
    update_changed(TopicReadiness, changed)
    remove(TopicReadiness, list(before.values()))


def _save_flow(
    save: _Save, row: FlowReadiness, answers: Answers, counts: Mapping[str, int]
) -> None:
    covered = [one for one in answers.groups if one.is_covered]
    oldest = [one.checkpoint_at_ms for one in covered if one.behind.value and one.checkpoint_at_ms]
    if row.succeeded_at is None:
        row.readiness, row.since = "", save.now
    values = {
        **save.hold(row if row.readiness else None, answers.flow, ""),
        **numbers_of(answers.flow),
        "counts": dict(counts),
        "behind": answers.behind.value,
        "behind_unknown_count": answers.behind.unknown,
        "checkpoint_at": moment(min(oldest, default=None)),
    }
    row.save(update_fields=save.set(row, values))


def _change(
    flow: ReplicationFlow, group: str, readiness: Readiness, at: datetime
) -> ReadinessChange:
    return ReadinessChange(flow=flow, group=group, at=at, readiness=readiness.value)


def moment(at_ms: int | None) -> datetime | None:
    """Return a timestamp of Kafka as a time; None for none, and for one that is no time."""
    if at_ms is None:
        return None
    try:
        return datetime.fromtimestamp(at_ms / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None


# The columns of a row by which a change of its answer is held until it counts.


def hold(row: Answer | None, verdict: Verdict, now: datetime) -> dict[str, Any]:
    """Return the columns that a verdict changes: the answer with its evidence only when it counts.

    `row` is what was written last; None: nothing was, or no round succeeded for long, so it counts at once.
    """
    after = follow(None if row is None else _held(row), verdict.readiness, now)
    columns: dict[str, Any] = {
        "found": after.found.value if after.found else "",
        "found_since": after.found_since,
        "differs_since": after.differs_since,
    }
    return {**columns, **answer_of(verdict)} if after.counts is verdict.readiness else columns


def answer_of(verdict: Verdict) -> dict[str, Any]:
    """Return the columns of an answer that counts."""
    evidence = [
        {
            "obstacle": each.obstacle.value,
            "readiness": each.readiness.value,
            "text": each.text,
            "hint": each.hint,
        }
        for each in verdict.evidence
    ]
    return {
        "readiness": verdict.readiness.value,
        "rank": verdict.readiness.rank,
        "evidence": evidence,
    }


def _held(row: Answer) -> Held:
    found = Readiness(row.found) if row.found else None
    return Held(Readiness(row.readiness), found, row.found_since, row.differs_since)
