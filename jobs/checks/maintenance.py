"""When maintenance windows start: recurrence rules of iCalendar (RFC 5545) in a time zone. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, UTC, date, datetime, time, timedelta
from functools import lru_cache
from itertools import takewhile
from typing import Any
from zoneinfo import ZoneInfo

from dateutil.rrule import rrulestr
from icalendar import vRecur

LONGEST_RULE = 500
MOST_INTERVAL, MOST_COUNT = 1000, 10_000
HELP = (
    "A recurrence rule of iCalendar, as in FREQ=WEEKLY;BYDAY=SU or FREQ=MONTHLY;BYDAY=1SA;COUNT=12."
)
# The time of day is that of the first start.
_FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
_MOST = {"BYMONTHDAY": 31, "BYYEARDAY": 366, "BYWEEKNO": 53, "BYMONTH": 12, "BYSETPOS": 366}
_LISTS = frozenset({"BYDAY", *_MOST})
_SINGLE = frozenset({"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST"})
_LIMITS = {"INTERVAL": MOST_INTERVAL, "COUNT": MOST_COUNT}
# The Gregorian calendar, days of the week included, repeats after so many years.
_CYCLE_YEARS = 400


class NotARule(ValueError):
    """A text that is no recurrence rule of a maintenance window; its text is a sentence."""


@dataclass(frozen=True, slots=True)
class Window:
    """A maintenance window of a cluster, None: of all clusters."""

    title: str
    starts_at: datetime
    duration_s: float
    cluster: int | None = None
    rrule: str = ""
    time_zone: str = "UTC"


def active_windows(windows: Iterable[Window], now: datetime) -> list[Window]:
    """Return the windows that `now` is in; one whose rule is not usable is never active."""
    day = now.astimezone(UTC).date()
    return [one for one in windows if _has_start(_starts_near(one, day), one.duration_s, now)]


def _has_start(starts: Iterable[datetime], duration_s: float, now: datetime) -> bool:
    return any(at <= now < at + timedelta(seconds=duration_s) for at in starts)


@lru_cache(maxsize=1024)
def _starts_near(one: Window, day: date) -> tuple[datetime, ...]:
    """Return the starts of a window that may concern a day (UTC)."""
    begin = datetime.combine(day, time(), UTC)
    first, end = begin - timedelta(seconds=one.duration_s), begin + timedelta(days=1)
    try:
        rrule = read_rrule(one.rrule) if one.rrule else ""
    except NotARule:
        return ()
    starts = starts_of(one.starts_at, rrule, one.time_zone, first)
    return tuple(takewhile(lambda at: at < end, starts))


def read_rrule(text: str) -> str:
    """Return a recurrence rule in its normal form; raises `NotARule`."""
    given = text.strip().removeprefix("RRULE:")
    if len(given) > LONGEST_RULE:
        raise NotARule(f"It has more than {LONGEST_RULE} characters.")
    try:
        rule = vRecur.from_ical(given)
    except ValueError:
        raise NotARule(HELP) from None
    problem = _problem_of(rule)
    if problem:
        raise NotARule(problem)
    try:
        rrulestr(_text_of(_without_until(rule)), dtstart=datetime(2000, 1, 1))  # noqa: DTZ001  local
    except ValueError:
        raise NotARule(HELP) from None
    return _text_of(rule)


def starts_of(
    starts_at: datetime, rrule: str, time_zone: str, after: datetime
) -> Iterator[datetime]:
    """Yield the starts of a window after a moment, in UTC.

    They have the local time of the first start. A local time that a clock change skips is an hour later.
    """
    if not rrule:
        yield from [starts_at] if starts_at > after else []
        return
    zone, rule = ZoneInfo(time_zone), vRecur.from_ical(rrule)
    local = starts_at.astimezone(zone).replace(tzinfo=None)
    until = _until(rule, zone)
    # dateutil searches up to the last year: near to it, a rule without any time ends soon.
    years = (MAXYEAR - local.year - 1) // _CYCLE_YEARS * _CYCLE_YEARS
    shifted = local.replace(year=local.year + years)
    for found in rrulestr(_text_of(_without_until(rule)), dtstart=shifted):
        at = found.replace(year=found.year - years)
        if at > until:
            return
        start = at.replace(tzinfo=zone).astimezone(UTC)
        if start > after:
            yield start


def _problem_of(rule: vRecur) -> str:
    """Return what is wrong with the parts of a rule; empty when nothing is."""
    return next(_problems_of_parts(rule), "") or next(_problems_of_numbers(rule), "")


def _problems_of_parts(rule: vRecur) -> Iterator[str]:
    for name in sorted(set(rule) - _SINGLE - _LISTS):
        yield f"{name[:40]} cannot be used. {HELP}"
    if [one for one in rule.get("FREQ", ()) if one in _FREQUENCIES] != rule.get("FREQ"):
        yield f"FREQ is one of {', '.join(_FREQUENCIES)}."
    if any(len(rule[name]) != 1 for name in _SINGLE & set(rule)):
        yield "FREQ, INTERVAL, COUNT, UNTIL and WKST have one value."
    if not isinstance(rule.get("UNTIL", [date.min])[0], date):
        yield "UNTIL is a date or a time: 20271231 or 20271231T220000Z."


def _problems_of_numbers(rule: vRecur) -> Iterator[str]:
    for name, most in _LIMITS.items():
        if not 1 <= rule.get(name, [1])[0] <= most:
            yield f"{name} is a number from 1 to {most:,}."
    for name, most in _MOST.items():
        if any(not 1 <= abs(one) <= most for one in rule.get(name, ())):
            yield f"{name} has numbers from 1 to {most}, or from -1 to -{most}."
    most = _most_of_days(rule)
    if any(abs(one.relative or 0) > most for one in rule.get("BYDAY", ())):
        yield f"BYDAY has at most {most} before a day." if most else "BYDAY has days alone: SA,SU."


def _most_of_days(rule: vRecur) -> int:
    """Return how often a day of the week is in the period whose days BYDAY counts; 0: it counts none."""
    if rule["FREQ"] == ["YEARLY"]:
        return 5 if "BYMONTH" in rule else 53
    return 5 if rule["FREQ"] == ["MONTHLY"] else 0


def _until(rule: Any, zone: ZoneInfo) -> datetime:
    """Return the last local time at which a rule may start; a date is meant with its whole day."""
    [until] = rule.get("UNTIL", [date.max])
    if not isinstance(until, datetime):
        return datetime.combine(until, time.max)
    return until.astimezone(zone).replace(tzinfo=None) if until.tzinfo else until


def _without_until(rule: Any) -> vRecur:
    return vRecur({name: value for name, value in rule.items() if name != "UNTIL"})


def _text_of(rule: vRecur) -> str:
    return bytes(rule.to_ical()).decode()  # type: ignore[no-untyped-call]
