"""The disaster recovery report: whether groups could fail over, what would be lost or reprocessed, risks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from jobs.numbers import format_count, format_span_ms, largest_of, sum_of
from jobs.reports.document import (
    Chart,
    ChartType,
    Figure,
    Figures,
    Section,
    Verdict,
)
from jobs.reports.kinds.flows import recovery_tables
from jobs.reports.kinds.flows.copy_audits import audit_section
from jobs.reports.kinds.flows.readiness import State, Worst, lane, share_ready
from jobs.reports.kinds.flows.recovery import (
    AT_RISK,
    AT_RISK_MS,
    READY,
    REREAD,
    DisasterRecoveryRecorded,
    Judged,
    judge,
)
from jobs.reports.kinds.flows.sampling import in_all, told_gaps
from jobs.reports.kinds.kind import Content
from jobs.reports.kinds.objectives import objectives_sections
from jobs.reports.values import ValueType, around, stamp, text_of, within
from jobs.severity import Severity

MOST_LANES, MOST_VERDICTS = 20, 10
_NOT_COLLECTED = (
    "No checkpoint samples: crosslog did not collect from these clusters, or had none yet."
)
_NOTHING = Verdict(Severity.UNKNOWN, "Unknown", "No readiness was recorded in this period.")


def build(recorded: DisasterRecoveryRecorded, before: DisasterRecoveryRecorded | None) -> Content:
    """Return what the report tells of a period, with the period before beside it when it is given."""
    flows, earlier = judge(recorded), judge(before) if before else None
    sections = (
        _readiness(recorded, flows, earlier),
        *objectives_sections(recorded.objectives, "flow"),
        _groups(recorded, flows, earlier),
        recovery_tables.exercises(recorded, before),
        recovery_tables.risks(recorded),
        *recovery_tables.applications(recorded),
        recovery_tables.freshness(recorded),
        audit_section(recorded.audits, recorded.period),
    )
    return Content(sections, (_verdict(flows),))


def _verdict(flows: Sequence[Judged]) -> Verdict:
    answered = [one for one in flows if one.at_end is not None]
    if not answered:
        return _NOTHING
    worst = answered[0]
    state = worst.at_end or State("Unknown", Severity.UNKNOWN, is_ready=False)
    ready = sum(1 for one in answered if one.at_end and one.at_end.is_ready)
    silent = len(flows) - len(answered)
    parts = [
        f"{format_count(ready)} of {format_count(len(flows))} flows were ready at the end of the period.",
        *([f"Of {format_count(silent)} there was no answer then."] if silent else []),
        *([] if state.is_ready else [f"{worst.name}: {worst.why_at_end}"]),
        _loss(answered),
    ]
    level, word = (
        (Severity.WARNING, "Unknown") if silent and state.is_ready else (state.level, state.word)
    )
    return Verdict(level, word, " ".join(parts), worst.href)


def _loss(flows: Sequence[Judged]) -> str:
    """Return what a failover at the end would have lost and reprocessed."""
    ends = [one.exposure for one in flows]
    records = sum_of(one.rpo_records for one in ends).value
    if records is None:
        return "What a failover would have lost was not known."
    span = largest_of(one.rpo_ms for one in ends).value
    reread = sum_of(one.reread for one in ends).value
    known = sum(1 for one in ends if one.rpo_records is not None)
    text = f"A failover would have lost up to {format_count(records)} records"
    text += f" ({format_span_ms(span)})" if span is not None else ""
    text += f" and reprocessed up to {format_count(reread)}" if reread is not None else ""
    rest = len(ends) - known
    return f"{text}; not known of {rest} of {len(ends)} flows." if rest else f"{text}."


def _readiness(
    recorded: DisasterRecoveryRecorded, flows: Sequence[Judged], before: Sequence[Judged] | None
) -> Section:
    period = recorded.period
    gaps = in_all([one.gaps for one in recorded.flows])
    shown = flows[:MOST_LANES]
    verdicts = [_verdict_of(one) for one in flows if not one.is_always_ready][:MOST_VERDICTS]
    chart = Chart(
        "flow-readiness",
        "Readiness by flow",
        ChartType.LANES,
        tuple(lane(one.name, one.stretches, period) for one in shown),
        _alt("flow", flows, len(shown)),
        ValueType.TEXT,
    )
    return Section(
        "readiness",
        "Readiness",
        *recovery_tables.sampled(recorded),
        (
            *verdicts,
            Figures(tuple(_figures(recorded, flows, before)), before is not None),
            *([chart] if any(one.stretches for one in shown) else []),
            recovery_tables.readiness_table("flows", "Flows", flows, before, period),
        ),
        told_gaps(gaps, _NOT_COLLECTED),
    )


def _verdict_of(one: Judged) -> Verdict:
    if one.share is None:
        return Verdict(
            Severity.UNKNOWN, "Unknown", f"{one.name}: no readiness was recorded.", one.href
        )
    state = one.at_end or State("Unknown", Severity.UNKNOWN, is_ready=False)
    share = text_of(one.share, ValueType.AVAILABILITY)
    text = f"{one.name}: ready {share} of the time."
    if not state.is_ready:
        text += f" {state.word} at the end: {one.why_at_end}"
    elif one.longest is not None:
        text += f" Longest time not ready: {format_span_ms(one.longest.ms)}. {one.cause}"
    if state.is_ready:
        return Verdict(Severity.WARNING, "Warning", text, one.href)
    return Verdict(state.level, state.word, text, one.href)


def _figures(
    recorded: DisasterRecoveryRecorded, flows: Sequence[Judged], before: Sequence[Judged] | None
) -> Iterable[Figure]:
    now, then = _totals(flows), _totals(before) if before is not None else {}
    page = _page(flows)
    period = recorded.period
    for name, label, type_, definition in _LABELS:
        href, more = within(page, period.start, period.end), ""
        if name in _WORSTS:
            worst, href = _worst_of(flows, name)
            more = _moment(worst)
        elif name in _SUMS:
            known = sum(1 for one in flows if getattr(one.exposure, name) is not None)
            more = f"Known of {format_count(known)} of {format_count(len(flows))} flows."
        told = f"{definition} {more}".rstrip()
        yield Figure(label, now[name], type_, told, href, then.get(name))


_SUMS = ("rpo_records", "rpo_ms", "reread")
_WORSTS = ("worst_rpo_records", "worst_rpo_ms")
_LABELS = (
    ("flows", "Flows", ValueType.COUNT, "Flows of the report."),
    ("ready", "Flows ready at the end", ValueType.COUNT, "Answer at the end of the period: Ready."),
    (
        "groups",
        "Covered groups at the end",
        ValueType.COUNT,
        "Consumer groups with an answer other than Not covered at the end of the period.",
    ),
    ("groups_ready", "Groups ready at the end", ValueType.COUNT, "Of the covered groups."),
    ("share", "Time ready", ValueType.AVAILABILITY, f"{READY} All flows together."),
    ("rpo_records", "RPO at the end (records)", ValueType.COUNT, f"{AT_RISK} Sum of the flows."),
    (
        "rpo_ms",
        "RPO at the end (time)",
        ValueType.DURATION_MS,
        f"{AT_RISK_MS} Highest of the flows.",
    ),
    ("reread", "Records reprocessed at the end", ValueType.COUNT, f"{REREAD} Sum of the flows."),
    ("worst_rpo_records", "Worst RPO (records)", ValueType.COUNT, "Highest of one flow."),
    ("worst_rpo_ms", "Worst RPO (time)", ValueType.DURATION_MS, "Highest of one flow."),
)


def _totals(flows: Sequence[Judged]) -> Mapping[str, float | None]:
    groups = [group.at_end for one in flows for group in one.groups]
    states = [state for state in groups if state is not None and state.counts]
    ends = [one.exposure for one in flows]
    return {
        "flows": len(flows),
        "ready": sum(1 for one in flows if one.at_end and one.at_end.is_ready),
        "groups": len(states),
        "groups_ready": sum(1 for state in states if state.is_ready),
        "share": share_ready([part for one in flows for part in one.stretches]),
        "rpo_records": sum_of(one.rpo_records for one in ends).value,
        "rpo_ms": largest_of(one.rpo_ms for one in ends).value,
        "reread": sum_of(one.reread for one in ends).value,
        "worst_rpo_records": _worst_of(flows, "worst_rpo_records")[0].value,
        "worst_rpo_ms": _worst_of(flows, "worst_rpo_ms")[0].value,
    }


def _worst_of(flows: Sequence[Judged], name: str) -> tuple[Worst, str]:
    """Return the highest value of all flows with the page of that moment; the first of equal ones."""
    found = Worst()
    href = ""
    for one in sorted(flows, key=lambda flow: flow.name):
        worst: Worst = getattr(one.exposure, name)
        if worst.value is not None and (found.value is None or worst.value > found.value):
            found, href = worst, around(one.page, worst.at)
    return found, href


def _groups(
    recorded: DisasterRecoveryRecorded, flows: Sequence[Judged], before: Sequence[Judged] | None
) -> Section:
    groups = sorted((group for one in flows for group in one.groups), key=Judged.order)
    earlier = None if before is None else [group for one in before for group in one.groups]
    shown = [one for one in groups if not one.is_always_ready and one.stretches][:MOST_LANES]
    chart = Chart(
        "group-readiness",
        "Readiness of the groups that were not ready all the time",
        ChartType.LANES,
        tuple(lane(f"{one.group} ({one.flow})", one.stretches, recorded.period) for one in shown),
        _alt("group", groups, len(shown)),
        ValueType.TEXT,
    )
    return Section(
        "groups",
        "Consumer groups",
        *recovery_tables.sampled(recorded),
        (
            *([chart] if shown else []),
            recovery_tables.readiness_table(
                "groups", "Consumer groups", groups, earlier, recorded.period
            ),
        ),
    )


def _alt(noun: str, found: Sequence[Judged], shown: int) -> str:
    always = sum(1 for one in found if one.is_always_ready)
    return (
        f"A lane for each of {format_count(shown)} {noun}s with its readiness over time. "
        f"{format_count(always)} of {format_count(len(found))} {noun}s were ready all the time."
    )


def _page(flows: Sequence[Judged]) -> str:
    """Return the page of figures of all flows: that of the flow when there is one."""
    return flows[0].page if len(flows) == 1 else ""


def _moment(worst: Worst) -> str:
    return f"At {text_of(stamp(worst.at), ValueType.MOMENT)}." if worst.at else ""
