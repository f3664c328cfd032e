"""The time range of a page: in the URL, shared by all its charts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

from django.http import HttpRequest

from jobs.numbers import format_span_s

RANGES = {
    "5m": timedelta(minutes=5),
    "15m": timedelta(minutes=15),
    "1h": timedelta(hours=1),
    "6h": timedelta(hours=6),
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}
DEFAULT_RANGE = "1h"
PARAMETERS = ("range", "from", "to")
LONGEST = timedelta(days=366)
_FIRST_YEAR, _LAST_YEAR = 1970, 9998
_AGO = re.compile(r"now(?:-(\d{1,6})([smhdw]))?")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
# Eight digits are a day of ISO 8601.
_EPOCH_S, _EPOCH_MS = re.compile(r"\d{9,10}"), re.compile(r"\d{12,14}")
_NICE_STEPS_S = (
    1,
    2,
    5,
    10,
    15,
    30,
    60,
    120,
    300,
    600,
    900,
    1800,
    3600,
    7200,
    14400,
    21600,
    43200,
    86400,
)


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A stretch of time, aware UTC, `start` before `end`.

    `name` is the relative range ("1h"), empty for an absolute one. `problem` says what was wrong with
    the question; the range is the default one then.
    """

    start: datetime
    end: datetime
    name: str = ""
    problem: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str], now: datetime) -> TimeRange:
        """Read `range=5m..30d`, or `from` and `to`.

        Those are ISO 8601 (UTC unless they say otherwise), `now`, `now-6h`, or seconds or milliseconds
        since 1970, as other consoles write them.
        """
        try:
            return _read(query, now)
        except ValueError as problem:
            fallback = _relative(DEFAULT_RANGE, now)
            return cls(fallback.start, fallback.end, fallback.name, str(problem))

    @property
    def is_live(self) -> bool:
        """Say whether the range ends now and so moves with the clock."""
        return bool(self.name)

    @property
    def span_s(self) -> float:
        """Return the length in seconds."""
        return (self.end - self.start).total_seconds()

    @property
    def label(self) -> str:
        """Return the range for people: `last 1 h` or `21 Nov 01:00 to 07:00 UTC`."""
        if self.name:
            return f"last {format_span_s(RANGES[self.name].total_seconds())}"
        same_day = self.start.date() == self.end.date()
        return (
            f"{self.start:%d %b %H:%M} to {self.end:{'%H:%M' if same_day else '%d %b %H:%M'}} UTC"
        )

    def step_s(self, points: int) -> int:
        """Return the width in whole seconds of one of at most `points` buckets, a number that people like."""
        least = self.span_s / max(1, points)
        fitting = [step for step in _NICE_STEPS_S if step >= least]
        return fitting[0] if fitting else math.ceil(least / 86400) * 86400


def in_range(request: HttpRequest, address: str) -> str:
    """Return the address with the time range of this request, and nothing else of it.

    Only where both are about the same flow, cluster or log: the first two parts of the path say which.
    """
    kept = {name: request.GET[name] for name in PARAMETERS if request.GET.get(name)}
    if not kept or _subject(address) != _subject(request.path):
        return address
    path, mark, fragment = address.partition("#")
    return f"{path}{'&' if '?' in path else '?'}{urlencode(kept)}{mark}{fragment}"


def _subject(address: str) -> list[str]:
    return address.partition("?")[0].split("/")[1:3]


def _read(query: Mapping[str, str], now: datetime) -> TimeRange:
    since, until = query.get("from", ""), query.get("to", "")
    if since or until:
        return _absolute(since, until, now)
    name = query.get("range", "") or DEFAULT_RANGE
    if name not in RANGES:
        raise ValueError(
            f"{name!r} is not a range: use one of {', '.join(RANGES)}, or from and to."
        )
    return _relative(name, now)


def _relative(name: str, now: datetime) -> TimeRange:
    return TimeRange(now - RANGES[name], now, name)


def _absolute(since: str, until: str, now: datetime) -> TimeRange:
    if until in {"", "now"} and since.removeprefix("now-") in RANGES and since.startswith("now-"):
        return _relative(since.removeprefix("now-"), now)
    end = _moment(until, "to", now) if until else now
    start = _moment(since, "from", now) if since else end - RANGES[DEFAULT_RANGE]
    if start >= end:
        raise ValueError("The range ends before it starts: exchange from and to.")
    if end - start > LONGEST:
        raise ValueError(f"The range is longer than {LONGEST.days} days.")
    return TimeRange(start, end)


def _moment(text: str, field: str, now: datetime) -> datetime:
    wrong = ValueError(
        f"{field}={text!r} is not a time: write it as 2026-11-21T03:04:00Z, as now-6h, or in "
        "milliseconds since 1970."
    )
    try:
        at = _read_moment(text.strip(), now)
        at = (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise wrong from None
    # Kafka's times begin in 1970; at both ends of the calendar nothing can be added or taken away.
    if not _FIRST_YEAR <= at.year <= _LAST_YEAR:
        raise wrong
    return at


def _read_moment(text: str, now: datetime) -> datetime:
    if found := _AGO.fullmatch(text):
        count, unit = found.groups()
        return now - timedelta(**{_UNITS[unit]: int(count)}) if unit else now
    if _EPOCH_S.fullmatch(text) or _EPOCH_MS.fullmatch(text):
        unit_ms = 1000 if _EPOCH_S.fullmatch(text) else 1
        return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=int(text) * unit_ms)
    # In a URL that was not encoded, the plus of +02:00 arrives as a blank.
    return datetime.fromisoformat(
        text.replace(" ", "T", 1) if "T" not in text else text.replace(" ", "+")
    )
