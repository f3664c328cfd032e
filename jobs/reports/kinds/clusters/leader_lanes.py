"""Leaders of the quorum over time, and the time without one, from elections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.reports.document import Chart, ChartType, Series
from jobs.reports.kinds.clusters.quorum_recorded import ClusterQuorum, Silence
from jobs.reports.values import stamp
from jobs.severity import Severity

# Shorter segments than this share of the period cannot be seen.
_SHARE = 1000


@dataclass(frozen=True, slots=True)
class LeaderTerm:
    """From when to when a controller led; `leader` None: none was active."""

    leader: int | None
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class WithoutController:
    """A time without an active controller; `is_silence`: much longer than records usually are apart."""

    start: datetime
    end: datetime
    is_silence: bool

    @property
    def ms(self) -> int:
        """How long it was."""
        return round((self.end - self.start) / timedelta(milliseconds=1))


def without_controller(
    cluster: ClusterQuorum, start: datetime, end: datetime
) -> list[WithoutController]:
    """Return the times without an active controller between two times, in order.

    They are those before elections, and silences of the log that ended without one: as the console and the
    analysis *Time without an active controller* define it.
    """
    found = [
        (one.at - timedelta(milliseconds=one.gap_ms or 0), one.at, one.is_silence)
        for one in cluster.elections
    ]
    found += [(one.start, one.end, True) for one in cluster.silences]
    cut = [(max(begin, start), min(over, end), is_silence) for begin, over, is_silence in found]
    return [WithoutController(*one) for one in sorted(cut) if one[0] < one[1]]


@dataclass(frozen=True, slots=True)
class TimeWithoutController:
    """The time without an active controller in a period: how many spans, their sum, and the longest."""

    spans: int = 0
    total_ms: int = 0
    longest_ms: int = 0
    longest_end: datetime | None = None
    is_notable: bool = False


def time_without_controller(cluster: ClusterQuorum) -> TimeWithoutController | None:
    """Return it by the analysis of the archived log where one was made; None: nothing is known."""
    told = cluster.controller_time
    if told is not None and not told.error:
        begin = told.longest_from
        end = None if begin is None else begin + timedelta(milliseconds=told.longest_ms)
        return TimeWithoutController(
            told.spans, told.total_ms, told.longest_ms, end, told.is_silence
        )
    if cluster.start is None or cluster.end is None:
        return None
    spans = without_controller(cluster, cluster.start, cluster.end)
    longest = max(spans, default=None, key=lambda one: one.ms)
    if longest is None:
        return TimeWithoutController()
    is_notable = any(one.is_silence for one in spans)
    total_ms = sum(one.ms for one in spans)
    return TimeWithoutController(len(spans), total_ms, longest.ms, longest.end, is_notable)


def terms_of(cluster: ClusterQuorum, start: datetime, end: datetime) -> list[LeaderTerm]:
    """Return who led between two times, in order; a time before the first known leader is left out."""
    found: list[LeaderTerm] = []
    for term in _with_silences(_terms(cluster, start, end), cluster.silences):
        if found and found[-1].leader == term.leader and found[-1].end == term.start:
            found[-1] = LeaderTerm(term.leader, found[-1].start, term.end)
        elif term.start < term.end:
            found.append(term)
    return found


def _terms(cluster: ClusterQuorum, start: datetime, end: datetime) -> Iterator[LeaderTerm]:
    leader, since = cluster.leader_before, start
    is_known = leader is not None
    for one in cluster.elections:
        # Clocks of two controllers may disagree: a term never ends before it begins.
        at = min(max(one.at, since), end)
        lost = max(at - timedelta(milliseconds=one.gap_ms or 0), since)
        if is_known:
            yield LeaderTerm(leader, since, lost)
            yield LeaderTerm(None, lost, at)
        leader, since, is_known = one.leader, at, True
    if is_known:
        yield LeaderTerm(leader, since, end)


def _with_silences(
    terms: Iterable[LeaderTerm], silences: Sequence[Silence]
) -> Iterator[LeaderTerm]:
    """Cut silences out of the terms of leaders."""
    for term in terms:
        since = term.start
        for one in silences if term.leader is not None else ():
            begin, over = max(one.start, since), min(one.end, term.end)
            if begin < over:
                yield LeaderTerm(term.leader, since, begin)
                yield LeaderTerm(None, begin, over)
                since = over
        yield LeaderTerm(term.leader, since, term.end)


def leader_chart(cluster: ClusterQuorum) -> Chart | None:
    """Return the lane of the leader; terms too short to be seen are left out. None: no leader is known."""
    if cluster.start is None or cluster.end is None:
        return None
    shown: list[LeaderTerm] = []
    least = (cluster.end - cluster.start) / _SHARE
    for term in terms_of(cluster, cluster.start, cluster.end):
        is_same = shown and shown[-1].leader == term.leader
        if shown and (is_same or term.end - term.start < least):
            shown[-1] = LeaderTerm(shown[-1].leader, shown[-1].start, term.end)
        else:
            shown.append(term)
    if not shown:
        return None
    series = Series(
        "Leader",
        tuple(stamp(one.start) or "" for one in shown),
        tuple("None" if one.leader is None else f"Controller {one.leader}" for one in shown),
        tuple(stamp(one.end) or "" for one in shown),
        tuple(Severity.CRITICAL if one.leader is None else Severity.HEALTHY for one in shown),
    )
    leaders = sorted({one.leader for one in shown if one.leader is not None})
    named = ", ".join(map(str, leaders)) or "none"
    return Chart(
        f"leader-{cluster.alias}",
        "Active controller",
        ChartType.LANES,
        (series,),
        f"Which controller was active over time: {named}; terms too short to be seen are left out.",
    )
