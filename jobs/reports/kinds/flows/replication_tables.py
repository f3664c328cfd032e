"""The tables of the replication report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jobs.reports.document import Column, Table
from jobs.reports.kinds.flows.replication_data import (
    FlowReplication,
    ReplicationRecorded,
    RunEvent,
    pauses,
    what_was_done,
)
from jobs.reports.kinds.flows.sampling import Interval, whole_of
from jobs.reports.periods import Period
from jobs.reports.values import ValueType, around, stamp, within

MOST_ROWS = 2000
_REPLICATED = (
    "The rate of each lag sample until the next one, at most 60 s: no counter is kept per period."
)
_REPLICATED_BY_HOUR = (
    "The mean rate of each hour times the time from its first to its last lag sample: "
    "no counter is kept per period."
)
_COVERED = "Share of the period with lag samples."
_COVERED_BY_HOUR = "Share of the period with lag samples; gaps inside an hour are not counted."
_BY_HOUR = "Of the hours, each with its worst."
_TOTAL = "All runs of the flow together, when the report was made."
_TOPIC_VOLUME = (
    "Mean rate of the topic's samples times the time between the first and the last one."
)


def replicated(recorded: ReplicationRecorded) -> str:
    """Return how the volume of a period was counted."""
    return _REPLICATED_BY_HOUR if _is_by_hour(recorded.flows) else _REPLICATED


def lag_table(
    flows: Sequence[FlowReplication], before: ReplicationRecorded | None, period: Period
) -> Table:
    """Return the lag of flows in the order given."""
    earlier = {one.flow: one.lag.ms.p99 for one in before.flows} if before else {}
    by_hour = _is_by_hour(flows)
    of = _BY_HOUR if by_hour else ""
    columns = [
        Column("flow", "Flow"),
        Column("median_ms", "Median (time)", ValueType.DURATION_MS, of),
        Column("p99_ms", "99th percentile (time)", ValueType.DURATION_MS, of),
        *(
            [Column("before", "Before", ValueType.DURATION_MS, "99th percentile.")]
            if before
            else []
        ),
        Column("worst_ms", "Worst (time)", ValueType.DURATION_MS),
        Column("worst_at", "Worst at", ValueType.MOMENT),
        Column("median", "Median (records)", ValueType.COUNT, of),
        Column("p99", "99th percentile (records)", ValueType.COUNT, of),
        Column("worst", "Worst (records)", ValueType.COUNT),
        Column("samples", "Samples", ValueType.COUNT),
        Column("covered", "Covered", ValueType.RATIO, _COVERED_BY_HOUR if by_hour else _COVERED),
    ]
    rows = [
        (
            one.flow,
            one.lag.ms.median,
            one.lag.ms.p99,
            *([earlier.get(one.flow)] if before else []),
            one.lag.ms.worst,
            stamp(one.lag.ms.worst_at),
            one.lag.records.median,
            one.lag.records.p99,
            one.lag.records.worst,
            one.lag.count,
            _covered(one, period),
        )
        for one in flows
    ]
    hrefs = [_page(one, period) for one in flows]
    return _table("lag", "Lag by flow", columns, rows, hrefs)


def volume_table(recorded: ReplicationRecorded, before: ReplicationRecorded | None) -> Table:
    """Return what each flow replicated, the most first."""
    flows = sorted(recorded.flows, key=lambda one: (-(one.lag.replicated or 0), one.flow))
    earlier = {one.flow: one.lag.replicated for one in before.flows} if before else {}
    columns = [
        Column("flow", "Flow"),
        Column("records", "Records", ValueType.COUNT, replicated(recorded)),
        *([Column("before", "Before", ValueType.COUNT)] if before else []),
        Column("rate", "Mean rate", ValueType.RATE, "Records per second of the covered time."),
        Column("total_records", "Records since creation", ValueType.COUNT, _TOTAL),
        Column("total_bytes", "Bytes since creation", ValueType.BYTES, _TOTAL),
    ]
    rows = [
        (
            one.flow,
            one.lag.replicated,
            *([earlier.get(one.flow)] if before else []),
            _rate(one, recorded.period),
            one.total_records,
            one.total_bytes,
        )
        for one in flows
    ]
    hrefs = [within(one.href, recorded.period.start, recorded.period.end) for one in flows]
    return _table("volume", "Volume by flow", columns, rows, hrefs)


def topic_table(recorded: ReplicationRecorded, before: ReplicationRecorded | None) -> Table:
    """Return topics, the worst first."""
    topics = sorted(
        recorded.topics,
        key=lambda one: (-(one.worst_ms or 0), -(one.worst or 0), one.flow, one.topic),
    )
    earlier = {(one.flow, one.topic): one.worst_ms for one in before.topics} if before else {}
    columns = [
        Column("flow", "Flow"),
        Column("topic", "Topic"),
        Column("worst_ms", "Worst lag (time)", ValueType.DURATION_MS),
        *([Column("before", "Before", ValueType.DURATION_MS)] if before else []),
        Column("worst", "Worst lag (records)", ValueType.COUNT),
        Column("records", "Records", ValueType.COUNT, _TOPIC_VOLUME),
        Column("samples", "Samples", ValueType.COUNT),
    ]
    rows = [
        (
            one.flow,
            one.topic,
            one.worst_ms,
            *([earlier.get((one.flow, one.topic))] if before else []),
            one.worst,
            one.replicated,
            one.samples,
        )
        for one in topics
    ]
    hrefs = [within(one.href, recorded.period.start, recorded.period.end) for one in topics]
    return _table("topics", "Lag by topic", columns, rows, hrefs, "No topic has a sample.")


def topic_events(recorded: ReplicationRecorded) -> Table:
    """Return topics that joined, left or were left out, in the order of time."""
    events = sorted(
        recorded.topic_events, key=lambda one: (one.at, one.flow, one.topic, one.word, one.reason)
    )
    columns = [
        Column("at", "Time", ValueType.MOMENT),
        Column("flow", "Flow"),
        Column("topic", "Topic"),
        Column("what", "Change"),
        Column("reason", "Reason"),
    ]
    rows = [(stamp(one.at), one.flow, one.topic, one.word, one.reason) for one in events]
    hrefs = [around(one.href, one.at) for one in events]
    title = "Topics added and left out"
    return _table("topic-changes", title, columns, rows, hrefs, "No topic was added or left out.")


def run_table(events: Sequence[RunEvent]) -> Table:
    """Return starts, ends and crashes in the order given."""
    columns = [
        Column("at", "Time", ValueType.MOMENT),
        Column("flow", "Flow"),
        Column("what", "Event"),
        Column("reason", "Reason"),
        Column("person", "Requested by"),
    ]
    rows = [(stamp(one.at), one.flow, one.word, one.reason, one.person) for one in events]
    title = "Starts, ends and crashes"
    return _table("runs", title, columns, rows, [one.href for one in events])


def pause_table(recorded: ReplicationRecorded) -> Table:
    """Return what was paused in the period, with who paused and resumed it."""
    found = pauses(recorded)
    whole = whole_of(recorded.period)
    columns = [
        Column("flow", "Flow"),
        Column("name", "Topic or partition"),
        Column("from", "Paused", ValueType.MOMENT),
        Column("until", "Resumed", ValueType.MOMENT),
        Column("in_period_ms", "Paused in the period", ValueType.DURATION_MS),
        Column("by", "Paused by"),
        Column("resumed_by", "Resumed by"),
    ]
    rows = [
        (
            one.flow,
            one.name,
            stamp(one.start),
            stamp(one.until),
            Interval(max(one.start, whole.start), min(one.until or whole.end, whole.end)).ms,
            one.by or "crosslog",
            (one.resumed_by or "crosslog") if one.until else None,
        )
        for one in found
    ]
    hrefs = [around(one.href, one.start) for one in found]
    return _table("pauses", "Pauses", columns, rows, hrefs, "Nothing was paused in this period.")


def steering_table(recorded: ReplicationRecorded) -> Table:
    """Return what people did to the flows in the period."""
    period = recorded.period
    found = [one for one in recorded.steering if period.start <= one.at < period.end]
    found.sort(key=lambda one: (one.at, one.flow, one.action))
    columns = [
        Column("at", "Time", ValueType.MOMENT),
        Column("flow", "Flow"),
        Column("person", "Person"),
        Column("what", "Change"),
        Column("action", "Action", ValueType.TEXT, "As in the audit log."),
    ]
    rows = [
        (stamp(one.at), one.flow, one.person or "crosslog", what_was_done(one), one.action)
        for one in found
    ]
    hrefs = [around(one.href, one.at) for one in found]
    return _table("operations", "Operations", columns, rows, hrefs)


def drift_table(recorded: ReplicationRecorded) -> Table:
    """Return differences between source and target, open ones and the worst first."""
    found = sorted(
        recorded.drifts,
        key=lambda one: (
            one.closed_at is not None,
            -one.level.rank,
            one.opened_at,
            one.flow,
            one.subject,
            one.word,
        ),
    )
    columns = [
        Column("flow", "Flow"),
        Column("severity", "Severity"),
        Column("word", "Drift"),
        Column("subject", "Subject"),
        Column("what", "Finding"),
        Column("opened", "Opened", ValueType.MOMENT),
        Column("closed", "Resolved", ValueType.MOMENT),
    ]
    rows = [
        (
            one.flow,
            one.severity,
            one.word,
            one.subject,
            one.sentence,
            stamp(one.opened_at),
            stamp(one.closed_at),
        )
        for one in found
    ]
    hrefs = [around(one.href, one.opened_at) for one in found]
    return _table("drift", "Configuration drift", columns, rows, hrefs)


def _table(
    name: str,
    title: str,
    columns: Sequence[Column],
    rows: Sequence[tuple[Any, ...]],
    hrefs: Sequence[str],
    empty: str = "None.",
) -> Table:
    total = len(rows) if len(rows) > MOST_ROWS else None
    cut = tuple(rows[:MOST_ROWS])
    return Table(name, title, tuple(columns), cut, tuple(hrefs[:MOST_ROWS]), total, empty)


def _is_by_hour(flows: Sequence[FlowReplication]) -> bool:
    return any(one.lag.hours for one in flows)


def _page(one: FlowReplication, period: Period) -> str:
    worst_at = one.lag.ms.worst_at
    return around(one.href, worst_at) if worst_at else within(one.href, period.start, period.end)


def _covered_s(one: FlowReplication, period: Period) -> float:
    missing = sum(gap.span.total_seconds() for gap in one.lag.gaps)
    return period.span.total_seconds() - missing


def _covered(one: FlowReplication, period: Period) -> float:
    return int(_covered_s(one, period) / period.span.total_seconds() * 10**4) / 10**4


def _rate(one: FlowReplication, period: Period) -> float | None:
    span = _covered_s(one, period)
    return None if one.lag.replicated is None or not span else round(one.lag.replicated / span, 3)
