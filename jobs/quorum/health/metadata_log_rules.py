"""Findings from the metadata log, over time. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from jobs.checks.check import check
from jobs.findings import Finding
from jobs.quorum.health.checks import of
from jobs.quorum.health.codes import QuorumCode
from jobs.quorum.health.elections import STORM_MS, in_storm
from jobs.quorum.timeline.parts import SKEW_MS, Anomaly, AnomalyCode, ControllerGap, Election
from jobs.quorum.timeline.voter_timeline import VoterTimeline
from jobs.severity import Severity
from jobs.wire.values import utc_time

# What is older than this is history and no finding any more.
RECENT_MS = 24 * 3_600_000

_UNSAFE = {
    AnomalyCode.NON_OVERLAPPING_CHANGE,
    AnomalyCode.SEVERAL_CHANGES,
    AnomalyCode.MINORITY_ELECTION,
    AnomalyCode.LEADER_NOT_VOTER,
}
_BROKEN = {
    AnomalyCode.DAMAGED,
    AnomalyCode.UNREADABLE_RECORD,
    AnomalyCode.WRONG_ORDER,
    AnomalyCode.EPOCH_WITHOUT_LEADER_CHANGE,
    AnomalyCode.LEADER_CHANGE_OUT_OF_PLACE,
    AnomalyCode.VOTERS_DIFFER,
    AnomalyCode.SNAPSHOT_DIFFERS,
    AnomalyCode.VOTERS_WITHOUT_KRAFT_VERSION,
    AnomalyCode.KRAFT_VERSION_LOWERED,
}


@check(*of(QuorumCode.ELECTION_STORM, QuorumCode.EPOCH_JUMP, QuorumCode.NO_ACTIVE_CONTROLLER))
def find_election_trouble(timeline: VoterTimeline, now_ms: int) -> Iterator[Finding]:
    """Yield storms of elections, skipped epochs and times without an active controller.

    What happened again within `STORM_MS` is one finding. It has ended when as much time passed without it.
    """
    since = now_ms - RECENT_MS
    recent = [one for one in timeline.elections if one.timestamp_ms >= since]
    flags = in_storm([one.timestamp_ms for one in recent])
    stormy = [one for one, is_in in zip(recent, flags, strict=True) if is_in]
    for storm in episodes(stormy, _span_of_election):
        yield _lasting(_storm(storm), storm, _span_of_election, now_ms)
    skipped = [one for one in recent if one.skipped_epochs]
    for jumps in episodes(skipped, _span_of_election):
        yield _lasting(_jump(jumps), jumps, _span_of_election, now_ms)
    silences = [one for one in timeline.silences if one.to_ms >= since]
    for same in episodes(silences, _span_of_gap):
        yield _lasting(_silence(same), same, _span_of_gap, now_ms)


T = TypeVar("T")
Span = Callable[[T], tuple[int, int]]


def episodes(events: Sequence[T], span_of: Span[T]) -> list[list[T]]:
    """Return events in groups: what begins within `STORM_MS` after the end of the one before is the same."""
    found: list[list[T]] = []
    until = 0
    for one in events:
        begin, end = span_of(one)
        if found and begin - until <= STORM_MS:
            found[-1].append(one)
        else:
            found.append([one])
        until = max(until, end)
    return found


def _span_of_election(one: Election) -> tuple[int, int]:
    return one.timestamp_ms, one.timestamp_ms


def _span_of_gap(one: ControllerGap) -> tuple[int, int]:
    return one.from_ms, one.to_ms


def _lasting(finding: Finding, events: Sequence[T], span_of: Span[T], now_ms: int) -> Finding:
    """Return a finding with its begin, and with its end when it is over."""
    begin = min(span_of(one)[0] for one in events)
    end = max(span_of(one)[1] for one in events)
    return replace(
        finding, since=utc_time(begin), ended=utc_time(end) if now_ms - end > STORM_MS else None
    )


def _storm(elections: Sequence[Election]) -> Finding:
    seconds = max(0, elections[-1].timestamp_ms - elections[0].timestamp_ms) // 1000
    return Finding(
        QuorumCode.ELECTION_STORM,
        Severity.WARNING,
        f"{len(elections)} elections within {seconds} s, epochs {elections[0].epoch} to "
        f"{elections[-1].epoch}.",
        "Check for controllers that restart, pause (garbage collection, disk) or lose their network; "
        "controller.quorum.fetch.timeout.ms is 2 s by default.",
        evidence={
            "elections": len(elections),
            "first_offset": elections[0].offset,
            "last_offset": elections[-1].offset,
            "leaders": [one.leader_id for one in elections],
        },
    )


def _silence(silences: Sequence[ControllerGap]) -> Finding:
    longest = max(silences, key=lambda one: one.gap_ms)
    total_ms, count = sum(one.gap_ms for one in silences), len(silences)
    many = f"{count} times no controller was active, {total_ms / 1000:.1f} s in all, at most "
    once = "No controller was active for "
    return Finding(
        QuorumCode.NO_ACTIVE_CONTROLLER,
        Severity.WARNING,
        f"{once if count == 1 else many}{longest.gap_ms / 1000:.1f} s (before offset {longest.to_offset}).",
        "Where an election ended it, check the former leader; otherwise check the leader for pauses.",
        evidence={
            "times": count,
            "total_ms": total_ms,
            "longest_ms": longest.gap_ms,
            "offset": longest.to_offset,
            "with_election": sum(one.is_election for one in silences),
        },
    )


def _jump(skipped: Sequence[Election]) -> Finding:
    worst = max(skipped, key=lambda one: one.skipped_epochs)
    return Finding(
        QuorumCode.EPOCH_JUMP,
        Severity.INFO if worst.skipped_epochs <= 1 else Severity.WARNING,
        f"Elections failed: {worst.skipped_epochs} epoch{'' if worst.skipped_epochs == 1 else 's'} before "
        f"epoch {worst.epoch} had no leader.",
        "Votes were split, or voters do not reach each other: check the connections between controllers.",
        evidence={
            "times": len(skipped),
            "epoch": worst.epoch,
            "offset": worst.offset,
            "skipped": worst.skipped_epochs,
        },
    )


@check(*of(QuorumCode.CLOCK_SKEW))
def find_clock_skew(timeline: VoterTimeline, now_ms: int) -> Iterator[Finding]:
    """Yield clocks of controllers that differ: a leader's first record is dated before the last one."""
    back = [
        one
        for one in _recent(timeline, now_ms, {AnomalyCode.CLOCK_BACKWARDS})
        if one.evidence["back_ms"] >= SKEW_MS
    ]
    if back:
        worst = max(back, key=lambda one: int(one.evidence["back_ms"]))
        yield Finding(
            QuorumCode.CLOCK_SKEW,
            Severity.WARNING,
            f"Clocks of controllers differ by at least {worst.evidence['back_ms'] / 1000:.1f} s: "
            f"{worst.sentence}",
            "Synchronize the clocks of all controllers with NTP; times in this history are off by that much.",
            evidence={
                "back_ms": worst.evidence["back_ms"],
                "offset": worst.offset,
                "times": len(back),
            },
            since=utc_time(back[0].timestamp_ms),
        )


