"""What the pages of a quorum share: finding its log, and what stands around every one of them."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest
from django.utils import timezone

from console.frame.pages.timerange import TimeRange
from console.quorum import queries
from console.quorum.facts import quorum_tabs
from console.quorum.models import MetadataLog


def find_log(alias: str) -> MetadataLog:
    """Return a log by its name; raises Http404."""
    log = queries.get_log(alias)
    if log is None:
        raise Http404
    return log


def around_log(request: HttpRequest, log: MetadataLog, current: str) -> dict[str, Any]:
    """Return what every page of a quorum shows."""
    return {
        "log": log,
        "tabs": quorum_tabs(log, current),
        "freshness": queries.described_freshness(log),
        "log_freshness": queries.log_freshness(log),
        "time_range": TimeRange.from_query(request.GET.dict(), timezone.now()),
    }
