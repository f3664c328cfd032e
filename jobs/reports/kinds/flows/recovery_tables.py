"""The tables of the disaster recovery report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from jobs.reports.document import Column, Figure, Figures, Gap, Section, Table
from jobs.reports.kinds.flows.readiness import Exposure
from jobs.reports.kinds.flows.recovery import (
    AT_RISK,
    AT_RISK_MS,
    CAUSE,
    MOST_ROWS,
    READY,
    REREAD,
    DisasterRecoveryRecorded,
    Exercise,
    FlowRecovery,
    Judged,
)
from jobs.reports.kinds.flows.sampling import Interval, with_events, with_samples
from jobs.reports.kinds.kind import WORST_FIRST
from jobs.reports.periods import Period
from jobs.reports.values import ValueType, around, stamp, within


def readiness_table(
    name: str,
    title: str,
    found: Sequence[Judged],
    before: Sequence[Judged] | None,
    period: Period,
) -> Table:
    """Return flows or groups, the worst first, each with what a failover would lose and reread."""
    shown = found[:MOST_ROWS]
    is_groups = name == "groups"
    earlier = {(one.flow, one.group): one.share for one in before or ()}
    columns = [
        Column("flow", "Flow"),
        *([Column("group", "Group")] if is_groups else []),
        Column("readiness", "Readiness at the end"),
        Column("ready", "Time ready", ValueType.AVAILABILITY, READY),
        *([Column("before", "Before", ValueType.AVAILABILITY)] if before is not None else []),
        Column("longest_ms", "Longest not ready", ValueType.DURATION_MS),
        Column("longest_at", "Not ready since", ValueType.MOMENT),
        Column("cause", "Cause", ValueType.TEXT, CAUSE),
        Column("rpo_records", "RPO at the end (records)", ValueType.COUNT, AT_RISK),
        Column("rpo_ms", "RPO at the end (time)", ValueType.DURATION_MS, AT_RISK_MS),
        Column("worst_rpo_records", "Worst RPO (records)", ValueType.COUNT),
        Column("worst_rpo_at", "Worst RPO at", ValueType.MOMENT, "Begin of its step."),
        Column("worst_rpo_ms", "Worst RPO (time)", ValueType.DURATION_MS),
        Column("reread", "Records reprocessed at the end", ValueType.COUNT, REREAD),
    ]
    rows = [
        (
            one.flow,
            *([one.group] if is_groups else []),
            one.at_end.word if one.at_end else None,
            one.share,
            *([earlier.get((one.flow, one.group))] if before is not None else []),
            one.longest.ms if one.longest else None,
            stamp(one.longest.start) if one.longest else None,
            one.cause,
            *_exposed(one.exposure),
        )
        for one in shown
    ]
    total = len(found) if len(found) > len(shown) else None
    hrefs = tuple(one.href for one in shown)
    return Table(name, title, tuple(columns), tuple(rows), hrefs, total)


def _exposed(one: Exposure) -> tuple[Any, ...]:
    worst = one.worst_rpo_records
    return (
        one.rpo_records,
        one.rpo_ms,
        worst.value,
        stamp(worst.at),
        one.worst_rpo_ms.value,
        one.reread,
    )


def exercises(
    recorded: DisasterRecoveryRecorded, before: DisasterRecoveryRecorded | None
) -> Section:
    """Return dry runs, failovers and roll backs that began in the period."""
    rows = sorted(recorded.exercises, key=lambda one: (one.at, one.flow, one.plan, one.href))
    kinds = sorted({one.kind for one in [*rows, *(before.exercises if before else ())]})
    figures = tuple(
        Figure(
            f"Runs: {kind}",
            sum(1 for one in rows if one.kind == kind),
            ValueType.COUNT,
            "Runs of failover plans that were requested in the period.",
            before=sum(1 for one in before.exercises if one.kind == kind) if before else None,
        )
        for kind in kinds
    )
    columns = (
        Column("at", "Requested", ValueType.MOMENT),
        Column("flow", "Flow"),
        Column("plan", "Plan"),
        Column("kind", "Kind"),
        Column("direction", "Direction"),
        Column("result", "Result"),
        Column("person", "Requested by"),
        Column("groups", "Groups", ValueType.COUNT),
        Column("bad", "Groups not done", ValueType.COUNT),
        Column("duration_ms", "Duration", ValueType.DURATION_MS),
        Column("error", "Error"),
    )
    table = Table(
        "exercises",
        "Dry runs and failovers",
        columns,
        tuple(_exercise(one) for one in rows[:MOST_ROWS]),
        tuple(one.href for one in rows[:MOST_ROWS]),
        len(rows) if len(rows) > MOST_ROWS else None,
        "No dry run and no failover was requested in this period.",
    )
    blocks = (Figures(figures, before is not None), table) if figures else (table,)
    return Section("exercises", "Dry runs and failovers", *_events(recorded), blocks)


def _exercise(one: Exercise) -> tuple[Any, ...]:
    span = Interval(one.at, one.ended_at).ms if one.ended_at else None
    return (
        stamp(one.at),
        one.flow,
        one.plan,
        one.kind,
        one.direction,
        one.result,
        one.person,
        one.groups,
        one.bad,
        span,
        one.error,
    )


def risks(recorded: DisasterRecoveryRecorded) -> Section:
    """Return the blocking conditions of a failover at the end of the period, worst first."""
    rows = sorted(
        recorded.risks,
        key=lambda one: (
            WORST_FIRST.index(one.level),
            one.flow,
            one.since,
            one.subject,
            one.sentence,
        ),
    )
    columns = (
        Column("risk", "Risk"),
        Column("flow", "Flow"),
        Column("subject", "Subject"),
        Column("what", "Finding"),
        Column("since", "Since", ValueType.MOMENT),
        Column("todo", "What to do"),
    )
    table = Table(
        "risks",
        "Open risks at the end of the period",
        columns,
        tuple(
            (one.word, one.flow, one.subject, one.sentence, stamp(one.since), one.todo)
            for one in rows[:MOST_ROWS]
        ),
        tuple(around(one.href, one.since) for one in rows[:MOST_ROWS]),
        len(rows) if len(rows) > MOST_ROWS else None,
        "No finding and no obstacle was open at the end of the period.",
    )
    kept = recorded.findings_from
    is_cut = kept is not None and kept > recorded.period.end
    gap = Gap(None, stamp(kept), "Findings that ended before are not kept.")
    return Section("risks", "Open risks", *_events(recorded), (table,), (gap,) if is_cut else ())


def freshness(recorded: DisasterRecoveryRecorded) -> Section:
    """Return how old checkpoints were, and when they and offset syncs were last written and read."""
    columns = (
        Column("flow", "Flow"),
        Column(
            "age_ms",
            "Checkpoint age at the end",
            ValueType.DURATION_MS,
            "Of the oldest checkpoint that its group has left behind.",
        ),
        Column("worst_age_ms", "Oldest checkpoint", ValueType.DURATION_MS, "Worst of the period."),
        Column("worst_age_at", "Oldest at", ValueType.MOMENT),
        Column(
            "newest",
            "Newest checkpoint",
            ValueType.MOMENT,
            "Timestamp of its record, when the report was made.",
        ),
        Column("read", "Checkpoints read", ValueType.MOMENT, "When the report was made."),
        Column("syncs", "Offset syncs read", ValueType.MOMENT, "When the report was made."),
    )
    flows = sorted(recorded.flows, key=lambda one: one.answers.flow)
    table = Table(
        "checkpoints",
        "Checkpoints and offset syncs",
        columns,
        tuple(_fresh(one) for one in flows),
        tuple(_fresh_page(one, recorded.period) for one in flows),
    )
    title = "Checkpoints and offset syncs"
    return Section("checkpoints", title, *sampled(recorded), (table,))


def _fresh(one: FlowRecovery) -> tuple[Any, ...]:
    exposure, fresh = one.answers.exposure, one.fresh
    moments: Iterable[datetime | None] = (
        fresh.newest_checkpoint_at,
        fresh.checkpoints_read_at,
        fresh.syncs_read_at,
    )
    worst = exposure.worst_age_ms
    return (one.answers.flow, exposure.age_ms, worst.value, stamp(worst.at), *map(stamp, moments))


def _fresh_page(one: FlowRecovery, period: Period) -> str:
    worst = one.answers.exposure.worst_age_ms
    page = one.answers.href
    return around(page, worst.at) if worst.at else within(page, period.start, period.end)


def sampled(recorded: DisasterRecoveryRecorded) -> tuple[str | None, str | None]:
    """Return the first and the last moment of the period with samples of any flow."""
    return with_samples([one.gaps for one in recorded.flows], recorded.period)


def _events(recorded: DisasterRecoveryRecorded) -> tuple[str | None, str | None]:
    return with_events([one.since for one in recorded.flows], recorded.period)
