"""Who led the quorum when, and for how long nobody did, from elections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.reports.document import Chart, ChartType, Level, Series
from jobs.reports.kinds.clusters.quorum_recorded import ClusterQuorum, ElectionRecorded
from jobs.reports.values import stamp

# Shorter segments than this share of the period cannot be seen.
_SHARE = 1000


@dataclass(frozen=True, slots=True)
class LeaderTerm:
    """From when to when a controller led; `leader` None: none was active."""

    leader: int | None
    start: datetime
    end: datetime


def leaderless_ms(election: ElectionRecorded, start: datetime, end: datetime) -> int:
    """Return how much of the time without a controller before an election lies between two times, in ms."""
    begin = election.at - timedelta(milliseconds=election.gap_ms or 0)
    found = min(election.at, end) - max(begin, start)
    return max(round(found / timedelta(milliseconds=1)), 0)


def terms_of(cluster: ClusterQuorum, start: datetime, end: datetime) -> list[LeaderTerm]:
    """Return who led between two times, in order; a time before the first known leader is left out."""
    found: list[LeaderTerm] = []
    for term in _terms(cluster, start, end):
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
        tuple(Level.CRITICAL if one.leader is None else Level.OK for one in shown),
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
