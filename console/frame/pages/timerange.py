"""The time range of a page: in the URL, shared by all its charts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlencode

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
RANGE_FORM = "a length such as 90m, 6h or 7d"
MOMENT_FORMS = (
    "2026-11-21T03:04:00Z (UTC unless it says so), now-6h, or seconds or milliseconds since 1970"
)
# Beside a finding or an event: this much before its begin, and after it while it has no end.
AROUND = timedelta(minutes=5)
# Sections whose addresses carry the range; a run, the account, the audit log and the API do not.
_SECTIONS = {
    "", "incidents", "findings", "checks", "events", "clusters", "replication", "quorum", "availability",
    "streams", "reports", "schedules", "frame", "overview", "notifications", "deliveries", "objectives",
}  # fmt: skip
_FIRST_YEAR, _LAST_YEAR = 1970, 9998
_LENGTH = re.compile(r"(\d{1,8})([smhdw])")
_AGO = re.compile(r"now(?:-(\d{1,8})([smhdw]))?")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_UNIT_S = {"d": 86_400, "h": 3600, "m": 60, "s": 1}
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
    """An interval of time, aware UTC, `start` before `end`.

    `name` is the length of a range that ends now ("1h", "90m"), empty for any other. `problem` says why
    the requested range was refused; the range is the default one then. `has_ended`: of data that have
    ended, such as an imported log; ranges up to now make no sense of them.
    """

    start: datetime
    end: datetime
    name: str = ""
    problem: str = ""
    is_live: bool = False
    has_ended: bool = False

    @classmethod
    def from_query(cls, query: Mapping[str, str], now: datetime) -> TimeRange:
        """Read `range=6h` (any length), or `from` and `to`: for pages and for the API.

        Those are ISO 8601 (UTC unless they say otherwise), `now`, `now-6h`, or seconds or milliseconds
        since 1970, as other consoles write them. A relative range is live: it moves with the clock.
        """
        try:
            return _read(query, now)
        except ValueError as problem:
            fallback = _relative(DEFAULT_RANGE, now)
            return replace(fallback, problem=str(problem))

    @property
    def span_s(self) -> float:
        """Return the length in seconds."""
        return (self.end - self.start).total_seconds()

    @property
    def label(self) -> str:
        """Return the range for people: `last 1 h` or `21 Nov 01:00 to 07:00 UTC`."""
        if self.name:
            return f"last {format_span_s(self.span_s)}"
        same_day = self.start.date() == self.end.date()
        return (
            f"{self.start:%d %b %H:%M} to {self.end:{'%H:%M' if same_day else '%d %b %H:%M'}} UTC"
        )

    @property
    def is_quick(self) -> bool:
        """Return whether this is one of the quick choices of the picker."""
        return self.name in RANGES

    def zoomed_out(self, now: datetime) -> dict[str, str]:
        """Return the parameters of a range twice as long: around the same middle, not into the future."""
        longer = min(2 * (self.end - self.start), LONGEST)
        if self.name:
            return {"range": _written(longer)}
        end = min(self.end + (self.end - self.start) / 2, max(self.end, now))
        return _parameters(end - longer, end)

    def step_s(self, points: int) -> int:
        """Return the width in whole seconds of one of at most `points` buckets, a number that people like."""
        least = self.span_s / max(1, points)
        fitting = [step for step in _NICE_STEPS_S if step >= least]
        return fitting[0] if fitting else math.ceil(least / 86400) * 86400


def in_range(request: HttpRequest, address: str) -> str:
    """Return an address of the console with the time range of this request, and nothing else of it.

    An address that has a range keeps it. The range of an imported log is for the pages of that log only.
    """
    kept = {name: request.GET[name] for name in PARAMETERS if request.GET.get(name)}
    if not kept or _has_range(address) or not _is_in(request, address):
        return address
    # A range that was refused is not carried on; nor are parameters of another meaning.
    if TimeRange.from_query(kept, datetime.now(UTC)).problem:
        return address
    path, mark, fragment = address.partition("#")
    return f"{_with(path, kept)}{mark}{fragment}"


def use_own_range(request: HttpRequest) -> None:
    """Keep the time range of this request to the pages of its subject: an imported log has its own."""
    request.has_own_range = True  # type: ignore[attr-defined]  # read by `in_range`


def range_around(address: str, begin: datetime, end: datetime | None = None) -> str:
    """Return the page that shows the time around a finding or an event; empty where no page does.

    From 5 minutes before it to its end, or to 5 minutes after its begin.
    """
    until = end if end is not None and end > begin else begin + AROUND
    page = _page_with_range(_parts(address))
    return _with(page, _parameters(begin - AROUND, until)) if page else ""


def stamp(at: datetime) -> str:
    """Return a moment as the address of a page has it."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _page_with_range(parts: list[str]) -> str:
    """Return the page itself where it shows a range, else the first page of its subject that does."""
    match parts:
        case ["replication", flow, "checkpoints", *_]:
            found = f"/replication/{flow}/checkpoints/"
        case ["replication", flow, *_] if flow.isdecimal():
            found = f"/replication/{flow}/"
        case ["quorum", log, ("partitions" | "brokers" | "settings" | "log") as page, *_]:
            found = f"/quorum/{log}/{page}/"
        case ["quorum", log, *_] if log not in {"", "-"}:
            found = f"/quorum/{log}/voters/"
        case ["availability", cluster, "partitions", topic, partition, *_] if partition:
            found = f"/availability/{cluster}/partitions/{topic}/{partition}/"
        case ["availability", cluster, *_] if cluster:
            found = f"/availability/{cluster}/"
        case _:
            found = ""
    return found


