"""Checkpoint lag over time: sampled in rounds, of flows, groups and partitions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Max

from console.findings.incidents.queries import list_marks
from console.frame import series
from console.frame.pages.timerange import TimeRange
from console.replication.checkpoints.rounds.answers import Answers, GroupAnswer
from console.replication.checkpoints.rounds.memory import MOST_PARTS
from console.replication.flows.models import (
    CheckpointSample,
    CheckpointSeries,
    FlowReadiness,
    ReplicationFlow,
)
from jobs.replication.checkpoints.readiness import Part, Verdict

# A flow writes at most so many samples of groups a second: thousands of groups are sampled more rarely.
SAMPLES_PER_S = 10
RECENT_S, RECENT_STEPS = 6 * series.HOUR, 36
CHECKPOINTS = series.Series(
    CheckpointSample,
    ("series_id",),
    dict.fromkeys(("age_ms", "behind", "reread", "at_risk", "at_risk_ms", "rank"), Max),
    lambda: {
        series.RAW: settings.CHECKPOINT_RAW_H * 3600,
        series.MINUTE: settings.CHECKPOINT_MINUTES_D * 86_400,
        series.HOUR: settings.CHECKPOINT_HOURS_D * 86_400,
    },
    lambda: settings.CHECKPOINT_INTERVAL_S,
)

Key = tuple[str, str, int]
OF_FLOW: Key = ("", "", -1)


def save_samples(
    flow: ReplicationFlow, answer: FlowReadiness, answers: Answers, now: datetime
) -> int:
    """Write a sample of the flow and, when it is their turn, of its groups; returns how many."""
    found = {OF_FLOW: _of_flow(answers, now)}
    # Partitions have series of their own as long as there are not too many of them.
    pairs = sum(len(one.parts) for one in answers.groups)
    has_parts = pairs <= MOST_PARTS and all(one.parts for one in answers.groups)
    wanted = len(answers.groups) + (pairs if has_parts else 0)
    every = timedelta(seconds=max(settings.CHECKPOINT_INTERVAL_S, wanted / SAMPLES_PER_S) - 1)
    if answer.sampled_groups_at is None or now - answer.sampled_groups_at >= every:
        for one in answers.groups:
            if one.is_covered:
                found |= _of_group(one, now, with_partitions=has_parts)
        FlowReadiness.objects.filter(pk=answer.pk).update(sampled_groups_at=now)
    _write(flow, found, int(now.timestamp()))
    return len(found)


def prune(now: datetime) -> int:
    """Remove samples that are older than the retention of their step; returns how many."""
    gone = series.prune(CHECKPOINTS, now)
    # Groups that are gone leave series without samples.
    CheckpointSeries.objects.filter(samples=None).delete()
    return gone


def read_series(
    flow: ReplicationFlow,
    key: Key,
    time_range: TimeRange,
    now: datetime,
    points: int = series.MOST_POINTS,
) -> dict[str, list[Any]]:
    """Return columns `at` (Unix seconds) and the worst of each number in a step; at most five queries."""
    group, topic, partition = key
    row = CheckpointSeries.objects.filter(
        flow=flow, group=group, topic=topic, partition=partition
    ).first()
    rest_s = _rest_of(flow)
    columns = series.read_columns(CHECKPOINTS, time_range, now, points, rest_s, series=row)
    return {**columns, "events": [one.to_mapping() for one in list_marks(time_range, flow=flow)]}


def recent(
    flow: ReplicationFlow, groups: Sequence[str], now: datetime
) -> dict[str, list[int | None]]:
    """Return the records behind of groups over the last hours, for small charts; one query."""
    begin = int(now.timestamp()) - RECENT_S
    rows = CheckpointSample.objects.filter(
        series__flow=flow,
        series__group__in=groups,
        series__topic="",
        step_s=series.MINUTE,
        at_s__gte=begin,
    )
    found = series.small_lines(rows, "series__group", "behind", RECENT_S // RECENT_STEPS)
    return {group: found.get(group, []) for group in groups}


def _rest_of(flow: ReplicationFlow) -> int:
    """Return how far apart samples of a flow's groups are at most, when it has thousands of them."""
    answer = getattr(flow, "answer", None)
    groups = sum(answer.counts.values()) if answer is not None else 0
    return max(settings.CHECKPOINT_INTERVAL_S, groups // SAMPLES_PER_S)


def _write(flow: ReplicationFlow, found: dict[Key, dict[str, Any]], at_s: int) -> None:
    known = _series_of(flow, found)
    missing = [
        CheckpointSeries(flow=flow, group=g, topic=t, partition=p)
        for g, t, p in found
        if (g, t, p) not in known
    ]
    if missing:
        CheckpointSeries.objects.bulk_create(missing, batch_size=500, ignore_conflicts=True)
        known = _series_of(flow, found)
    series.upsert(
        [
            CheckpointSample(series_id=known[key], step_s=series.RAW, at_s=at_s, **values)
            for key, values in found.items()
        ]
    )


def _series_of(flow: ReplicationFlow, found: dict[Key, Any]) -> dict[Key, int]:
    rows = CheckpointSeries.objects.filter(flow=flow)
    rows = rows if len(found) > 1 else rows.filter(group="")
    return {(g, t, p): pk for pk, g, t, p in rows.values_list("pk", "group", "topic", "partition")}


def _of_flow(answers: Answers, now: datetime) -> dict[str, Any]:
    covered = [one for one in answers.groups if one.is_covered]
    oldest = [one.checkpoint_at_ms for one in covered if one.behind.value and one.checkpoint_at_ms]
    return _of_verdict(answers.flow, min(oldest, default=None), answers.behind.value, now)


def _of_group(
    one: GroupAnswer, now: datetime, *, with_partitions: bool
) -> dict[Key, dict[str, Any]]:
    values = _of_verdict(one.verdict, one.checkpoint_at_ms, one.behind.value, now)
    found = {(one.group, "", -1): values}
    if with_partitions:
        covered = [part for part in one.parts if part.is_covered]
        found |= {(one.group, *part.facts.where): _of_part(part, now) for part in covered}
    return found


def _of_part(part: Part, now: datetime) -> dict[str, Any]:
    facts, lag = part.facts, part.lag
    here = Verdict(
        part.readiness, rpo_records=facts.at_risk, rpo_ms=facts.at_risk_ms, reread=lag.reread
    )
    at_ms = facts.checkpoint.at_ms if facts.checkpoint else None
    return _of_verdict(here, at_ms, lag.behind, now)


def _of_verdict(
    one: Verdict, at_ms: int | None, behind: int | None, now: datetime
) -> dict[str, Any]:
    return {
        "age_ms": None if at_ms is None else max(int(now.timestamp() * 1000) - at_ms, 0),
        "behind": behind,
        # A series never tells a lower bound as if it were all.
        "reread": None if one.reread is None else one.reread.hi,
        "at_risk": one.rpo_records,
        "at_risk_ms": one.rpo_ms,
        "rank": one.readiness.rank,
    }
