"""Lanes of the quorum: voters with their directories, and leaders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from django.urls import reverse

from console.findings.incidents.queries import list_marks
from console.frame.pages.state_timeline import (
    Event,
    StateInterval,
    StateTimeline,
    TimelineRow,
    draw_timeline,
    in_order,
    with_gaps,
)
from console.frame.pages.timerange import TimeRange
from console.quorum import queries
from console.quorum.models import ControllerSilence, Election, MetadataLog, VoterSetEntry
from jobs.numbers import format_span_ms
from jobs.severity import Severity

MOST_ENTRIES = 500
MOST_EVENTS = 100
SHORT_ID = 8


def record_url(log: MetadataLog, offset: int) -> str:
    """Return the address of the raw record at an offset."""
    return reverse("quorum:record", args=[log.name, offset])


def replica_name(voter: dict[str, Any]) -> str:
    """Return how a voter is called: its id, and the beginning of its directory id when there is one."""
    directory = voter.get("directory_id")
    return f"{voter['id']} · {directory[:SHORT_ID]}…" if directory else str(voter["id"])


def draw_voters(log: MetadataLog, time_range: TimeRange, now: datetime) -> StateTimeline:
    """Return a lane per voter and directory, with its terms as leader; events as marks."""
    entries = queries.until(queries.list_voter_sets(log), time_range, MOST_ENTRIES)
    elections = queries.until(queries.list_elections(log), time_range, MOST_ENTRIES)
    lanes = _voter_lanes(log, entries, elections)
    marks = _marks(log, entries, elections, time_range)
    return draw_timeline(lanes, time_range, now, marks)


def _voter_lanes(
    log: MetadataLog, entries: Sequence[VoterSetEntry], elections: Sequence[Election]
) -> list[TimelineRow]:
    """A replica with a new disk gets another lane: its log was empty."""
    lanes: dict[tuple[int, str], list[StateInterval]] = {}
    names: dict[tuple[int, str], str] = {}
    for entry, after in pairwise([*entries, None]):
        if entry is None:
            break
        for voter in entry.voters:
            key = (voter["id"], voter.get("directory_id") or "")
            names[key] = replica_name(voter)
            end = after.at if after else None
            lanes.setdefault(key, []).extend(_membership(log, entry, voter, end))
    leading = list(_leading(log, elections))
    for key, segments in lanes.items():
        lanes[key] = [*_joined(segments), *_within(leading, key[0], segments)]
    known = {key[0] for key in lanes}
    for leader, segment in leading:
        # Without a voter set (a log that begins later) the leaders are still known.
        if leader not in known:
            lanes.setdefault((leader, ""), []).append(segment)
            names[leader, ""] = str(leader)
    gaps = queries.unsure_times(log)
    return [TimelineRow(names[key], with_gaps(lanes[key], gaps)) for key in sorted(lanes)]


def _membership(
    log: MetadataLog, entry: VoterSetEntry, voter: dict[str, Any], end: datetime | None
) -> Iterator[StateInterval]:
    """A set counts from the moment it is appended; until it is committed it may be rolled back."""
    href = record_url(log, entry.offset)
    begins = entry.at
    if replica_name(voter) in entry.added and entry.is_committed is False:
        yield StateInterval("Uncommitted", Severity.WARNING, begins, end, href, "not committed yet")
        return
    if replica_name(voter) in entry.added and entry.committed_at:
        yield StateInterval("Uncommitted", Severity.WARNING, begins, entry.committed_at, href)
        begins = entry.committed_at
    word = "Configured voter" if entry.is_static else "Voter"
    yield StateInterval(word, Severity.INFO, begins, end, href)


def _joined(segments: Sequence[StateInterval]) -> list[StateInterval]:
    """Return segments with the same word that follow each other as one."""
    found: list[StateInterval] = []
    for segment in segments:
        last = found[-1] if found else None
        if last and last.word == segment.word and last.end == segment.start:
            found[-1] = StateInterval(
                last.word, last.severity, last.start, segment.end, last.href, last.detail
            )
        else:
            found.append(segment)
    return found


def _leading(
    log: MetadataLog, elections: Sequence[Election]
) -> Iterator[tuple[int, StateInterval]]:
    for election, after in pairwise([*elections, None]):
        if election is None:
            return
        # Who led is over with the last record before the gap, not with the next election.
        end = _end_of(after)
        detail = f"epoch {election.epoch}"
        href = record_url(log, election.offset)
        yield (
            election.leader_id,
            StateInterval("Leader", Severity.HEALTHY, election.at, end, href, detail, is_thin=True),
        )


def _end_of(after: Election | None) -> datetime | None:
    if after is None:
        return None
    return after.at - timedelta(milliseconds=max(after.gap_ms or 0, 0))


def _within(
    leading: Iterable[tuple[int, StateInterval]], node: int, membership: Sequence[StateInterval]
) -> Iterator[StateInterval]:
    """Yield the terms of a node that began while this directory of it was a voter."""
    first = min((segment.start for segment in membership), default=None)
    ends = [segment.end for segment in membership]
    last = None if None in ends or not ends else max(end for end in ends if end)
    for leader, segment in leading:
        if leader != node or first is None:
            continue
        begins_later = last is not None and segment.start >= last
        ended_before = segment.end is not None and segment.end <= first
        if not begins_later and not ended_before:
            yield segment


def _marks(
    log: MetadataLog,
    entries: Sequence[VoterSetEntry],
    elections: Sequence[Election],
    time_range: TimeRange,
) -> list[Event]:
    events = [_election_event(log, one) for one in elections]
    events += [event for entry in entries for event in _set_events(log, entry)]
    silences = queries.list_silences(log).filter(
        to_at__gte=time_range.start, from_at__lte=time_range.end
    )
    events += [_silence_event(log, one) for one in silences.order_by("-to_offset")[:MOST_EVENTS]]
    events += list_marks(time_range, log=log.pk or 0)
    inside = [event for event in events if time_range.start <= event.at <= time_range.end]
    return in_order(inside, MOST_EVENTS)


def _election_event(log: MetadataLog, election: Election) -> Event:
    gap = election.gap_ms or 0
    severity = Severity.WARNING if election.oddities else Severity.INFO
    told = f", {format_span_ms(gap)} without a record before" if election.gap_ms else ""
    label = f"Leader {election.leader_id}, epoch {election.epoch}{told}"
    return Event(election.at, "Election", label, severity, record_url(log, election.offset))


def _silence_event(log: MetadataLog, silence: ControllerSilence) -> Event:
    ms = (silence.to_at - silence.from_at).total_seconds() * 1000
    label = f"No controller for {format_span_ms(ms)}, no election"
    href = record_url(log, silence.to_offset)
    return Event(silence.to_at, "No controller", label, Severity.WARNING, href)


def _set_events(log: MetadataLog, entry: VoterSetEntry) -> Iterator[Event]:
    href = record_url(log, entry.offset)
    for kind, names, severity in (
        ("Voter added", entry.added, Severity.HEALTHY),
        ("Voter removed", entry.removed, Severity.WARNING),
        ("Endpoint changed", entry.moved, Severity.INFO),
        ("Anomaly", entry.anomalies, Severity.WARNING),
    ):
        for name in names:
            yield Event(entry.at, kind, f"{kind}: {name}", severity, href)
