"""Lanes of partitions (leader, each replica) and of brokers (registered, fenced)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from console.frame.pages.state_timeline import (
    Event,
    StateInterval,
    StateTimeline,
    TimelineRow,
    draw_timeline,
    in_order,
    with_gaps,
)
from console.frame.pages.states import spoken
from console.frame.pages.timerange import TimeRange
from console.quorum.models import MetadataChange, MetadataLog
from console.quorum.queries import unsure_times
from console.quorum.voters.timelines import MOST_EVENTS, record_url
from jobs.severity import Severity

NO_LEADER = -1
State = Mapping[str, Any]
Word = tuple[str, Severity]
WordOf = Callable[[State], Word | None]


def draw_partition(
    log: MetadataLog, changes: Sequence[MetadataChange], time_range: TimeRange, now: datetime
) -> StateTimeline:
    """Return the lanes of one partition: its leader, then each broker that was ever a replica."""
    brokers = sorted({b for change in changes for b in change.state.get("replicas", ())})
    gaps = unsure_times(log)
    lanes = [TimelineRow("Leader", with_gaps(list(_leaders(log, changes)), gaps))]
    lanes += [
        TimelineRow(f"Broker {b}", with_gaps(list(_replica(log, changes, b)), gaps))
        for b in brokers
    ]
    return draw_timeline(lanes, time_range, now, _unclean(log, changes, time_range))


def draw_partitions(
    log: MetadataLog,
    by_partition: Mapping[int, Sequence[MetadataChange]],
    time_range: TimeRange,
    now: datetime,
) -> StateTimeline:
    """Return a lane per partition: whether its replicas were in sync."""
    lanes = [
        TimelineRow(
            f"Partition {number}", with_gaps(list(_health(log, changes)), unsure_times(log))
        )
        for number, changes in sorted(by_partition.items())
    ]
    events = [e for changes in by_partition.values() for e in _unclean(log, changes, time_range)]
    return draw_timeline(lanes, time_range, now, in_order(events, MOST_EVENTS))


def draw_brokers(
    log: MetadataLog,
    by_broker: Mapping[int, Sequence[MetadataChange]],
    time_range: TimeRange,
    now: datetime,
) -> StateTimeline:
    """Return a lane per broker: unfenced, fenced, shutting down, not registered."""
    lanes = [
        TimelineRow(
            f"Broker {number}",
            with_gaps(list(_segments(log, changes, _broker_word)), unsure_times(log)),
        )
        for number, changes in sorted(by_broker.items())
    ]
    return draw_timeline(lanes, time_range, now)


def _broker_word(state: State) -> Word:
    if state.get("is_fenced"):
        return "Fenced", Severity.CRITICAL
    if state.get("in_controlled_shutdown"):
        return "Shutting down", Severity.WARNING
    return "Unfenced", Severity.HEALTHY


def _leaders(log: MetadataLog, changes: Sequence[MetadataChange]) -> Iterator[StateInterval]:
    def word(state: State) -> Word:
        leader = state.get("leader", NO_LEADER)
        if leader == NO_LEADER:
            return "No leader", Severity.CRITICAL
        preferred = (state.get("replicas") or [None])[0]
        return f"Broker {leader}", Severity.HEALTHY if leader == preferred else Severity.INFO

    return _segments(log, changes, word)


def _replica(
    log: MetadataLog, changes: Sequence[MetadataChange], broker: int
) -> Iterator[StateInterval]:
    def word(state: State) -> Word | None:
        if broker not in state.get("replicas", ()):
            return None
        if broker in state.get("isr", ()):
            return "In sync", Severity.HEALTHY
        if broker in (state.get("elr") or ()):
            return "Eligible leader", Severity.WARNING
        return "Out of sync", Severity.WARNING

    return _segments(log, changes, word)


def _health(log: MetadataLog, changes: Sequence[MetadataChange]) -> Iterator[StateInterval]:
    def word(state: State) -> Word:
        if state.get("leader", NO_LEADER) == NO_LEADER:
            return "No leader", Severity.CRITICAL
        missing = set(state.get("replicas", ())) - set(state.get("isr", ()))
        return (
            ("Replica missing", Severity.WARNING) if missing else ("All in sync", Severity.HEALTHY)
        )

    return _segments(log, changes, word)


def _segments(
    log: MetadataLog, changes: Sequence[MetadataChange], word_of: WordOf
) -> Iterator[StateInterval]:
    """Yield how long each word held; changes that leave it as it is make no new bar."""
    pending: tuple[Word, MetadataChange] | None = None
    for change in changes:
        word = None if change.is_removed else word_of(change.state)
        if pending and word == pending[0]:
            continue
        if pending:
            yield _segment(log, pending, change.at)
        pending = (word, change) if word else None
    if pending:
        yield _segment(log, pending, None)


def _segment(
    log: MetadataLog, pending: tuple[Word, MetadataChange], end: datetime | None
) -> StateInterval:
    (word, severity), change = pending
    cause = spoken(change.cause) if change.cause else ""
    return StateInterval(word, severity, change.at, end, record_url(log, change.offset), cause)


def _unclean(
    log: MetadataLog, changes: Sequence[MetadataChange], time_range: TimeRange
) -> list[Event]:
    return [
        Event(
            change.at,
            "Unclean election",
            f"Unclean election: leader {change.state.get('leader')} was not in sync",
            Severity.CRITICAL,
            record_url(log, change.offset),
        )
        for change in changes
        if change.is_unclean and time_range.start <= change.at <= time_range.end
    ]
