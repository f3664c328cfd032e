"""The tables of the replication report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jobs.reports.document import Table
from jobs.reports.kinds.columns import Column, Layout, before_column
from jobs.reports.kinds.flows.replication_data import (
    FlowReplication,
    Pause,
    ReplicationRecorded,
    RunEvent,
    pauses,
    what_was_done,
)
from jobs.reports.kinds.flows.sampling import Interval, whole_of
from jobs.reports.periods import Period
from jobs.reports.values import ValueType, around, within

MOST_ROWS = 2000
_TYPE = ValueType
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
    columns = (
        Column("flow", "Flow"),
        Column("median_ms", "Median (time)", _TYPE.DURATION_MS, of, "lag.ms.median"),
        Column("p99_ms", "99th percentile (time)", _TYPE.DURATION_MS, of, "lag.ms.p99"),
        before_column(
            "Before", _TYPE.DURATION_MS, lambda one: earlier.get(one.flow), "99th percentile."
        ),
        Column("worst_ms", "Worst (time)", _TYPE.DURATION_MS, of="lag.ms.worst"),
        Column("worst_at", "Worst at", _TYPE.MOMENT, of="lag.ms.worst_at"),
        Column("median", "Median (records)", _TYPE.COUNT, of, "lag.records.median"),
        Column("p99", "99th percentile (records)", _TYPE.COUNT, of, "lag.records.p99"),
        Column("worst", "Worst (records)", _TYPE.COUNT, of="lag.records.worst"),
        Column("samples", "Samples", _TYPE.COUNT, of="lag.count"),
        Column(
            "covered",
            "Covered",
            _TYPE.RATIO,
            _COVERED_BY_HOUR if by_hour else _COVERED,
            lambda one: _covered(one, period),
        ),
    )
    layout = Layout("lag", "Lag by flow", columns, lambda one: _page(one, period), MOST_ROWS)
    return layout.fill(flows, has_before=before is not None)


def volume_table(recorded: ReplicationRecorded, before: ReplicationRecorded | None) -> Table:
    """Return what each flow replicated, the most first."""
    period = recorded.period
    earlier = {one.flow: one.lag.replicated for one in before.flows} if before else {}
    columns = (
        Column("flow", "Flow"),
        Column("records", "Records", _TYPE.COUNT, replicated(recorded), "lag.replicated"),
        before_column("Before", _TYPE.COUNT, lambda one: earlier.get(one.flow)),
        Column(
            "rate",
            "Mean rate",
            _TYPE.RATE,
            "Records per second of the covered time.",
            lambda one: _rate(one, period),
        ),
        Column("total_records", "Records since creation", _TYPE.COUNT, _TOTAL),
        Column("total_bytes", "Bytes since creation", _TYPE.BYTES, _TOTAL),
    )
    layout = Layout("volume", "Volume by flow", columns, _whole_page(period), MOST_ROWS)
    flows = sorted(recorded.flows, key=lambda one: (-(one.lag.replicated or 0), one.flow))
    return layout.fill(flows, has_before=before is not None)


def topic_table(recorded: ReplicationRecorded, before: ReplicationRecorded | None) -> Table:
    """Return topics, the worst first."""
    topics = sorted(
        recorded.topics,
        key=lambda one: (-(one.worst_ms or 0), -(one.worst or 0), one.flow, one.topic),
    )
    earlier = {(one.flow, one.topic): one.worst_ms for one in before.topics} if before else {}
    layout = Layout(
        "topics",
        "Lag by topic",
        (
            Column("flow", "Flow"),
            Column("topic", "Topic"),
            Column("worst_ms", "Worst lag (time)", _TYPE.DURATION_MS),
            before_column(
                "Before", _TYPE.DURATION_MS, lambda one: earlier.get((one.flow, one.topic))
            ),
            Column("worst", "Worst lag (records)", _TYPE.COUNT),
            Column("records", "Records", _TYPE.COUNT, _TOPIC_VOLUME, "replicated"),
            Column("samples", "Samples", _TYPE.COUNT),
        ),
        _whole_page(recorded.period),
        MOST_ROWS,
        "No topic has a sample.",
    )
    return layout.fill(topics, has_before=before is not None)


def topic_events(recorded: ReplicationRecorded) -> Table:
    """Return topics that joined, left or were left out, in the order of time."""
    events = sorted(
        recorded.topic_events, key=lambda one: (one.at, one.flow, one.topic, one.word, one.reason)
    )
    return Layout(
        "topic-changes",
        "Topics added and left out",
        (
            Column("at", "Time", _TYPE.MOMENT),
            Column("flow", "Flow"),
            Column("topic", "Topic"),
            Column("what", "Change", of="word"),
            Column("reason", "Reason"),
        ),
        lambda one: around(one.href, one.at),
        MOST_ROWS,
        "No topic was added or left out.",
    ).fill(events)


def run_table(events: Sequence[RunEvent]) -> Table:
    """Return starts, ends and crashes in the order given."""
    columns = (
        Column("at", "Time", _TYPE.MOMENT),
        Column("flow", "Flow"),
        Column("what", "Event", of="word"),
        Column("reason", "Reason"),
        Column("person", "Requested by"),
    )
    return Layout("runs", "Starts, ends and crashes", columns, most=MOST_ROWS).fill(events)


def pause_table(recorded: ReplicationRecorded) -> Table:
    """Return what was paused in the period, with who paused and resumed it."""
    whole = whole_of(recorded.period)

    def paused_ms(one: Pause) -> int:
        return Interval(max(one.start, whole.start), min(one.until or whole.end, whole.end)).ms

    return Layout(
        "pauses",
        "Pauses",
        (
            Column("flow", "Flow"),
            Column("name", "Topic or partition"),
            Column("from", "Paused", _TYPE.MOMENT, of="start"),
            Column("until", "Resumed", _TYPE.MOMENT),
            Column("in_period_ms", "Paused in the period", _TYPE.DURATION_MS, of=paused_ms),
            Column("by", "Paused by", of=lambda one: one.by or "crosslog"),
            Column(
                "resumed_by",
                "Resumed by",
                of=lambda one: (one.resumed_by or "crosslog") if one.until else None,
            ),
        ),
        lambda one: around(one.href, one.start),
        MOST_ROWS,
        "Nothing was paused in this period.",
    ).fill(pauses(recorded))


def steering_table(recorded: ReplicationRecorded) -> Table:
    """Return what people did to the flows in the period."""
    period = recorded.period
    found = [one for one in recorded.steering if period.start <= one.at < period.end]
    found.sort(key=lambda one: (one.at, one.flow, one.action))
    columns = (
        Column("at", "Time", _TYPE.MOMENT),
        Column("flow", "Flow"),
        Column("person", "Person", of=lambda one: one.person or "crosslog"),
        Column("what", "Change", of=what_was_done),
        Column("action", "Action", _TYPE.TEXT, "As in the audit log."),
    )
    return Layout(
        "operations", "Operations", columns, lambda one: around(one.href, one.at), MOST_ROWS
    ).fill(found)


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
    return Layout(
        "drift",
        "Configuration drift",
        (
            Column("flow", "Flow"),
            Column("severity", "Severity"),
            Column("word", "Drift"),
            Column("subject", "Subject"),
            Column("what", "Finding", of="sentence"),
            Column("opened", "Opened", _TYPE.MOMENT, of="opened_at"),
            Column("closed", "Resolved", _TYPE.MOMENT, of="closed_at"),
        ),
        lambda one: around(one.href, one.opened_at),
        MOST_ROWS,
    ).fill(found)


def _whole_page(period: Period) -> Callable[[Any], str]:
    return lambda one: within(one.href, period.start, period.end)


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
