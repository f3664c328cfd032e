"""Timeline of a partition: lanes of its state, its leader, and each broker's membership in the ISR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.urls import reverse

from console.availability.status.definitions import cause_words
from console.availability.status.history import PartitionHistory
from console.availability.status.models import PartitionStatus
from console.frame.pages.state_timeline import (
    Event,
    StateInterval,
    StateTimeline,
    TimelineRow,
    draw_timeline,
    with_gaps,
)
from console.frame.pages.states import severity_of, spoken
from console.frame.pages.timerange import TimeRange
from jobs.availability.status.partition_seen import Membership, PartitionSeen
from jobs.availability.status.severity import Severity
from jobs.availability.status.spans import leader_spans, membership_spans
from jobs.severity import Severity as Look

_MEMBERSHIPS = {
    Membership.LEADER: ("Leader", Look.HEALTHY),
    Membership.IN_SYNC: ("In sync", Look.HEALTHY),
    Membership.OBSERVER_IN_SYNC: ("Observer in sync", Look.INFO),
    Membership.OBSERVER: ("Observer", Look.UNKNOWN),
    Membership.ELIGIBLE: ("Eligible leader", Look.WARNING),
    Membership.OUT_OF_SYNC: ("Out of sync", Look.WARNING),
    Membership.ADDING: ("Being added", Look.INFO),
    Membership.UNKNOWN: ("Out of sync or being added", Look.UNKNOWN),
}


def draw_partition(
    row: PartitionStatus,
    history: PartitionHistory,
    racks: Mapping[int, str],
    time_range: TimeRange,
    now: datetime,
) -> StateTimeline:
    """Return the lanes of a partition, with unclean elections as marks; unknown times are hatched."""
    moments = history.moments
    brokers = sorted({broker for one in moments for broker in one.replicas} | set(row.replicas))
    lanes = [("State", _severities(row, history)), ("Leader", _leaders(history))]
    for broker in brokers:
        rack = racks.get(broker)
        label = f"Broker {broker} · {rack}" if rack else f"Broker {broker}"
        lanes.append((label, _memberships(history, broker)))
    known = [TimelineRow(label, with_gaps(list(found), history.unknown)) for label, found in lanes]
    return draw_timeline(known, time_range, now, _marks(history))


def _severities(row: PartitionStatus, history: PartitionHistory) -> Iterator[StateInterval]:
    """Yield the unhealthy intervals, and the healthy ones between them."""
    known, end = row.known_since, history.gone_at
    for span in history.severities:
        if span.began_at > known:
            yield StateInterval("Healthy", Look.HEALTHY, known, span.began_at)
        word = Severity(span.severity).word
        why = cause_words(span.cause, span.cause_broker)
        href = record_url(history.log_name, span.offset)
        yield StateInterval(
            spoken(word),
            severity_of(word),
            span.began_at,
            span.ended_at,
            href,
            _with_accuracy(why, span),
        )
        if span.ended_at is None:
            return
        known = max(known, span.ended_at)
    yield StateInterval("Healthy", Look.HEALTHY, known, end)


def _leaders(history: PartitionHistory) -> Iterator[StateInterval]:
    for span in leader_spans(history.moments, history.gone_at):
        word, look = f"Broker {span.value}", Look.HEALTHY
        if span.value is None:
            word, look = "No leader", Look.CRITICAL
        elif span.value != next(iter(span.first.replicas), None):
            look = Look.INFO
        yield _segment(history, word, look, span)


def _memberships(history: PartitionHistory, broker: int) -> Iterator[StateInterval]:
    for span in membership_spans(history.moments, broker, history.gone_at):
        if span.value is not None:
            word, look = _MEMBERSHIPS[span.value]
            yield _segment(history, word, look, span)


def _segment(history: PartitionHistory, word: str, look: Look, span: Any) -> StateInterval:
    first: PartitionSeen = span.first
    why = cause_words(first.cause, first.cause_broker)
    href = record_url(history.log_name, first.offset)
    return StateInterval(word, look, span.start, span.end, href, _with_accuracy(why, first))


def _with_accuracy(why: str, one: Any) -> str:
    if one.not_before is None:
        return why
    return f"{why}; started at or before this time"


def _marks(history: PartitionHistory) -> list[Event]:
    return [
        Event(
            one.at,
            "Unclean election",
            f"Unclean election: leader {one.leader} was not in the ISR",
            Look.CRITICAL,
            record_url(history.log_name, one.offset),
        )
        for one in history.unclean
    ]


def record_url(log_name: str, offset: int | None) -> str:
    """Return the page of a change's metadata record; "" without a record."""
    if offset is None or offset < 0 or not log_name:
        return ""
    return reverse("quorum:record", args=[log_name, offset])