def _parts(address: str) -> list[str]:
    return address.partition("#")[0].partition("?")[0].split("/")[1:]


def _is_in(request: HttpRequest, address: str) -> bool:
    parts = _parts(address)
    if not address.startswith("/") or not (parts[0] in _SECTIONS or parts == ["runs", ""]):
        return False
    return not getattr(request, "has_own_range", False) or parts[:2] == _parts(request.path)[:2]


def _has_range(address: str) -> bool:
    query = parse_qs(address.partition("#")[0].partition("?")[2])
    return any(name in query for name in PARAMETERS)


def _with(address: str, parameters: Mapping[str, str]) -> str:
    return f"{address}{'&' if '?' in address else '?'}{urlencode(parameters)}"


def _parameters(start: datetime, end: datetime) -> dict[str, str]:
    return {"from": stamp(start), "to": stamp(end)}


def _read(query: Mapping[str, str], now: datetime) -> TimeRange:
    since, until = query.get("from", ""), query.get("to", "")
    if since or until:
        return _absolute(since, until, now)
    return _relative(query.get("range", "") or DEFAULT_RANGE, now)


def _relative(name: str, now: datetime) -> TimeRange:
    found = _LENGTH.fullmatch(name)
    length = _length(*found.groups()) if found else timedelta()
    if not timedelta() < length:
        raise ValueError(
            f"range={name!r} is not a time range. Accepted: {RANGE_FORM}; or from and to, each as "
            f"{MOMENT_FORMS}."
        )
    _refuse_too_long(length)
    return TimeRange(now - length, now, _written(length), is_live=True)


def _written(length: timedelta) -> str:
    """Return a length as the picker writes it, else in the largest unit that it is a multiple of."""
    for name, known in RANGES.items():
        if known == length:
            return name
    seconds = int(length.total_seconds())
    size, unit = next((size, unit) for unit, size in _UNIT_S.items() if seconds % size == 0)
    return f"{seconds // size}{unit}"


def _length(count: str, unit: str) -> timedelta:
    return timedelta(**{_UNITS[unit]: int(count)})


def _absolute(since: str, until: str, now: datetime) -> TimeRange:
    if until.strip() in {"", "now"} and since.strip().startswith("now-"):
        length = _LENGTH.fullmatch(since.strip().removeprefix("now-"))
        if length and int(length[1]):
            return _relative(length[0], now)
    end = _moment(until, "to", now) if until else now
    start = _moment(since, "from", now) if since else end - RANGES[DEFAULT_RANGE]
    if start >= end:
        raise ValueError("The range ends before it starts: exchange from and to.")
    _refuse_too_long(end - start)
    is_live = all(_AGO.fullmatch(text.strip()) for text in (since, until or "now"))
    return TimeRange(start, end, is_live=is_live)


def _refuse_too_long(length: timedelta) -> None:
    if length > LONGEST:
        raise ValueError(f"The range is longer than {LONGEST.days} days.")


def _moment(text: str, field: str, now: datetime) -> datetime:
    wrong = ValueError(f"{field}={text!r} is not a time. Accepted: {MOMENT_FORMS}.")
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
        return now - _length(count, unit) if unit else now
    if _EPOCH_S.fullmatch(text) or _EPOCH_MS.fullmatch(text):
        unit_ms = 1000 if _EPOCH_S.fullmatch(text) else 1
        return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=int(text) * unit_ms)
    # In a URL that was not encoded, the plus of +02:00 arrives as a blank.
    return datetime.fromisoformat(
        text.replace(" ", "T", 1) if "T" not in text else text.replace(" ", "+")
    )
