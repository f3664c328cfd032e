"""Periods of reports: calendar days, weeks and months of a time zone, or from one moment to another.

A calendar period begins and ends at local midnight, so with a clock change it is an hour shorter or longer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from jobs.cluster.errors import InvalidFields
from jobs.reports.values import stamp

LONGEST = timedelta(days=400)


class PeriodName(StrEnum):
    """A period that is named by the calendar, the last one that is over."""

    DAY = "yesterday"
    WEEK = "last-week"
    MONTH = "last-month"
    # Up to this moment, for a look at today.
    LAST_24_HOURS = "last-24-hours"


LABELS: Mapping[PeriodName, str] = {
    PeriodName.DAY: "Yesterday",
    PeriodName.WEEK: "Last week (Monday to Sunday)",
    PeriodName.MONTH: "Last month",
    PeriodName.LAST_24_HOURS: "Last 24 hours",
}


@dataclass(frozen=True, slots=True)
class Period:
    """From `start` (included) to `end` (excluded), aware UTC; `time_zone` is that of its midnights."""

    start: datetime
    end: datetime
    time_zone: str = "UTC"
    name: str = ""

    @property
    def span(self) -> timedelta:
        return self.end - self.start

    @property
    def label(self) -> str:
        """The period for people: `Mon 16 Nov 2026 to Sun 22 Nov 2026 (Europe/Berlin)`."""
        zone = ZoneInfo(self.time_zone)
        start, end = self.start.astimezone(zone), self.end.astimezone(zone)
        if start.time() == time.min and end.time() == time.min:
            last = end - timedelta(days=1)
            if start.date() == last.date():
                return f"{start:%a %d %b %Y} ({self.time_zone})"
            return f"{start:%a %d %b %Y} to {last:%a %d %b %Y} ({self.time_zone})"
        return f"{start:%d %b %Y %H:%M} to {end:%d %b %Y %H:%M} ({self.time_zone})"

    def before(self) -> Period:
        """Return the period before: of a calendar week the week before, else the same length before."""
        zone = ZoneInfo(self.time_zone)
        if self.name in _CALENDAR:
            first = self.start.astimezone(zone).date()
            return _calendar(PeriodName(self.name), self.time_zone, first)
        return Period(self.start - self.span, self.start, self.time_zone, self.name)

    def to_mapping(self) -> dict[str, Any]:
        """Return the period as JSON values."""
        return {
            "start": stamp(self.start),
            "end": stamp(self.end),
            "time_zone": self.time_zone,
            "name": self.name,
        }

    @classmethod
    def from_mapping(cls, told: Mapping[str, Any]) -> Period:
        start, end = (datetime.fromisoformat(told[name]) for name in ("start", "end"))
        return cls(start, end, told["time_zone"], told["name"])


_CALENDAR = frozenset({PeriodName.DAY, PeriodName.WEEK, PeriodName.MONTH})


def named_period(name: str, time_zone: str, now: datetime) -> Period:
    """Return the last period of a name that is over; raises `InvalidFields` with `period`, `time_zone`."""
    wrong = {}
    if name not in set(PeriodName):
        wrong["period"] = f"One of {', '.join(PeriodName)}."
    if problem := zone_problem(time_zone):
        wrong["time_zone"] = problem
    if wrong:
        raise InvalidFields(wrong)
    if name == PeriodName.LAST_24_HOURS:
        return Period(now - timedelta(hours=24), now, time_zone, name)
    return _calendar(PeriodName(name), time_zone, now.astimezone(ZoneInfo(time_zone)).date())


def given_period(start: Any, end: Any, time_zone: str, now: datetime) -> Period:
    """Return a period between two moments or local days (texts); raises `InvalidFields`: `from`, `to`.

    A moment without an offset and a day are of the time zone. An end in the future is cut to now.
    """
    problem = zone_problem(time_zone)
    wrong = {"time_zone": problem} if problem else {}
    zone = ZoneInfo("UTC" if problem else time_zone)
    found: dict[str, datetime] = {}
    for name, text in (("from", start), ("to", end)):
        try:
            found[name] = _moment(text, zone)
        except (ValueError, TypeError, OverflowError):
            wrong[name] = "A day or a time is needed: 2026-11-16 or 2026-11-16T07:00:00Z."
    if not wrong:
        found["to"] = min(found["to"], now)
        if found["from"] >= found["to"]:
            wrong["from"] = "The period has to begin before it ends, and before now."
        elif found["to"] - found["from"] > LONGEST:
            wrong["from"] = f"A period has at most {LONGEST.days} days."
    if wrong:
        raise InvalidFields(wrong)
    return Period(found["from"], found["to"], time_zone)


def _calendar(name: PeriodName, time_zone: str, day: date) -> Period:
    """Return the day, week or month that is over at the begin of a local day."""
    if name == PeriodName.DAY:
        end, start = day, day - timedelta(days=1)
    elif name == PeriodName.WEEK:
        end = day - timedelta(days=day.weekday())
        start = end - timedelta(days=7)
    else:
        end = day.replace(day=1)
        start = (end - timedelta(days=1)).replace(day=1)
    return Period(_midnight(start, time_zone), _midnight(end, time_zone), time_zone, name)


def _midnight(day: date, time_zone: str) -> datetime:
    return datetime.combine(day, time.min, ZoneInfo(time_zone)).astimezone(UTC)


def _moment(text: Any, zone: ZoneInfo) -> datetime:
    found = text if isinstance(text, datetime) else datetime.fromisoformat(text)
    return (found if found.tzinfo else found.replace(tzinfo=zone)).astimezone(UTC)


def zone_problem(time_zone: str) -> str:
    """Return what is wrong with the name of a time zone; empty when nothing is."""
    if time_zone in available_timezones():
        return ""
    return "No time zone of this name is known: write it as Europe/Berlin or UTC."
