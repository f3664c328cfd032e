"""Reads when brokers were registered, fenced and returned, from the metadata log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.urls import reverse

from console.frame.pages.states import spoken
from console.quorum import queries as quorum
from console.quorum.history import queries as history
from jobs.reports.kinds.clusters.quorum_recorded import BrokerEvent, BrokerFenced
from jobs.reports.kinds.clusters.watched_time import ms_of
from jobs.reports.values import within

REGISTERED, UNREGISTERED = "Registered", "Unregistered"
FENCED, RETURNED, UNFENCED = "Fenced", "Returned", "Unfenced"


@dataclass(slots=True)
class _Broker:
    """One broker while its changes are gone through; `was_used`: it was unfenced before."""

    state: Mapping[str, Any] | None = None
    was_used: bool = False
    fenced_since: datetime | None = None
    times: int = 0
    returned: int = 0
    fenced_ms: int = 0

    def become(self, state: Mapping[str, Any] | None, at: datetime) -> str:
        """Take in what the broker became; return the event, empty when it is none."""
        before, self.state = self.state, state
        self._count_fenced(at)
        if state is None:
            return UNREGISTERED if before is not None else ""
        is_fenced, was_fenced = bool(state.get("is_fenced")), bool((before or {}).get("is_fenced"))
        was_used, self.was_used = self.was_used, self.was_used or not is_fenced
        if before is None:
            return REGISTERED
        if is_fenced and not was_fenced:
            self.times += 1
            return FENCED
        if was_fenced and not is_fenced:
            self.returned += was_used
            return RETURNED if was_used else UNFENCED
        is_anew = before.get("incarnation_id") != state.get("incarnation_id")
        return REGISTERED if is_anew else ""

    def _count_fenced(self, at: datetime) -> None:
        if self.fenced_since is not None:
            self.fenced_ms += max(ms_of(at) - ms_of(self.fenced_since), 0)
        is_fenced = bool(self.state and self.state.get("is_fenced"))
        self.fenced_since = at if is_fenced else None

    def begin(self, state: Mapping[str, Any] | None, at: datetime) -> None:
        """Take in how the broker was at the begin of the period."""
        self.state = state
        self.was_used = state is not None
        self.fenced_since = at if state and state.get("is_fenced") else None

    def end(self, at: datetime) -> None:
        """Take in the end of the period."""
        self._count_fenced(at)


def read_brokers(
    log: quorum.Log, start: datetime, end: datetime
) -> tuple[tuple[BrokerFenced, ...], tuple[BrokerEvent, ...]]:
    """Return the brokers that were fenced or returned between two times, and what happened to all."""
    brokers: dict[int, _Broker] = {}
    subjects = history.list_subjects(log, quorum.ChangeKind.BROKER)
    for change in history.last_before(subjects, start).values():
        if change.broker is not None:
            state = None if change.is_removed else change.state
            brokers.setdefault(change.broker, _Broker()).begin(state, start)
    events = tuple(_events(log, brokers, start, end))
    for one in brokers.values():
        one.end(end)
    href = within(reverse("quorum:brokers", args=[log.name]), start, end)
    found = tuple(
        BrokerFenced(number, one.times, one.returned, one.fenced_ms, href)
        for number, one in sorted(brokers.items())
        if one.times or one.returned or one.fenced_ms
    )
    return found, events


def _events(
    log: quorum.Log, brokers: dict[int, _Broker], start: datetime, end: datetime
) -> Iterator[BrokerEvent]:
    rows = history.list_changes(log, quorum.ChangeKind.BROKER).select_related(None)
    rows = rows.filter(at__gte=start, at__lt=end).order_by("effective_offset", "number")
    names = ("broker", "at", "state", "is_removed", "cause", "offset")
    for number, at, state, is_removed, cause, offset in rows.values_list(*names):
        if number is None:
            continue
        event = brokers.setdefault(number, _Broker()).become(None if is_removed else state, at)
        if event:
            href = reverse("quorum:record", args=[log.name, offset])
            yield BrokerEvent(at, number, event, spoken(cause) if cause else "", href)
