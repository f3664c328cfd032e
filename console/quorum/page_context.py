"""Context that all pages of a quorum share: its log, tabs, freshness and time range."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from console.frame.errors import or_404
from console.frame.pages.timerange import LONGEST, TimeRange, use_own_range
from console.quorum import queries
from console.quorum.facts import quorum_tabs
from console.quorum.models import MetadataLog


def find_log(alias: str) -> MetadataLog:
    """Return a log by its name; raises Http404."""
    return or_404(queries.get_log(alias))


def clock_of(log: MetadataLog) -> datetime:
    """Return the time up to which a log is shown: that of its end for an imported one, else now."""
    return log.last_at if log.is_imported and log.last_at else timezone.now()


def range_of(request: HttpRequest, log: MetadataLog) -> TimeRange:
    """Return the time range of a page.

    An imported log is shown whole until an absolute range within its data is chosen: the range of the
    console is about now, and the log has ended.
    """
    clock = clock_of(log)
    begin = queries.known_from(log) if log.is_imported else None
    found = TimeRange.from_query(request.GET.dict(), clock)
    if begin is None:
        return found
    if not found.is_live and found.start <= clock and found.end >= begin:
        use_own_range(request)
        return replace(found, has_ended=True)
    end = clock + timedelta(seconds=1)
    return TimeRange(max(begin, clock - LONGEST), end, problem=found.problem, has_ended=True)


def around_log(request: HttpRequest, log: MetadataLog, current: str) -> dict[str, Any]:
    """Return the context of every page of a quorum."""
    return {
        "log": log,
        "tabs": quorum_tabs(log, current),
        "freshness": queries.described_freshness(log),
        "log_freshness": queries.log_freshness(log),
        "time_range": range_of(request, log),
    }
