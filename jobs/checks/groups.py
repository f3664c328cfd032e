"""Checks of consumer groups: lag in time, its trend, retention, members and commits. Pure.

A verdict needs numbers: what is not known finds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from jobs.checks.check import (
    Area,
    Check,
    Pattern,
    Threshold,
    Unit,
    check,
    severity_of,
    warning_and_critical,
)
from jobs.checks.partitions import count_of, names_of
from jobs.checks.settings import Settings
from jobs.findings import Finding
from jobs.numbers import format_span_s
from jobs.severity import Severity


class Sample(NamedTuple):
    """The lag of a group at a moment of a clock that counts the time of rounds."""

    at_s: int
    lag: int


@dataclass(frozen=True, slots=True)
class Retention:
    """How a topic deletes records: by age (None: not, or not known), and whether also by size."""

    ms: int | None
    is_by_size: bool = False


@dataclass(frozen=True, slots=True)
class OffsetState:
    """A partition with unread records of a group, or whose unread records were deleted.

    `unmoved_s` is for how long its commit did not move although records waited, None: not known.
    `retention` is None for a topic that is only compacted. `offline` are the in-sync replicas of a
    partition without a leader, None for one with a leader.
    """

    topic: str
    partition: int
    lag: int | None
    lag_ms: int | None = None
    is_assigned: bool = True
    unmoved_s: float | None = None
    next_timestamp_ms: int | None = None
    is_deleted: bool = False
    retention: Retention | None = None
    offline: tuple[int, ...] | None = None

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def is_dated(self) -> bool:
        """Whether it is known when retention reaches its first unread record."""
        is_known = self.retention is not None and self.retention.ms is not None
        return is_known and self.next_timestamp_ms is not None and bool(self.lag)

    def left_s(self, now_ms: float) -> float:
        """Return the least time until retention deletes the first unread record; it `is_dated`."""
        retention_ms = self.retention.ms if self.retention else None
        return ((self.next_timestamp_ms or 0) + (retention_ms or 0) - now_ms) / 1000


@dataclass(frozen=True, slots=True)
class GroupState:
    """A consumer group as the last round for groups read it.

    `unmoved_s` is for how long no commit of any partition moved; a group that `is_partial` has more
    partitions than are known. `gone_s` is for how long it has no members
    since it was seen with members, `back_s` for how long it has some again; None: neither was seen.
    """

    cluster: int
    alias: str
    group: str
    members: int | None
    lag: int | None
    lag_ms: int | None = None
    samples: Sequence[Sample] = ()
    unmoved_s: float | None = None
    gone_s: float | None = None
    back_s: float | None = None
    offsets: Sequence[OffsetState] = ()
    is_partial: bool = False

    def values(self, check_: Check, settings: Settings) -> Mapping[str, float] | None:
        return settings.values(check_, cluster=self.cluster, group=self.group)

    def finding(
        self, check_: Check, what: str, evidence: Mapping[str, Any], todo: str = "", **more: Any
    ) -> Finding:
        """Return a finding about the group; `more` are other fields of it."""
        return check_.finding(
            f"Consumer group {self.group} of {self.alias} {what}",
            todo,
            evidence={"group": self.group, "lag_records": self.lag, **evidence},
            **{"subject": self.group, **more},
        )


_records = partial(count_of, noun="record")
_check = partial(Check, severity=Severity.WARNING, area=Area.GROUP, narrowed_by=Pattern.GROUP)
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
LAG_TIME = _check(
    "group_lag_time",
    "Consumer lag (time) above target",
    thresholds=warning_and_critical("s", Unit.SECONDS, 300, 3600, "Lag in time"),
    question="Does every consumer group read records in time?",
    rule="The time from the first unread record to the newest record of a partition is above the target.",
    runbook="Check whether the consumers run and keep up; add consumers up to the number of partitions.",
    effect="group {group} {lag_s} s behind",
)
GROWING = _check(
    "group_lag_growing",
    "Consumer lag growing",
    thresholds=(_WINDOW, _RECORDS),
    question="Does every consumer group keep up with its producers?",
    rule="Over the window the lag never falls from one sample to the next, is never 0, and has grown.",
    runbook="Compare the rate of the producers with that of the consumers; add consumers or speed them up.",
    effect="lag of group {group} growing",
    close_after_s=120,
)
CATCH_UP = _check(
    "group_catch_up",
    "Consumer group catches up slowly",
    thresholds=(
        _WINDOW,
        _RECORDS,
        Threshold("catch_up_s", 3600, Unit.SECONDS, "Time to catch up that is acceptable."),
    ),
    question="How long does a consumer group need to catch up?",
    rule="The lag falls, and lag divided by its fall per second over the window is above the threshold.",
    runbook="Add consumers up to the number of partitions, or accept the delay.",
    effect="group {group} catches up slowly",
    close_after_s=120,
)
RETENTION = _check(
    "group_retention",
    "Retention reaches unread records",
    thresholds=(
        Threshold("percent", 20, Unit.PERCENT, "Remaining share of retention.ms.", most=100),
        Threshold("left_s", 6 * 3600, Unit.SECONDS, "Remaining time; the smaller of both holds."),
    ),
    question="Are records read before retention deletes them?",
    rule=(
        "The timestamp of the first unread record plus retention.ms is less than the threshold ahead. "
        "Critical: unread records were deleted already."
    ),
    runbook="Raise retention.ms of the topic now, then let the group catch up.",
    effect="unread records of group {group} near retention",
)
_UNMOVED = Threshold(
    "unmoved_s", 600, Unit.SECONDS, "Time without a commit that moves.", least=60, most=86_400
)
MEMBERS_GONE = _check(
    "group_members_gone",
    "Consumer group without members",
    thresholds=(
        Threshold("gone_s", 300, Unit.SECONDS, "Time without members.", least=60, most=86_400),
    ),
    question="Do the consumers of every group run?",
    rule="A group that had members has none for the threshold, and records wait for it.",
    runbook="Start the consumers of the group. Their log has the reason of the shutdown.",
    effect="group {group} without members",
)
PARTITION_STUCK = _check(
    "group_partition_stuck",
    "Partition of a consumer group stuck",
    thresholds=(_UNMOVED,),
    question="Does every consumer group progress in each partition?",
    rule="A partition that a member holds has lag, and its commit did not move while others moved.",
    runbook=(
        "Check the member that holds the partition for a record that it cannot process, and that the "
        "partition has a leader."
    ),
    effect="{topic}-{partition} of group {group} stuck",
)
COMMITS_STOPPED = _check(
    "group_commits_stopped",
    "Commits of a consumer group stopped",
    thresholds=(_UNMOVED,),
    question="Does every consumer group commit offsets?",
    rule="A group has members and lag, and no commit of any of its partitions moved.",
    runbook="Check the log of the consumers: they are connected, but process or commit nothing.",
    effect="commits of group {group} stopped",
)


@check(LAG_TIME)
def lag_time(state: GroupState, settings: Settings) -> Iterator[Finding]:
    """Find a group whose lag in time is above its target."""
    lag_s = (state.lag_ms or 0) / 1000
    severity = severity_of(lag_s, state.values(LAG_TIME, settings), "s")
    if severity is None:
        return
    worst = max(state.offsets, key=lambda one: one.lag_ms or 0, default=None)
    where = f", max in {worst.name}" if worst is not None and worst.lag_ms else ""
    yield state.finding(
        LAG_TIME,
        f"is {format_span_s(lag_s)} behind{where}: {_records(state.lag)} wait.",
        {"lag_s": round(lag_s)},
        severity=severity,
    )


@check(GROWING)
def growing(state: GroupState, now: datetime, settings: Settings) -> Iterator[Finding]:
    """Find a group whose lag grows over the window."""
    _, kept = _trend(GROWING, state, settings)
    if kept and kept[-1].lag > kept[0].lag and all(a.lag <= b.lag for a, b in pairwise(kept)):
        span_s = kept[-1].at_s - kept[0].at_s
        yield state.finding(
            GROWING,
            f"falls behind: its lag grew in {format_span_s(span_s)} from {_records(kept[0].lag)} to "
            f"{_records(kept[-1].lag)}.",
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
        yield state.finding(
            CATCH_UP,
            f"needs {format_span_s(left_s)} to catch up: {_records(kept[-1].lag)} wait, and their number "
            f"falls by {per_s:,.1f}/s.",
            {"catch_up_s": round(left_s), "drain_records_per_s": round(per_s, 3)},
        )


@check(RETENTION)
def retention(state: GroupState, now: datetime, settings: Settings) -> Iterator[Finding]:
    """Find unread records that retention has deleted, or deletes soon; one finding for a group."""
    values = state.values(RETENTION, settings) if state.offsets else None
    if values is None:
        return
    delete = [one for one in state.offsets if one.retention is not None]
    deleted = [one for one in delete if one.is_deleted]
    if deleted:
        yield state.finding(
            RETENTION,
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
        yield state.finding(
            RETENTION,
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
    values = state.values(check_, settings) if state.samples else None
    if values is None or state.samples[-1].lag < values["records"]:
        return {}, ()
    begin_s = state.samples[-1].at_s - values["window_s"]
    kept = [one for one in state.samples if one.at_s >= begin_s]
    is_covered = kept[-1].at_s - kept[0].at_s >= LEAST_COVERED_S and len(kept) >= LEAST_SAMPLES
    return values, kept if is_covered else ()


def _names(offsets: Sequence[OffsetState]) -> str:
    return names_of([one.name for one in offsets[:3]], len(offsets))


@check(MEMBERS_GONE)
def members_gone(state: GroupState, now: datetime, settings: Settings) -> Iterator[Finding]:
    """Find a group whose members are gone while records wait."""
    values = state.values(MEMBERS_GONE, settings) if state.gone_s is not None else None
    if values is not None and state.gone_s is not None and state.gone_s >= values["gone_s"]:
        yield state.finding(
            MEMBERS_GONE,
            f"has no members for {format_span_s(state.gone_s)}: {_records(state.lag)} wait.",
            {"gone_s": round(state.gone_s)},
            since=now - timedelta(seconds=state.gone_s),
        )


@check(COMMITS_STOPPED)
def commits_stopped(state: GroupState, now: datetime, settings: Settings) -> Iterator[Finding]:
    """Find a group with members that commits nothing although records wait."""
    unmoved_s = None if state.is_partial else _unmoved_s(state.unmoved_s, state)
    values = state.values(COMMITS_STOPPED, settings) if unmoved_s else None
    if values is not None and unmoved_s is not None and unmoved_s >= values["unmoved_s"]:
        is_offline = all(one.offline is not None for one in state.offsets)
        yield state.finding(
            COMMITS_STOPPED,
            f"moved no commit for {format_span_s(unmoved_s)} although it has members "
            f"({state.members:,}): {_records(state.lag)} wait.",
            {"members": state.members, **_unmoved(unmoved_s, is_offline=is_offline)},
            since=now - timedelta(seconds=unmoved_s),
            brokers=_brokers(state.offsets) if is_offline else (),
        )


@check(PARTITION_STUCK)
def partitions_stuck(state: GroupState, now: datetime, settings: Settings) -> Iterator[Finding]:
    """Find partitions of a group whose commit does not move while others move."""
    values = state.values(PARTITION_STUCK, settings) if state.unmoved_s is not None else None
    if values is None or state.unmoved_s is None or state.unmoved_s >= values["unmoved_s"]:
        return
    for one in state.offsets:
        unmoved_s = _unmoved_s(one.unmoved_s, state) if one.is_assigned and one.lag else None
        if unmoved_s is not None and unmoved_s >= values["unmoved_s"]:
            why = "" if one.offline is None else " The partition has no leader."
            yield state.finding(
                PARTITION_STUCK,
                f"is stuck in {one.name} for {format_span_s(unmoved_s)} while other partitions move: "
                f"{_records(one.lag)} wait.{why}",
                {"lag_records": one.lag, "topic": one.topic, "partition": one.partition}
                | _unmoved(unmoved_s, is_offline=one.offline is not None),
                subject=f"{state.group} {one.name}",
                topic=one.topic,
                partition=one.partition,
                since=now - timedelta(seconds=unmoved_s),
                brokers=_brokers([one]),
            )


def _unmoved(unmoved_s: float, *, is_offline: bool) -> dict[str, Any]:
    return {"unmoved_s": round(unmoved_s), **({"offline": True} if is_offline else {})}


def _brokers(offsets: Sequence[OffsetState]) -> tuple[int, ...]:
    return tuple(sorted({broker for one in offsets for broker in one.offline or ()}))


def _unmoved_s(unmoved_s: float | None, state: GroupState) -> float | None:
    """Return for how long a commit could have moved: members were there all the time."""
    if unmoved_s is None or not state.members:
        return None
    return unmoved_s if state.back_s is None else min(unmoved_s, state.back_s)
