"""Limits on how often one caller may ask: a bucket of requests that fills up again steadily."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from django.conf import settings
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from console.frame.rest.buckets import Buckets
from console.frame.rest.callers import caller_of

BUCKETS = Buckets(file=Path(settings.CROSSLOG_HOME) / "rate-limits")


class RateLimit(BaseThrottle):
    """API_READS_PER_MIN and API_WRITES_PER_MIN for each person and each token; 0 is no limit."""

    def __init__(self) -> None:
        self._wait_s = 0.0

    def allow_request(self, request: Request, view: Any) -> bool:
        """Say whether the caller has a request left."""
        is_read = request.method in SAFE_METHODS
        kind = "reads" if is_read else "writes"
        limit = settings.API_READS_PER_MIN if is_read else settings.API_WRITES_PER_MIN
        self._wait_s = BUCKETS.take(f"{kind} {caller_of(request)}", limit) if limit else 0.0
        return not self._wait_s

    def wait(self) -> float:
        """Return the whole seconds for `Retry-After`."""
        return math.ceil(self._wait_s)
