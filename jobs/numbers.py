"""Numbers as people read them. A dash means unknown; 0 only for a measured zero."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any, Generic, NamedTuple, TypeVar

DASH = "\N{EM DASH}"
NO_BREAK = "\N{NO-BREAK SPACE}"
N = TypeVar("N", int, float)
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def read_whole(text: str, most: int) -> int | None:
    """Return the whole number of a text, not below 0; None for another text and for more than `most`.

    Python refuses to read thousands of digits, which a request may hold.
    """
    is_number = text.isdecimal() and len(text) <= len(str(most))
    return int(text) if is_number and int(text) <= most else None


def format_count(value: float | None) -> str:
    """Return an exact count with thousands separators."""
    return DASH if value is None else f"{value:,.0f}"


def format_span_s(seconds: float | None) -> str:
    """Return a length of time in its two largest units: 0.4 s, 12 s, 4 m 41 s, 3 h 52 m, 2 d 4 h."""
    if seconds is None:
        return DASH
    if seconds < 1:
        return _sub_second(seconds)
    if seconds < 10:  # noqa: PLR2004 - below ten seconds a tenth still tells something
        return f"{_trimmed(seconds)}{NO_BREAK}s"
    return _two_units(round(seconds))


def format_span_ms(ms: float | None) -> str:
    """Return `format_span_s` of milliseconds."""
    return DASH if ms is None else format_span_s(ms / 1000)


def format_bytes(value: float | None) -> str:
    """Return a size in binary units: 512 B, 1.5 MiB."""
    if value is None:
        return DASH
    size = float(value)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(size) < 1024:  # noqa: PLR2004 - the definition of a binary unit
            return _with_unit(size, unit)
        size /= 1024
    return _with_unit(size, "PiB")


def format_rate(per_s: float | None) -> str:
    """Return records per second: 0/s, 0.4/s, 1,240/s."""
    if per_s is None:
        return DASH
    digits = 0 if per_s == 0 or per_s >= 10 else 1  # noqa: PLR2004 - a tenth matters below ten
    return f"{per_s:,.{digits}f}/s"


def format_bytes_rate(per_s: float | None) -> str:
    """Return bytes per second in binary units: 512 B/s, 1.5 MiB/s."""
    return DASH if per_s is None else f"{format_bytes(per_s)}/s"


def format_percent(share: float | None) -> str:
    """Return a share between 0 and 1 as percent, never rounded up to 100."""
    if share is None:
        return DASH
    percent = min(99.9, share * 100) if share < 1 else 100.0
    return f"{_trimmed(percent)}{NO_BREAK}%"


def format_times(factor: float | None) -> str:
    """Return how many times as much: 0x, <0.1x, 2.4x, 1,440x."""
    if factor is None:
        return DASH
    if 0 < factor < 0.05:  # noqa: PLR2004 - would be rounded to 0
        return "<0.1x"
    return f"{f'{factor:,.1f}'.removesuffix('.0')}x"


def format_moment(at: datetime, now: datetime) -> str:
    """Return a moment of the last 24 hours as its time, another one with its date."""
    is_near = abs(now - at) < timedelta(days=1)
    return f"{at:%H:%M:%S} UTC" if is_near else f"{at:%Y-%m-%d %H:%M:%S} UTC"


def format_age(at: datetime | None, now: datetime) -> str:
    """Return how long ago `at` was, or how far ahead: 12 s ago, in 3 m 0 s, just now."""
    if at is None:
        return DASH
    seconds = (now - at).total_seconds()
    if abs(seconds) < 1:
        return "just now"
    span = _two_units(round(abs(seconds)))
    return f"{span} ago" if seconds > 0 else f"in {span}"


class Total(NamedTuple, Generic[N]):
    """`value` is over the rows that have a number, None without any; `unknown` is how many have none."""

    value: N | None
    unknown: int


def sum_of(values: Iterable[N | None]) -> Total[N]:
    """Return the sum of what is known; 0 only where every row is known."""
    return _total(values, sum)


def largest_of(values: Iterable[N | None]) -> Total[N]:
    """Return the largest of what is known; 0 only where every row is known."""
    return _total(values, max)


def _total(values: Iterable[N | None], total: Callable[[list[N]], N]) -> Total[N]:
    rows = list(values)
    known = [one for one in rows if one is not None]
    unknown = len(rows) - len(known)
    return Total(total(known) if any(known) or (known and not unknown) else None, unknown)


def format_least(
    value: float | None, unknown: int | None, form: Callable[[Any], str] = format_count
) -> str:
    """Return a total as text: "at least" where some of its rows have no number, or that it is not known."""
    if not unknown:
        return form(value)
    return "not known" if value is None else f"at least {form(value)}"


def not_known(unknown: int | None, of: int | None, noun: str = "partitions") -> str:
    """Return how many rows of a total have no number; empty for none."""
    return f"{format_count(unknown)} of {format_count(of)} {noun} not known" if unknown else ""


def _sub_second(seconds: float) -> str:
    if seconds <= 0:
        return f"0{NO_BREAK}s"
    return f"{max(1, round(seconds * 1000))}{NO_BREAK}ms"


def _two_units(seconds: int) -> str:
    if seconds < _MINUTE:
        return f"{seconds}{NO_BREAK}s"
    if seconds < _HOUR:
        return _pair(seconds, _MINUTE, "m", 1, "s")
    if seconds < _DAY:
        return _pair(seconds, _HOUR, "h", _MINUTE, "m")
    return _pair(seconds, _DAY, "d", _HOUR, "h")


def _pair(seconds: int, large: int, large_unit: str, small: int, small_unit: str) -> str:
    first, rest = divmod(seconds, large)
    second = rest // small
    head = f"{first}{NO_BREAK}{large_unit}"
    return f"{head}{NO_BREAK}{second}{NO_BREAK}{small_unit}" if second else head


def _with_unit(size: float, unit: str) -> str:
    text = f"{size:.0f}" if unit == "B" or abs(size) >= 100 else _trimmed(size)  # noqa: PLR2004 - three digits are enough
    return f"{text}{NO_BREAK}{unit}"


def _trimmed(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
