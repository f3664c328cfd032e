"""The tables of the disaster recovery report."""

from __future__ import annotations

from collections.abc import Sequence

from jobs.reports.document import Figure, Figures, Gap, Section, Table
from jobs.reports.kinds.columns import Column, Layout, before_column
from jobs.reports.kinds.flows.recovery import (
    AT_RISK,
    AT_RISK_MS,
    CAUSE,
    MOST_ROWS,
    READY,
    REREAD,
    DisasterRecoveryRecorded,
    FlowRecovery,
    Judged,
)
from jobs.reports.kinds.flows.sampling import Interval, with_events, with_samples
from jobs.reports.kinds.kind import WORST_FIRST
from jobs.reports.periods import Period
from jobs.reports.values import ValueType, around, stamp, within

_TYPE = ValueType


def readiness_table(
    name: str,
    title: str,
    found: Sequence[Judged],
    before: Sequence[Judged] | None,
    period: Period,
) -> Table:
    """Return flows or groups, the worst first, each with what a failover would lose and reread."""
    earlier = {(one.flow, one.group): one.share for one in before or ()}
    columns = (
        Column("flow", "Flow"),
        *([Column("group", "Group")] if name == "groups" else []),
        Column(
            "readiness",
            "Readiness at the end",
            of=lambda one: one.at_end.word if one.at_end else None,
        ),
        Column("ready", "Time ready", _TYPE.AVAILABILITY, READY, "share"),
        before_column("Before", _TYPE.AVAILABILITY, lambda one: earlier.get((one.flow, one.group))),
        Column(
            "longest_ms",
            "Longest not ready",
            _TYPE.DURATION_MS,
            of=lambda one: one.longest.ms if one.longest else None,
        ),
        Column(
            "longest_at",
            "Not ready since",
            _TYPE.MOMENT,
            of=lambda one: one.longest.start if one.longest else None,
        ),
        Column("cause", "Cause", _TYPE.TEXT, CAUSE),
        *_EXPOSED,
    )
    return Layout(name, title, columns, most=MOST_ROWS).fill(found, has_before=before is not None)


_EXPOSED = (
    Column("rpo_records", "RPO at the end (records)", _TYPE.COUNT, AT_RISK, "exposure.rpo_records"),
    Column("rpo_ms", "RPO at the end (time)", _TYPE.DURATION_MS, AT_RISK_MS, "exposure.rpo_ms"),
    Column(
        "worst_rpo_records",
        "Worst RPO (records)",
        _TYPE.COUNT,
        of="exposure.worst_rpo_records.value",
    ),
    Column(
        "worst_rpo_at",
        "Worst RPO at",
        _TYPE.MOMENT,
        "Begin of its step.",
        "exposure.worst_rpo_records.at",
    ),
    Column("worst_rpo_ms", "Worst RPO (time)", _TYPE.DURATION_MS, of="exposure.worst_rpo_ms.value"),
    Column("reread", "Records reprocessed at the end", _TYPE.COUNT, REREAD, "exposure.reread"),
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
            _TYPE.COUNT,
            "Runs of failover plans that were requested in the period.",
            before=sum(1 for one in before.exercises if one.kind == kind) if before else None,
        )
        for kind in kinds
    )
    table = _EXERCISES.fill(rows)
    blocks = (Figures(figures, before is not None), table) if figures else (table,)
    return Section("exercises", "Dry runs and failovers", *_events(recorded), blocks)


