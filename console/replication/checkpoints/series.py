"""Checkpoint lag over time: samples as they are collected, rolled up to minutes and hours, read for charts.

A question takes the coarsest step that is fine enough for its chart; what is not rolled up yet comes from the
finer ones. A step holds the worst of its samples. Steps are written again while samples may still
arrive in them, so a task that runs twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, Max
from django.db.models.functions import Mod

from console.frame.pages.timerange import TimeRange
from console.replication.checkpoints.rounds.answers import Answers, GroupAnswer
from console.replication.checkpoints.rounds.memory import MOST_PARTS
from console.replication.flows.models import (
    CheckpointSample,
    CheckpointSeries,
    FlowReadiness,
    ReplicationFlow,
)
from jobs.replication.checkpoints.lag import Bounds
from jobs.replication.checkpoints.readiness import Part

MOST_POINTS = 600
GAP_STEPS = 4
RAW, MINUTE, HOUR = 0, 60, 3600
# A flow writes at most so many samples of groups a second: thousands of groups are sampled more rarely.
SAMPLES_PER_S = 10
# Rounds take time: a sample may be this much older than the moment at which it is written.
LATE_S = 180
VALUES = ("age_ms", "behind", "reread", "at_risk", "at_risk_ms", "rank")

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


def roll_up(now: datetime) -> int:
    """Bring minutes up to date, and hours that are complete; returns how many steps were written."""
    now_s = int(now.timestamp())
    minutes = _roll(RAW, MINUTE, _floor(now_s - LATE_S, MINUTE), now_s)
    last = CheckpointSample.objects.filter(step_s=HOUR).aggregate(last=Max("at_s"))["last"]
    complete = _floor(now_s - LATE_S, HOUR)
    begin = complete - settings.CHECKPOINT_MINUTES_D * 86_400 if last is None else last + HOUR
    return minutes + (_roll(MINUTE, HOUR, begin, complete) if begin < complete else 0)


def prune(now: datetime) -> int:
    """Remove samples that are older than the retention of their step; returns how many."""
    now_s = int(now.timestamp())
    gone = 0
    for step_s, kept_s in retention().items():
        old = CheckpointSample.objects.filter(step_s=step_s, at_s__lt=now_s - kept_s)
        gone += old.delete()[0]
    # Groups that are gone leave series without samples.
    CheckpointSeries.objects.filter(samples=None).delete()
    return gone


def retention() -> dict[int, int]:
    """Return for how many seconds the samples of each step are kept."""
    return {
        RAW: settings.CHECKPOINT_RAW_H * 3600,
        MINUTE: settings.CHECKPOINT_MINUTES_D * 86_400,
        HOUR: settings.CHECKPOINT_HOURS_D * 86_400,
    }


def read_series(
    flow: ReplicationFlow,
    key: Key,
    time_range: TimeRange,
    now: datetime,
    points: int = MOST_POINTS,
) -> dict[str, list[Any]]:
    """Return columns `at` (Unix seconds) and the worst of each number in a step; at most four queries.

    A stretch without samples is one row of nulls, so that a line breaks there.
    """
    columns: dict[str, list[Any]] = {"at": [], **{name: [] for name in VALUES}, "events": []}
    series = CheckpointSeries.objects.filter(
        flow=flow, group=key[0], topic=key[1], partition=key[2]
    ).first()
    step_s = max(time_range.step_s(min(points, MOST_POINTS)), settings.CHECKPOINT_INTERVAL_S)
    before: int | None = None
    for at_s, row in _steps(series, time_range, step_s, now):
        if before is not None and at_s - before > GAP_STEPS * max(step_s, _rest_of(flow)):
            _append(columns, before + step_s, {})
        _append(columns, at_s, row)
        before = at_s
    return columns


def recent(
    flow: ReplicationFlow,
    groups: Sequence[str],
    now: datetime,
    *,
    span_s: int = 6 * HOUR,
    steps: int = 36,
) -> dict[str, list[int | None]]:
    """Return the records behind of groups over the last hours, for small charts; one query."""
    begin, step_s = int(now.timestamp()) - span_s, span_s // steps
    rows = (
        CheckpointSample.objects.filter(
            series__flow=flow,
            series__group__in=groups,
            series__topic="",
            step_s=MINUTE,
            at_s__gte=begin,
        )
        .annotate(bucket=F("at_s") - Mod(F("at_s"), step_s))
        .values_list("series__group", "bucket")
        .annotate(most=Max("behind"))
        .order_by("series__group", "bucket")
    )
    found: dict[str, list[int | None]] = {group: [] for group in groups}
    for group, _, most in rows:
        found[group].append(most)
    return found


def tiers_for(step_s: int, start_s: int, now_s: int) -> list[int]:
    """Return the steps to read, the coarsest first: fine enough for the chart, and kept for so long."""
    kept = retention()
    fitting = [step for step in (HOUR, MINUTE, RAW) if step <= step_s]
    while fitting and start_s < now_s - kept[fitting[0]] and fitting[0] != HOUR:
        coarser = HOUR if fitting[0] == MINUTE else MINUTE
        fitting.insert(0, coarser)
    return fitting


def _steps(
    series: CheckpointSeries | None, time_range: TimeRange, step_s: int, now: datetime
) -> Iterable[tuple[int, dict[str, Any]]]:
    if series is None:
        return
    begin, end = int(time_range.start.timestamp()), int(time_range.end.timestamp())
    found: dict[int, dict[str, Any]] = {}
    for tier in tiers_for(step_s, begin, int(now.timestamp())):
        for row in _bucketed(series, tier, begin, end, max(step_s, tier)):
            found[row["bucket"]] = _worse(found.get(row["bucket"]), row)
            # A finer step does not repeat what a coarser one holds.
            begin = row["last"] + max(tier, 1)
    yield from sorted(found.items())


def _worse(one: dict[str, Any] | None, other: dict[str, Any]) -> dict[str, Any]:
    if one is None:
        return other
    known = {name: [v for v in (one[name], other[name]) if v is not None] for name in other}
    return {name: max(values, default=None) for name, values in known.items()}


def _bucketed(
    series: CheckpointSeries, tier: int, begin: int, end: int, step_s: int
) -> list[dict[str, Any]]:
    rows = CheckpointSample.objects.filter(
        series=series, step_s=tier, at_s__gte=begin, at_s__lte=end
    )
    return list(
        rows.annotate(bucket=F("at_s") - Mod(F("at_s"), step_s))
        .values("bucket")
        .annotate(last=Max("at_s"), **{f"most_{name}": Max(name) for name in VALUES})
        .order_by("bucket")
    )


def _rest_of(flow: ReplicationFlow) -> int:
    """Return how far apart samples of a flow's groups are at most, when it has thousands of them."""
    answer = getattr(flow, "answer", None)
    groups = sum(answer.counts.values()) if answer is not None else 0
    return max(settings.CHECKPOINT_INTERVAL_S, groups // SAMPLES_PER_S)


def _append(columns: dict[str, list[Any]], at_s: int, row: dict[str, Any]) -> None:
    columns["at"].append(at_s)
    for name in VALUES:
        columns[name].append(row.get(f"most_{name}"))


def _roll(from_step: int, to_step: int, begin: int, end: int) -> int:
    rows = (
        CheckpointSample.objects.filter(step_s=from_step, at_s__gte=begin, at_s__lt=end)
        .annotate(bucket=F("at_s") - Mod(F("at_s"), to_step))
        .values_list("series_id", "bucket")
        .annotate(*(Max(name) for name in VALUES))
    )
    steps = [
        CheckpointSample(
            series_id=series, step_s=to_step, at_s=at_s, **dict(zip(VALUES, worst, strict=True))
        )
        for series, at_s, *worst in rows
    ]
    _upsert(steps)
    return len(steps)


def _upsert(samples: list[CheckpointSample]) -> None:
    CheckpointSample.objects.bulk_create(
        samples,
        batch_size=500,
        update_conflicts=True,
        unique_fields=["series", "step_s", "at_s"],
        update_fields=list(VALUES),
    )


def _floor(at_s: int, step_s: int) -> int:
    return at_s - at_s % step_s


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
    _upsert(
        [
            CheckpointSample(series_id=known[key], step_s=RAW, at_s=at_s, **values)
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
    verdict = answers.flow
    return {
        "age_ms": _age_ms(min(oldest, default=None), now),
        "behind": answers.behind.value,
        "reread": _upper(verdict.reread),
        "at_risk": verdict.rpo_records,
        "at_risk_ms": verdict.rpo_ms,
        "rank": verdict.readiness.rank,
    }


def _of_group(
    one: GroupAnswer, now: datetime, *, with_partitions: bool
) -> dict[Key, dict[str, Any]]:
    verdict = one.verdict
    found = {
        (one.group, "", -1): {
            "age_ms": _age_ms(one.checkpoint_at_ms, now),
            "behind": one.behind.value,
            "reread": _upper(verdict.reread),
            "at_risk": verdict.rpo_records,
            "at_risk_ms": verdict.rpo_ms,
            "rank": verdict.readiness.rank,
        }
    }
    if with_partitions:
        covered = [part for part in one.parts if part.is_covered]
        found |= {(one.group, *part.facts.where): _of_part(part, now) for part in covered}
    return found


def _of_part(part: Part, now: datetime) -> dict[str, Any]:
    kept = part.facts.checkpoint
    return {
        "age_ms": _age_ms(kept.at_ms if kept else None, now),
        "behind": part.lag.behind,
        "reread": _upper(part.lag.reread),
        "at_risk": part.facts.at_risk,
        "at_risk_ms": part.facts.at_risk_ms,
        "rank": part.readiness.rank,
    }


def _upper(bounds: Bounds | None) -> int | None:
    """Return the upper bound; None without one: a series never tells a lower bound as if it were all."""
    return None if bounds is None else bounds.hi


def _age_ms(at_ms: int | None, now: datetime) -> int | None:
    return None if at_ms is None else max(int(now.timestamp() * 1000) - at_ms, 0)
