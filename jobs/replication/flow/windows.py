"""Weekly catch-up windows, such as `Mon-Fri 22:00-06:00 Europe/Berlin`.

Days are optional (every day) and so is the zone (UTC). The times are what a clock on a wall there shows: the
begin belongs to the window, the end does not, and an end at or before the begin is on the next day. A
window belongs to the day on which it begins. Where clocks are put forward, a time that no clock shows
opens nothing; where they are put back, a time is shown twice and counts twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
DAY_MIN = 24 * 60
# A week later everything is as it was, but for a change of the clocks on the way.
LOOK_AHEAD = timedelta(days=8)
_MINUTE = timedelta(minutes=1)
_WINDOW = re.compile(
    r"(?:(?P<days>[A-Za-z][A-Za-z,-]*) +)?"
    r"(?P<begin>\d\d:\d\d)-(?P<end>\d\d:\d\d)"
    r"(?: +(?P<zone>[A-Za-z][A-Za-z0-9_+/-]*))?"
)


@dataclass(frozen=True, slots=True)
class Window:
    """One window; `begin_min` and `end_min` are minutes of the day, days are 0 (Monday) to 6."""

    text: str
    days: frozenset[int]
    begin_min: int
    end_min: int
    zone: ZoneInfo

    def is_open(self, now: datetime) -> bool:
        """Return whether `now` (aware) is inside."""
        there = now.astimezone(self.zone)
        minute, today = there.hour * 60 + there.minute, there.weekday()
        if self.begin_min < self.end_min:
            return today in self.days and self.begin_min <= minute < self.end_min
        yesterday = (today - 1) % len(DAYS)
        return (today in self.days and minute >= self.begin_min) or (
            yesterday in self.days and minute < self.end_min
        )


def parse_window(text: str) -> Window:
    """Read one window; raises ValueError with a sentence for a person."""
    found = _WINDOW.fullmatch(text.strip())
    if found is None:
        raise ValueError(
            f"{text!r} is not a window: it looks like 'Mon-Fri 22:00-06:00 Europe/Berlin'."
        )
    begin, end = _minutes(found["begin"], text), _minutes(found["end"], text)
    if begin in {end, DAY_MIN}:
        raise ValueError(f"{text!r} begins when it ends: a whole day is 00:00-24:00.")
    return Window(text, _days(found["days"], text), begin, end, _zone(found["zone"] or "UTC", text))


def is_open(windows: Sequence[Window], now: datetime) -> bool:
    """Return whether `now` (aware) is in one of the windows; without any window it always is."""
    return not windows or any(window.is_open(now) for window in windows)


def next_change(windows: Sequence[Window], now: datetime) -> datetime | None:
    """Return when `is_open` says something else for the first time after `now`, in UTC.

    None when that is not within eight days, for example because the windows cover the whole week.
    """
    before = is_open(windows, now)
    minute = now.astimezone(UTC).replace(second=0, microsecond=0)
    end = minute + LOOK_AHEAD
    # Offsets of zones are whole minutes, so nothing changes within one.
    while windows and minute < end:
        minute += _MINUTE
        if is_open(windows, minute) != before:
            return minute
    return None


def _minutes(text: str, window: str) -> int:
    hours, minutes = (int(part) for part in text.split(":"))
    total = hours * 60 + minutes
    if minutes > 59 or total > DAY_MIN:  # noqa: PLR2004  a clock's
        raise ValueError(f"{window!r}: {text} is not a time from 00:00 to 24:00.")
    return total


def _days(text: str | None, window: str) -> frozenset[int]:
    if text is None:
        return frozenset(range(len(DAYS)))
    days: set[int] = set()
    for piece in text.split(","):
        first, _, last = piece.partition("-")
        begin, end = _day(first, window), _day(last or first, window)
        days |= {day % len(DAYS) for day in range(begin, begin + (end - begin) % len(DAYS) + 1)}
    return frozenset(days)


def _day(text: str, window: str) -> int:
    if text.title() not in DAYS:
        raise ValueError(f"{window!r}: {text!r} is not a day; days are {', '.join(DAYS)}.")
    return DAYS.index(text.title())


def _zone(name: str, window: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"{window!r}: {name!r} is not a time zone that this machine knows."
        ) from None
