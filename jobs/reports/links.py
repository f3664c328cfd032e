"""Links from figures to the pages that show them, at that moment."""

from __future__ import annotations

from datetime import datetime, timedelta
from urllib.parse import urlencode

from jobs.reports.values import stamp

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
