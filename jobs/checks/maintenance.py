"""Maintenance windows: once, or again at each time of an RRULE (RFC 5545). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import islice
from zoneinfo import ZoneInfo

from dateutil.rrule import rrulestr  # type: ignore[import-untyped] # it has no types

# Of every day or longer, and no rule that may never fit: the library would look until the year 9999.
_ALWAYS = {"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", "BYMONTH", "BYHOUR"}
_OF_MONTHS = _ALWAYS | {"BYMONTHDAY", "BYSETPOS"}
_PARTS = {"DAILY": _ALWAYS, "WEEKLY": _ALWAYS, "MONTHLY": _OF_MONTHS, "YEARLY": _OF_MONTHS}
_AHEAD = timedelta(days=400)
_MOST_STARTS = 50_000
_LONGEST_COUNT = 9


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
    return [one for one in windows if _is_active(one, now)]


def _is_active(one: Window, now: datetime) -> bool:
    try:
        last, _ = starts_of(one.rrule, one.starts_at, one.time_zone, now)
    except ValueError:
        return False
    return last is not None and now < last + timedelta(seconds=one.duration_s)


def starts_of(
    rrule: str, starts_at: datetime, time_zone: str, around: datetime
) -> tuple[datetime | None, datetime | None]:
    """Return the last start until a time, and the next one after it (within 400 days).

    Without a rule it starts once. Raises `ValueError` with a sentence for a rule that is not usable.
    """
    day = around.astimezone(UTC).date()
    starts = _starts(rrule, starts_at, time_zone, day) if rrule else (starts_at,)
    last = max((one for one in starts if one <= around), default=None)
    return last, min((one for one in starts if one > around), default=None)


@lru_cache(maxsize=1024)
def _starts(rrule: str, starts_at: datetime, time_zone: str, day: date) -> tuple[datetime, ...]:
    """Return the last start before a day (UTC), those of the day, and the next one."""
    begin = datetime(day.year, day.month, day.day, tzinfo=UTC)
    found: list[datetime] = []
    try:
        for one in _times(rrule, starts_at, time_zone, begin + _AHEAD):
            if one < begin:
                found = []
            found.append(one)
            if one >= begin + timedelta(days=1):
                break
    except (ValueError, KeyError, TypeError, IndexError, OverflowError) as problem:
        raise ValueError(f"The rule is not usable: {problem}.") from problem
    return tuple(found)


def _times(rrule: str, starts_at: datetime, time_zone: str, until: datetime) -> Iterator[datetime]:
    """Yield the times of a rule up to one. The library would look for one that never comes until 9999."""
    parts = _parts(rrule)
    count, last = parts.pop("COUNT", None), parts.pop("UNTIL", None)
    if last is not None:
        until = min(until, _until(last, time_zone))
    parts["UNTIL"] = f"{until.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    text = ";".join(f"{name}={value}" for name, value in parts.items())
    times = rrulestr(text, dtstart=starts_at.astimezone(ZoneInfo(time_zone)))
    for number, one in enumerate(islice(times, None if count is None else int(count))):
        if number > _MOST_STARTS:
            raise ValueError("it has too many starts since the first one")
        yield one.astimezone(UTC)


def _parts(rrule: str) -> dict[str, str]:
    """Return the parts of a rule; raises `ValueError` for one that could take long or that is not known."""
    text = rrule.strip().upper().removeprefix("RRULE:")
    pairs = [part.split("=", 1) for part in text.split(";") if part]
    if any(len(pair) != 2 for pair in pairs) or "\n" in text:  # noqa: PLR2004 - a name and a value
        raise ValueError("write it as NAME=VALUE;NAME=VALUE, such as FREQ=WEEKLY;BYDAY=SU")
    parts = dict(pairs)
    allowed = _PARTS.get(frequency := parts.get("FREQ", ""))
    if allowed is None:
        raise ValueError(f"FREQ must be one of {', '.join(_PARTS)}")
    if len(parts) < len(pairs) or parts.keys() - allowed:
        raise ValueError(f"{frequency} may have each of these once: {', '.join(sorted(allowed))}")
    for name in ("INTERVAL", "COUNT"):
        value = parts.get(name, "1")
        if not (value.isdecimal() and len(value) <= _LONGEST_COUNT and int(value) > 0):
            raise ValueError(f"{name} must be a whole number above 0")
    if frequency == "DAILY" and parts.get("INTERVAL", "1") != "1" and "BYDAY" in parts:
        raise ValueError("DAILY has INTERVAL or BYDAY, not both")
    return parts


def _until(text: str, time_zone: str) -> datetime:
    """Return the end that a rule has: UTC, or a time or a whole day of its time zone."""
    for form, zone in (("%Y%m%dT%H%M%SZ", UTC), ("%Y%m%dT%H%M%S", ZoneInfo(time_zone))):
        try:
            return datetime.strptime(text, form).replace(tzinfo=zone)
        except ValueError:
            continue
    try:
        day = datetime.strptime(text, "%Y%m%d").replace(tzinfo=ZoneInfo(time_zone))
    except ValueError as problem:
        raise ValueError("UNTIL must be a day (20261231) or a time") from problem
    return day + timedelta(days=1, seconds=-1)
