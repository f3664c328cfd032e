"""Values of figures and tables as people read them, and links to the pages that show them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any
from urllib.parse import urlencode

from jobs import numbers

# Digits of a percentage: from so many nines on they are what people compare.
_DIGITS, _FEW_DIGITS = 4, 2
_NINES_FROM = 0.99


class ValueType(StrEnum):
    """How a value is written. None is always a dash: it is not known."""

    TEXT = "text"
    COUNT = "count"
    # A place in a log, an id or an epoch: without separators.
    OFFSET = "offset"
    # ISO 8601 in UTC, see `stamp`.
    MOMENT = "moment"
    DURATION_MS = "duration_ms"
    BYTES = "bytes"
    RATE = "rate"
    # 0 to 1, a tenth of a percent.
    RATIO = "ratio"
    # 0 to 1, never rounded up: 99.9987 %.
    AVAILABILITY = "availability"
    BOOLEAN = "boolean"


NUMERIC = frozenset(
    {
        ValueType.COUNT,
        ValueType.OFFSET,
        ValueType.DURATION_MS,
        ValueType.BYTES,
        ValueType.RATE,
        ValueType.RATIO,
        ValueType.AVAILABILITY,
    }
)
# What a number of a CSV file is counted in; empty for those without a unit.
UNITS: Mapping[ValueType, str] = {
    ValueType.DURATION_MS: "ms",
    ValueType.BYTES: "bytes",
    ValueType.RATE: "per s",
}


def stamp(at: datetime | None) -> str | None:
    """Return a moment as a document keeps it: ISO 8601 in UTC, to the millisecond; None stays None."""
    if at is None:
        return None
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def text_of(value: Any, type_: ValueType) -> str:
    """Return a value as plain text; moments in UTC, to the second."""
    if value is None:
        return numbers.DASH
    return _TEXTS.get(type_, str)(value)


def _moment(text: str) -> str:
    return f"{datetime.fromisoformat(text).astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _availability(share: float) -> str:
    if share >= 1:
        return f"100{numbers.NO_BREAK}%"
    digits = _DIGITS if share >= _NINES_FROM else _FEW_DIGITS
    # A share of many nines is often a float just below its figure.
    scaled = math.floor(round(share * 100 * 10**digits, 3))
    text = f"{scaled / 10**digits:.{digits}f}"
    whole, _, rest = text.partition(".")
    return f"{whole}.{rest.rstrip('0').ljust(2, '0')}{numbers.NO_BREAK}%"


_TEXTS: Mapping[ValueType, Callable[[Any], str]] = {
    ValueType.COUNT: numbers.format_count,
    ValueType.MOMENT: _moment,
    ValueType.DURATION_MS: numbers.format_span_ms,
    ValueType.BYTES: numbers.format_bytes,
    ValueType.RATE: numbers.format_rate,
    ValueType.RATIO: numbers.format_percent,
    ValueType.AVAILABILITY: _availability,
    ValueType.BOOLEAN: lambda value: "Yes" if value else "No",
}


AROUND = timedelta(minutes=15)


def within(href: str, start: datetime, end: datetime) -> str:
    """Return a page with its time range set; an empty address stays empty."""
    if not href:
        return ""
    path, mark, fragment = href.partition("#")
    joined = "&" if "?" in path else "?"
    times = urlencode({"from": stamp(start), "to": stamp(end)})
    return f"{path}{joined}{times}{mark}{fragment}"


def around(href: str, at: datetime | None) -> str:
    """Return a page with a time range around a moment; without a moment the page as it is."""
    return href if at is None else within(href, at - AROUND, at + AROUND)