@check(*of(QuorumCode.UNSAFE_CHANGE, QuorumCode.LOG_BROKEN, QuorumCode.RECORDS_MISSING))
def find_log_faults(timeline: VoterTimeline, now_ms: int) -> Iterator[Finding]:
    """Yield changes that were unsafe, records that make no sense, and records that are missing."""
    unsafe = _recent(timeline, now_ms, _UNSAFE)
    for one in unsafe[:10]:
        yield Finding(
            QuorumCode.UNSAFE_CHANGE,
            Severity.CRITICAL,
            one.sentence,
            "Find the cause and compare the logs of all controllers: committed records may be lost.",
            subject=str(one.offset),
            evidence={"anomaly": one.code.value, "offset": one.offset, "epoch": one.epoch},
            since=utc_time(one.timestamp_ms),
        )
    broken = [one for one in timeline.anomalies if one.code in _BROKEN]
    if broken:
        yield Finding(
            QuorumCode.LOG_BROKEN,
            Severity.CRITICAL,
            f"{len(broken)} places of the log are not as Kafka writes them; the first: {broken[0].sentence}",
            "Compare with another controller's log; a damaged file is to be replaced by its node's next "
            "fetch.",
            evidence={
                "places": len(broken),
                "offset": broken[0].offset,
                "anomaly": broken[0].code.value,
            },
        )
    if timeline.unknown:
        start, end = timeline.unknown[-1]
        yield Finding(
            QuorumCode.RECORDS_MISSING,
            Severity.INFO,
            f"{len(timeline.unknown)} ranges of the log are missing, the last from {start} to {end - 1}: "
            "the "
            "changes there are unknown.",
            "Kafka deleted them; import the log folder of another node that may still have them.",
            evidence={"ranges": len(timeline.unknown), "from_offset": start, "to_offset": end},
        )


def _recent(timeline: VoterTimeline, now_ms: int, codes: set[AnomalyCode]) -> list[Anomaly]:
    since = now_ms - RECENT_MS
    return [
        one
        for one in timeline.anomalies
        if one.code in codes and (one.timestamp_ms is None or one.timestamp_ms >= since)
    ]
