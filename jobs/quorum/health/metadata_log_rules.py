"""What the metadata log tells of a quorum's health, over time. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobs.quorum.health.finding import QuorumCode, QuorumFinding, Severity
from jobs.quorum.timeline.parts import SKEW_MS, Anomaly, AnomalyCode, Election
from jobs.quorum.timeline.voter_timeline import VoterTimeline

# Elections come with restarts; so many in so short a time do not.
STORM_ELECTIONS, STORM_MS = 5, 600_000
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


def find_election_trouble(timeline: VoterTimeline, now_ms: int) -> Iterator[QuorumFinding]:
    """Yield storms of elections, skipped epochs and times without an active controller."""
    since = now_ms - RECENT_MS
    recent = [one for one in timeline.elections if one.timestamp_ms >= since]
    worst = _storm(recent)
    if worst:
        yield QuorumFinding(
            QuorumCode.ELECTION_STORM,
            Severity.RISK,
            f"{len(worst)} elections within {_seconds(worst)} s, epochs {worst[0].epoch} to "
            f"{worst[-1].epoch}.",
            "Look for controllers that restart, pause (garbage collection, disk) or lose their network; "
            "controller.quorum.fetch.timeout.ms is 2 s by default.",
            evidence={
                "elections": len(worst),
                "first_offset": worst[0].offset,
                "last_offset": worst[-1].offset,
                "leaders": [one.leader_id for one in worst],
            },
        )
    skipped = [one for one in recent if one.skipped_epochs]
    if skipped:
        yield _jump(skipped)
    silences = [one for one in timeline.silences if one.to_ms >= since]
    if silences:
        longest = max(silences, key=lambda one: one.gap_ms)
        yield QuorumFinding(
            QuorumCode.NO_ACTIVE_CONTROLLER,
            Severity.WARN,
            f"{len(silences)} times in the last day no controller was active, at most for "
            f"{longest.gap_ms / 1000:.1f} s (before offset {longest.to_offset}).",
            "Where an election ended it, look at the leader that was lost; else at pauses of the leader.",
            evidence={
                "times": len(silences),
                "total_ms": sum(one.gap_ms for one in silences),
                "longest_ms": longest.gap_ms,
                "offset": longest.to_offset,
                "with_election": sum(one.is_election for one in silences),
            },
        )


def _storm(elections: Sequence[Election]) -> Sequence[Election]:
    """Return the most elections that stand within ten minutes; none unless they are a storm."""
    best: Sequence[Election] = ()
    start = 0
    for end, last in enumerate(elections):
        while last.timestamp_ms - elections[start].timestamp_ms > STORM_MS:
            start += 1
        if end - start + 1 > len(best):
            best = elections[start : end + 1]
    return best if len(best) >= STORM_ELECTIONS else ()


def _seconds(elections: Sequence[Election]) -> int:
    return max(0, elections[-1].timestamp_ms - elections[0].timestamp_ms) // 1000


def _jump(skipped: Sequence[Election]) -> QuorumFinding:
    worst = max(skipped, key=lambda one: one.skipped_epochs)
    return QuorumFinding(
        QuorumCode.EPOCH_JUMP,
        Severity.NOTICE if worst.skipped_epochs <= 1 else Severity.WARN,
        f"Elections failed: {worst.skipped_epochs} epoch{'' if worst.skipped_epochs == 1 else 's'} before "
        f"epoch {worst.epoch} had no leader.",
        "Votes split or voters do not reach each other: look at the connections between controllers.",
        evidence={
            "times": len(skipped),
            "epoch": worst.epoch,
            "offset": worst.offset,
            "skipped": worst.skipped_epochs,
        },
    )


def find_clock_skew(timeline: VoterTimeline, now_ms: int) -> Iterator[QuorumFinding]:
    """Yield clocks of controllers that differ: a leader's first record is dated before the last one."""
    back = [
        one
        for one in _recent(timeline, now_ms, {AnomalyCode.CLOCK_BACKWARDS})
        if one.evidence["back_ms"] >= SKEW_MS
    ]
    if back:
        worst = max(back, key=lambda one: int(one.evidence["back_ms"]))
        yield QuorumFinding(
            QuorumCode.CLOCK_SKEW,
            Severity.WARN,
            f"Clocks of controllers differ by at least {worst.evidence['back_ms'] / 1000:.1f} s: "
            f"{worst.sentence}",
            "Keep the clocks of all controllers with NTP; times in this history are wrong by that much.",
            evidence={
                "back_ms": worst.evidence["back_ms"],
                "offset": worst.offset,
                "times": len(back),
            },
        )


def find_log_faults(timeline: VoterTimeline, now_ms: int) -> Iterator[QuorumFinding]:
    """Yield changes that were unsafe, records that make no sense, and records that are missing."""
    unsafe = _recent(timeline, now_ms, _UNSAFE)
    for one in unsafe[:10]:
        yield QuorumFinding(
            QuorumCode.UNSAFE_CHANGE,
            Severity.RISK,
            one.sentence,
            "Find out who did it; compare the logs of all controllers, committed records may have been lost.",
            subject=str(one.offset),
            evidence={"anomaly": one.code.value, "offset": one.offset, "epoch": one.epoch},
        )
    broken = [one for one in timeline.anomalies if one.code in _BROKEN]
    if broken:
        yield QuorumFinding(
            QuorumCode.LOG_BROKEN,
            Severity.RISK,
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
        yield QuorumFinding(
            QuorumCode.RECORDS_MISSING,
            Severity.NOTICE,
            f"{len(timeline.unknown)} ranges of the log are missing, the last from {start} to {end - 1}: "
            "what "
            "happened there is unknown.",
            "Nothing brings them back once Kafka has deleted them; another node's folder may still have "
            "them.",
            evidence={"ranges": len(timeline.unknown), "from_offset": start, "to_offset": end},
        )


def _recent(timeline: VoterTimeline, now_ms: int, codes: set[AnomalyCode]) -> list[Anomaly]:
    since = now_ms - RECENT_MS
    return [
        one
        for one in timeline.anomalies
        if one.code in codes and (one.timestamp_ms is None or one.timestamp_ms >= since)
    ]