_EXERCISES = Layout(
    "exercises",
    "Dry runs and failovers",
    (
        Column("at", "Requested", _TYPE.MOMENT),
        Column("flow", "Flow"),
        Column("plan", "Plan"),
        Column("kind", "Kind"),
        Column("direction", "Direction"),
        Column("result", "Result"),
        Column("person", "Requested by"),
        Column("groups", "Groups", _TYPE.COUNT),
        Column("bad", "Groups not done", _TYPE.COUNT),
        Column(
            "duration_ms",
            "Duration",
            _TYPE.DURATION_MS,
            of=lambda one: Interval(one.at, one.ended_at).ms if one.ended_at else None,
        ),
        Column("error", "Error"),
    ),
    most=MOST_ROWS,
    empty="No dry run and no failover was requested in this period.",
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
    kept = recorded.findings_from
    is_cut = kept is not None and kept > recorded.period.end
    gap = Gap(None, stamp(kept), "Findings that ended before are not kept.")
    return Section(
        "risks", "Open risks", *_events(recorded), (_RISKS.fill(rows),), (gap,) if is_cut else ()
    )


_RISKS = Layout(
    "risks",
    "Open risks at the end of the period",
    (
        Column("risk", "Risk", of="word"),
        Column("flow", "Flow"),
        Column("subject", "Subject"),
        Column("what", "Finding", of="sentence"),
        Column("since", "Since", _TYPE.MOMENT),
        Column("todo", "What to do"),
    ),
    lambda one: around(one.href, one.since),
    MOST_ROWS,
    "No finding and no obstacle was open at the end of the period.",
)
_NOW = "When the report was made."


def applications(recorded: DisasterRecoveryRecorded) -> tuple[Section, ...]:
    """Return whether Kafka Streams applications could resume on the targets; nothing without any."""
    rows = sorted(
        recorded.applications,
        key=lambda one: (WORST_FIRST.index(one.level), one.flow, one.application_id),
    )
    if not rows:
        return ()
    name, title = "applications", "Kafka Streams applications"
    return (Section(name, title, None, None, (_APPLICATIONS.fill(rows),)),)


_APPLICATIONS = Layout(
    "applications",
    "Kafka Streams applications",
    (
        Column("ready", "Failover with state", _TYPE.TEXT, _NOW, "word"),
        Column("flow", "Flow"),
        Column("application", "Application", of="application_id"),
        Column("why", "Reasons"),
        Column("todo", "What to do"),
    ),
    lambda one: one.href,
    MOST_ROWS,
)
_FRESHNESS = (
    Column("flow", "Flow", of="answers.flow"),
    Column(
        "age_ms",
        "Checkpoint age at the end",
        _TYPE.DURATION_MS,
        "Of the oldest checkpoint that its group has left behind.",
        "answers.exposure.age_ms",
    ),
    Column(
        "worst_age_ms",
        "Oldest checkpoint",
        _TYPE.DURATION_MS,
        "Worst of the period.",
        "answers.exposure.worst_age_ms.value",
    ),
    Column("worst_age_at", "Oldest at", _TYPE.MOMENT, of="answers.exposure.worst_age_ms.at"),
    Column(
        "newest",
        "Newest checkpoint",
        _TYPE.MOMENT,
        "Timestamp of its record, when the report was made.",
        "fresh.newest_checkpoint_at",
    ),
    Column("read", "Checkpoints read", _TYPE.MOMENT, _NOW, "fresh.checkpoints_read_at"),
    Column("syncs", "Offset syncs read", _TYPE.MOMENT, _NOW, "fresh.syncs_read_at"),
)


def freshness(recorded: DisasterRecoveryRecorded) -> Section:
    """Return how old checkpoints were, and when they and offset syncs were last written and read."""
    name, title = "checkpoints", "Checkpoints and offset syncs"
    layout = Layout(name, title, _FRESHNESS, lambda one: _fresh_page(one, recorded.period))
    table = layout.fill(sorted(recorded.flows, key=lambda one: one.answers.flow))
    return Section(name, title, *sampled(recorded), (table,))


def _fresh_page(one: FlowRecovery, period: Period) -> str:
    worst = one.answers.exposure.worst_age_ms
    page = one.answers.href
    return around(page, worst.at) if worst.at else within(page, period.start, period.end)


def sampled(recorded: DisasterRecoveryRecorded) -> tuple[str | None, str | None]:
    """Return the first and the last moment of the period with samples of any flow."""
    return with_samples([one.gaps for one in recorded.flows], recorded.period)


def _events(recorded: DisasterRecoveryRecorded) -> tuple[str | None, str | None]:
    return with_events([one.since for one in recorded.flows], recorded.period)
