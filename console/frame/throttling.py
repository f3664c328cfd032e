"""Limits on how often one caller may ask: a bucket of requests that fills up again steadily."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from console.frame.callers import caller_of

_MOST_CALLERS = 10_000


class Buckets:
    """A bucket per caller: it holds a minute's worth of requests, and refills over a minute.

    In the memory of this process, so that a limit costs no query and works without Redis; with
    several web processes each one counts for itself.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._levels: dict[str, tuple[float, float]] = {}

    def take(self, name: str, per_minute: int) -> float:
        """Take one request; return 0, or after how many seconds there will be one."""
        now = self._clock()
        with self._lock:
            level, at = self._levels.pop(name, (float(per_minute), now))
            level = min(float(per_minute), level + (now - at) * per_minute / 60)
            wait_s = 0.0 if level >= 1 else (1 - level) * 60 / per_minute
            # Put back at the end: the first entries are the ones that rested longest.
            self._levels[name] = (level if wait_s else level - 1, now)
            if len(self._levels) > _MOST_CALLERS:
                del self._levels[next(iter(self._levels))]
        return wait_s

    def clear(self) -> None:
        """Forget everybody."""
        with self._lock:
            self._levels.clear()


BUCKETS = Buckets()


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
