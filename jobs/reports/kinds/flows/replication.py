"""The replication report: lag, volume, runs and crashes, pauses, topics, drift of settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from jobs.numbers import Total, format_count, format_span_ms, not_known, sum_of
from jobs.reports.document import (
    Chart,
    ChartType,
    Figure,
    Figures,
    Gap,
    Section,
    Series,
    Verdict,
)
from jobs.reports.kinds.flows import replication_tables as tables
from jobs.reports.kinds.flows.copy_audits import audit_section, differing
from jobs.reports.kinds.flows.replication_data import (
    Drift,
    FlowReplication,
    ReplicationRecorded,
    crashed_at_end,
    listed,
    pauses,
    run_events,
)
from jobs.reports.kinds.flows.sampling import Spread, in_all, told_gaps, with_events, with_samples
from jobs.reports.kinds.kind import Content
from jobs.reports.kinds.objectives import objectives_sections
from jobs.reports.values import ValueType, around, stamp, text_of, within
from jobs.severity import Severity

MOST_LINES = 8
_NO_SAMPLES = "No lag samples."
_LAG = "Source end offset minus replicated position."
_LAG_MS = "Timestamp of the newest source record minus timestamp of the last replicated record."
_BY_HOUR = "Samples of the whole period are no longer kept: each hour counts with its worst."


def build(recorded: ReplicationRecorded, before: ReplicationRecorded | None) -> Content:
    """Return what the report tells of a period, with the period before beside it when it is given."""
    sections = (
        _lag(recorded, before),
        *objectives_sections(recorded.objectives, "flow"),
        _volume(recorded, before),
        _topics(recorded, before),
        _runs(recorded, before),
        _people(recorded),
        _drift(recorded, before),
        audit_section(recorded.audits, recorded.period),
    )
    return Content(sections, (_verdict(recorded),))


def _verdict(recorded: ReplicationRecorded) -> Verdict:
    flows = sorted(recorded.flows, key=lambda one: one.flow)
    events = run_events(recorded)
    bad = sum(1 for one in events if one.is_bad)
    down = crashed_at_end(recorded)
    open_drifts = sum(1 for one in recorded.drifts if one.closed_at is None)
    held = [one for one in pauses(recorded) if one.until is None]
    unequal = differing(recorded.audits)
    if not any(one.lag.count for one in flows) and not events and not unequal:
        return Verdict(
            Severity.UNKNOWN, "Unknown", "No lag and no run was recorded in this period."
        )
    parts = [
        f"{format_count(len(flows))} flow{'s' if len(flows) != 1 else ''}.",
        *_lag_in_words(flows),
    ]
    if down:
        parts.append(f"Not running after a crash at the end: {listed(down)}.")
    if unequal:
        parts.append(f"Copies that differ by their last audit: {listed(unequal)}.")
    for count, noun in (
        (bad, "crashes and failed runs"),
        (len(held), "topics and partitions paused at the end"),
        (open_drifts, "drifts open at the end"),
    ):
        parts += [f"{format_count(count)} {noun}."] if count else []
    if down or unequal:
        return Verdict(Severity.CRITICAL, "Critical", " ".join(parts))
    if bad or held or open_drifts:
        return Verdict(Severity.WARNING, "Warning", " ".join(parts))
    unmeasured = [one.flow for one in flows if not one.lag.count]
    if unmeasured:
        parts.append(f"No lag was recorded of {listed(unmeasured)}.")
        return Verdict(Severity.UNKNOWN, "Unknown", " ".join(parts))
    return Verdict(Severity.HEALTHY, "Healthy", " ".join(parts))


def _lag_in_words(flows: Sequence[FlowReplication]) -> list[str]:
    found = []
    for which, text in (("p99", "99 % of the samples of each flow at most"), ("worst", "worst")):
        flow, spread = _highest(flows, "ms", which)
        if flow is None:
            continue
        value = format_span_ms(getattr(spread, which))
        at = f" at {text_of(stamp(spread.worst_at), ValueType.MOMENT)}" if which == "worst" else ""
        found.append(f"{text} {value}{at} ({flow.flow})")
    return [f"Lag: {'; '.join(found)}."] if found else []


def _highest(
    flows: Sequence[FlowReplication], name: str, which: str
) -> tuple[FlowReplication | None, Spread]:
    """Return the flow with the highest of a percentile, the first by name of equal ones."""
    found: FlowReplication | None = None
    spread = Spread()
    for one in sorted(flows, key=lambda flow: flow.flow):
        other: Spread = getattr(one.lag, name)
        value, most = getattr(other, which), getattr(spread, which)
        if value is not None and (most is None or value > most):
            found, spread = one, other
    return found, spread


def _lag(recorded: ReplicationRecorded, before: ReplicationRecorded | None) -> Section:
    gaps = in_all([one.lag.gaps for one in recorded.flows])
    by_time = sorted(recorded.flows, key=lambda one: (-(one.lag.ms.worst or 0), one.flow))
    by_count = sorted(recorded.flows, key=lambda one: (-(one.lag.records.worst or 0), one.flow))
    charts = (
        _chart("lag-time", "Lag (time), highest of each step", by_time, ValueType.DURATION_MS),
        _chart("lag-records", "Lag (records), highest of each step", by_count, ValueType.COUNT),
    )
    return Section(
        "lag",
        "Lag",
        *sampled(recorded),
        (
            Figures(tuple(_lag_figures(recorded, before)), before is not None),
            *(chart for chart in charts if chart.series),
            tables.lag_table(by_time, before, recorded.period),
        ),
        told_gaps(gaps, _why_no_samples(recorded)),
    )


def _why_no_samples(recorded: ReplicationRecorded) -> str:
    kept = recorded.samples_from
    if kept is None or kept <= recorded.period.start:
        return _NO_SAMPLES
    return f"{_NO_SAMPLES} They are kept since {text_of(stamp(kept), ValueType.MOMENT)}."


def _lag_figures(
    recorded: ReplicationRecorded, before: ReplicationRecorded | None
) -> Iterable[Figure]:
    told = (("median", "Median"), ("p99", "99th percentile of"), ("worst", "Worst"))
    for name, noun, type_, definition in (
        ("ms", "lag (time)", ValueType.DURATION_MS, _LAG_MS),
        ("records", "lag (records)", ValueType.COUNT, _LAG),
    ):
        for which, word in told:
            flow, spread = _highest(recorded.flows, name, which)
            earlier = _highest(before.flows, name, which)[1] if before else None
            page = flow.href if flow else ""
            is_worst = which == "worst"
            yield Figure(
                f"{word} {noun}",
                getattr(spread, which),
                type_,
                " ".join(
                    [definition, *_which_flow(recorded, flow, which, spread), *_of(before, which)]
                ),
                around(page, spread.worst_at)
                if is_worst
                else within(page, recorded.period.start, recorded.period.end),
                getattr(earlier, which) if earlier else None,
            )


def _which_flow(
    recorded: ReplicationRecorded, flow: FlowReplication | None, which: str, spread: Spread
) -> Iterable[str]:
    if flow is None:
        return
    if flow.lag.partial:
        of = f"{format_count(flow.lag.hours or flow.lag.count)} {'hours' if flow.lag.hours else 'samples'}"
        told = f"In {format_count(flow.lag.partial)} of {of} some partitions had no lag"
        yield f"{told}: it is at least what is shown."
    if len(recorded.flows) > 1:
        yield f"Highest of the flows: {flow.flow}."
    if which == "worst":
        yield f"At {text_of(stamp(spread.worst_at), ValueType.MOMENT)}."
    elif flow.lag.hours:
        yield f"By nearest rank of the hours: {format_count(flow.lag.hours)}. {_BY_HOUR}"
    elif flow.lag.step_s is not None:
        every = f"one every {flow.lag.step_s} s"
        yield f"By nearest rank of the samples: {format_count(flow.lag.count)}, {every}."


def _of(before: ReplicationRecorded | None, which: str) -> Iterable[str]:
    if before and which != "worst" and any(one.lag.hours for one in before.flows):
        yield "Before: each hour counts with its worst."


def _chart(name: str, title: str, flows: Sequence[FlowReplication], type_: ValueType) -> Chart:
    is_time = type_ is ValueType.DURATION_MS
    shown = [one for one in flows if one.lag.line.starts][:MOST_LINES]
    series = tuple(
        Series(
            one.flow,
            tuple(stamp(at) or "" for at in one.lag.line.starts),
            one.lag.line.ms if is_time else one.lag.line.records,
        )
        for one in shown
    )
    alt = f"Lines of {format_count(len(shown))} of {format_count(len(flows))} flows, worst first."
    if shown:
        spread = shown[0].lag.ms if is_time else shown[0].lag.records
        worst = text_of(spread.worst, type_)
        at = text_of(stamp(spread.worst_at), ValueType.MOMENT)
        alt += f" The highest value is {worst} of {shown[0].flow} at {at}."
    return Chart(name, title, ChartType.LINES, series, alt, type_)


def _volume(recorded: ReplicationRecorded, before: ReplicationRecorded | None) -> Section:
    gaps = in_all([one.lag.gaps for one in recorded.flows])
    total = _sum(recorded)
    unknown = not_known(total.unknown, len(recorded.flows), "flows").capitalize()
    return Section(
        "volume",
        "Volume",
        *sampled(recorded),
        (
            Figures(
                (
                    Figure(
                        "Records replicated",
                        total.value,
                        ValueType.COUNT,
                        f"{tables.replicated(recorded)} {unknown}".rstrip(),
                        before=_sum(before).value if before else None,
                    ),
                ),
                before is not None,
            ),
            tables.volume_table(recorded, before),
        ),
        told_gaps(gaps, _why_no_samples(recorded)),
    )


def _topics(recorded: ReplicationRecorded, before: ReplicationRecorded | None) -> Section:
    blocks = (tables.topic_table(recorded, before), tables.topic_events(recorded))
    return Section("topics", "Topics", *sampled(recorded), blocks)


def _runs(recorded: ReplicationRecorded, before: ReplicationRecorded | None) -> Section:
    events = run_events(recorded)
    earlier = run_events(before) if before else None
    figures = tuple(
        Figure(
            label,
            sum(1 for one in events if one.word in words),
            ValueType.COUNT,
            definition,
            before=sum(1 for one in earlier if one.word in words) if earlier is not None else None,
        )
        for label, words, definition in (
            ("Crashes of runs", {"Crashed"}, "Runs that ended because something broke."),
            ("Failed runs", {"Failed"}, "Runs that ended because they could not replicate."),
            (
                "Crashes of tasks",
                {"Task crashed"},
                "A task inside a run crashed; the run replaced it.",
            ),
            ("Restarts", {"Restarted"}, "Runs that started after one that had crashed or failed."),
        )
    )
    gaps = _cut(recorded, recorded.runs_from, "Runs that ended before are not kept.")
    gaps += _cut(recorded, recorded.tasks_from, "Crashes of tasks before are not kept.")
    blocks = (Figures(figures, before is not None), tables.run_table(events))
    return Section("runs", "Restarts and crashes", *_events(recorded), blocks, gaps)


def _people(recorded: ReplicationRecorded) -> Section:
    blocks = (tables.pause_table(recorded), tables.steering_table(recorded))
    return Section("operations", "Pauses and operations", *_events(recorded), blocks)


def _drift(recorded: ReplicationRecorded, before: ReplicationRecorded | None) -> Section:
    figures = tuple(
        Figure(
            label,
            sum(1 for one in recorded.drifts if is_in(one)),
            ValueType.COUNT,
            definition,
            before=sum(1 for one in before.drifts if is_in(one)) if before else None,
        )
        for label, is_in, definition in (
            ("Drifts", _is_any, "Differences between source and target in the period."),
            ("Drifts open at the end", _is_open, "Of these."),
        )
    )
    gaps = _cut(recorded, recorded.findings_from, "Findings that ended before are not kept.")
    blocks = (Figures(figures, before is not None), tables.drift_table(recorded))
    return Section("drift", "Configuration drift", *_events(recorded), blocks, gaps)


def _is_any(_: Drift) -> bool:
    return True


def _is_open(one: Drift) -> bool:
    return one.closed_at is None


def _cut(recorded: ReplicationRecorded, kept: datetime | None, why: str) -> tuple[Gap, ...]:
    start, end = recorded.period.start, recorded.period.end
    if kept is None or kept <= start:
        return ()
    return (Gap(stamp(start), stamp(min(kept, end)), why),)


def sampled(recorded: ReplicationRecorded) -> tuple[str | None, str | None]:
    """Return the first and the last moment of the period with samples of any flow."""
    return with_samples([one.lag.gaps for one in recorded.flows], recorded.period)


def _events(recorded: ReplicationRecorded) -> tuple[str | None, str | None]:
    return with_events([one.since for one in recorded.flows], recorded.period)


def _sum(recorded: ReplicationRecorded) -> Total[int]:
    return sum_of(one.lag.replicated for one in recorded.flows)
