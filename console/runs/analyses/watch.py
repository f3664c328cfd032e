"""Watch analyses of this host closely, so that an answer is seen a moment after it was written."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from console.runs.analyses.queue import start_queued
from console.runs.collect import observe_all, running_here
from console.runs.launcher import SPARK, Launcher

LOOK_S = 0.2
# After that the rounds of `observe_runs` are often enough.
WATCH_S = 60.0
# One watch per process looks after all analyses of the host: others only start what waits.
_WATCHES = threading.Lock()


@dataclass(frozen=True, slots=True)
class Clock:
    """The time, and waiting."""

    now: Callable[[], datetime] = timezone.now
    monotonic: Callable[[], float] = time.monotonic
    wait: Callable[[float], None] = time.sleep


def watch_analyses(launcher: Launcher = SPARK, clock: Clock | None = None) -> None:
    """Start what waits and watch until nothing runs here any more, at most for `WATCH_S`."""
    clock = clock or Clock()
    start_queued(clock.now(), launcher)
    if not _WATCHES.acquire(blocking=False):
        return
    try:
        until = clock.monotonic() + WATCH_S
        while look_once(clock.now(), launcher) and clock.monotonic() < until:
            clock.wait(LOOK_S)
    finally:
        _WATCHES.release()


def look_once(now: datetime, launcher: Launcher = SPARK) -> bool:
    """Bring analyses of this host up to date and start the next; False when none runs here."""
    seen = observe_all(running_here().exclude(question_key=""), now, launcher)
    return bool(start_queued(now, launcher) or seen)
