"""Checks of the lag of consumer groups: in time, its trend, and before retention deletes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from jobs.checks.check import Check, Threshold, Unit, check
from jobs.checks.groups.state import (
    GroupState,
    OffsetState,
    Sample,
    check_of_groups,
    found,
    records,
    values_of,
)
from jobs.checks.settings import Settings
from jobs.findings import Finding
from jobs.numbers import format_span_s
from jobs.severity import Severity

# The longest window of a trend, and what of it samples cover at least.
WINDOW_S, LEAST_COVERED_S, LEAST_SAMPLES = 900, 600, 4


_WINDOW = Threshold(
    "window_s",
    WINDOW_S,
    Unit.SECONDS,
    "Time over which the lag is compared.",
    least=LEAST_COVERED_S,
    most=WINDOW_S,
)
_RECORDS = Threshold(
    "records", 100, Unit.RECORDS, "Lag below which nothing is found.", most=1_000_000_000
)
LAG_TIME = check_of_groups(
    "group_lag_time",
    "Consumer lag (time) above target",
    Threshold("warning_s", 300, Unit.SECONDS, "Lag in time that is a warning."),
    Threshold("critical_s", 3600, Unit.SECONDS, "Lag in time that is critical."),
    question="Does every consumer group read records in time?",
    rule="The time from the first unread record to the newest record of a partition is above the target.",
    runbook="Check whether the consumers run and keep up; add consumers up to the number of partitions.",
    effect="group {group} {lag_s} s behind",
)
GROWING = check_of_groups(
    "group_lag_growing",
    "Consumer lag growing",
    _WINDOW,
    _RECORDS,
    question="Does every consumer group keep up with its producers?",
    rule="Over the window the lag never falls from one sample to the next, is never 0, and has grown.",
    runbook="Compare the rate of the producers with that of the consumers; add consumers or speed them up.",
    effect="lag of group {group} growing",
    close_after_s=120,
)
CATCH_UP = check_of_groups(
    "group_catch_up",
    "Consumer group catches up slowly",
    _WINDOW,
    _RECORDS,
    Threshold("catch_up_s", 3600, Unit.SECONDS, "Time to catch up that is acceptable."),
    question="How long does a consumer group need to catch up?",
    rule="The lag falls, and lag divided by its fall per second over the window is above the threshold.",
    runbook="Add consumers up to the number of partitions, or accept the delay.",
    effect="group {group} catches up slowly",
    close_after_s=120,
)
RETENTION = check_of_groups(
    "group_retention",
    "Retention reaches unread records",
    Threshold("percent", 20, Unit.PERCENT, "Remaining share of retention.ms.", most=100),
    Threshold("left_s", 6 * 3600, Unit.SECONDS, "Remaining time; the smaller of both holds."),
    question="Are records read before retention deletes them?",
    rule=(
        "The timestamp of the first unread record plus retention.ms is less than the threshold ahead. "
        "Critical: unread records were deleted already."
    ),
    runbook="Raise retention.ms of the topic now, then let the group catch up.",
    effect="unread records of group {group} near retention",
)


@check(LAG_TIME)
def lag_time(state: GroupState, settings: Settings) -> Iterator[Finding]:
    """Find a group whose lag in time is above its target."""
    values = values_of(LAG_TIME, state, settings) if state.lag_ms else None
    lag_s = (state.lag_ms or 0) / 1000
    if values is None or lag_s <= min(values["warning_s"], values["critical_s"]):
        return
    worst = max(state.offsets, key=lambda one: one.lag_ms or 0, default=None)
    where = f", max in {worst.name}" if worst is not None and worst.lag_ms else ""
    yield found(
        LAG_TIME,
        state,
        f"is {format_span_s(lag_s)} behind{where}: {records(state.lag)} wait.",
        {"lag_s": round(lag_s)},
        severity=Severity.CRITICAL if lag_s > values["critical_s"] else Severity.WARNING,
    )


@check(GROWING)
def growing(state: GroupState, now: datetime, settings: Settings) -> Iterator[Finding]:
    """Find a group whose lag grows over the window."""
    _, kept = _trend(GROWING, state, settings)
    if kept and kept[-1].lag > kept[0].lag and all(a.lag <= b.lag for a, b in pairwise(kept)):
        span_s = kept[-1].at_s - kept[0].at_s
        yield found(
            GROWING,
            state,
            f"falls behind: its lag grew in {format_span_s(span_s)} from {records(kept[0].lag)} to "
            f"{records(kept[-1].lag)}.",
            {"window_s": span_s, "first_lag_records": kept[0].lag},
            since=now - timedelta(seconds=span_s),
        )


@check(CATCH_UP)
def catch_up(state: GroupState, settings: Settings) -> Iterator[Finding]:
    """Find a group that drains its lag too slowly."""
    values, kept = _trend(CATCH_UP, state, settings)
    if not kept or kept[-1].lag >= kept[0].lag or any(a.lag < b.lag for a, b in pairwise(kept)):
        return
    per_s = (kept[0].lag - kept[-1].lag) / (kept[-1].at_s - kept[0].at_s)
    left_s = kept[-1].lag / per_s
    if left_s > values["catch_up_s"]:
        yield found(
            CATCH_UP,
            state,
            f"needs {format_span_s(left_s)} to catch up: {records(kept[-1].lag)} wait, and their number "
            f"falls by {per_s:,.1f}/s.",
            {"catch_up_s": round(left_s), "drain_records_per_s": round(per_s, 3)},
        )


@check(RETENTION)
def retention(state: GroupState, now: datetime, settings: Settings) -> Iterator[Finding]:
    """Find unread records that retention has deleted, or deletes soon; one finding for a group."""
    values = values_of(RETENTION, state, settings) if state.offsets else None
    if values is None:
        return
    delete = [one for one in state.offsets if one.retention is not None]
    deleted = [one for one in delete if one.is_deleted]
    if deleted:
        yield found(
            RETENTION,
            state,
            f"lost records: retention deleted unread records of {_names(deleted)}.",
            {"partitions": len(deleted), "deleted": True},
            severity=Severity.CRITICAL,
            todo="Check what the group missed; raise retention.ms of the topic before it happens again.",
            topic=deleted[0].topic,
            partition=deleted[0].partition,
        )
        return
    now_ms = now.timestamp() * 1000
    left = sorted((one.left_s(now_ms), one.name, one) for one in delete if one.is_dated)
    near = [(left_s, one) for left_s, _, one in left if left_s < _least_left_s(one, values)]
    if near:
        left_s, first = near[0]
        when = f"in {format_span_s(left_s)} at the earliest" if left_s > 0 else "at any time"
        is_by_size = any(one.retention and one.retention.is_by_size for _, one in near)
        sized = " retention.bytes is set: they may be deleted earlier." if is_by_size else ""
        yield found(
            RETENTION,
            state,
            f"loses records {when}: retention reaches unread records of "
            f"{_names([one for _, one in near])}.{sized}",
            {"partitions": len(near), "left_s": max(0, round(left_s))},
            topic=first.topic,
            partition=first.partition,
        )


def _least_left_s(one: OffsetState, values: Mapping[str, float]) -> float:
    retention_s = (one.retention.ms or 0) / 1000 if one.retention else 0
    return min(values["left_s"], retention_s * values["percent"] / 100)


def _trend(
    check_: Check, state: GroupState, settings: Settings
) -> tuple[Mapping[str, float], Sequence[Sample]]:
    """Return the thresholds and the samples of the window; none where they are too few, or the lag is low."""
    values = values_of(check_, state, settings) if state.samples else None
    if values is None or state.samples[-1].lag < values["records"]:
        return {}, ()
    begin_s = state.samples[-1].at_s - values["window_s"]
    kept = [one for one in state.samples if one.at_s >= begin_s]
    is_covered = kept[-1].at_s - kept[0].at_s >= LEAST_COVERED_S and len(kept) >= LEAST_SAMPLES
    return values, kept if is_covered else ()


def _names(offsets: Sequence[OffsetState]) -> str:
    more = f" and {len(offsets) - 3:,} more" if len(offsets) > 3 else ""  # noqa: PLR2004
    return ", ".join(one.name for one in offsets[:3]) + more
