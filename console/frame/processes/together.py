"""Parts of one program: a thread each, which signs for itself. All of them end when one of them does."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial

from celery import current_app
from celery.beat import Service
from django.conf import settings
from django.core.management import get_commands, load_command_class

from console.frame.processes import liveness
from console.frame.processes.commands import UntilStopped, stop_at_signals

logger = logging.getLogger(__name__)

STOP_WITHIN_S = 12.0
Run = Callable[[threading.Event], None]


def run_together(parts: Mapping[str, Run]) -> int:
    """Run parts until a signal tells this process to end; returns 1 when one of them ended before."""
    stop, ended = threading.Event(), threading.Event()
    threads = [
        threading.Thread(target=partial(_run, name, part, stop, ended), name=name, daemon=True)
        for name, part in parts.items()
    ]
    stop_at_signals(stop)
    for thread in threads:
        thread.start()
    ended.wait()
    is_broken = not stop.is_set()
    stop.set()
    until = time.monotonic() + STOP_WITHIN_S
    for thread in threads:
        thread.join(max(until - time.monotonic(), 0.0))
    return int(is_broken)


def _run(name: str, part: Run, stop: threading.Event, ended: threading.Event) -> None:
    liveness.begin_part(settings.SIGNS_DIR, name)
    try:
        part(stop)
    except Exception:  # a thread ends here and must say so
        logger.exception("%s broke", name)
    else:
        if not stop.is_set():
            logger.error("%s has ended by itself", name)
    finally:
        ended.set()


def clock(stop: threading.Event) -> None:
    """Hand out tasks as Celery's beat does."""
    service = Service(current_app)

    def end() -> None:
        stop.wait()
        service.stop()

    threading.Thread(target=end, name="end of the clock", daemon=True).start()
    service.start()


def command(name: str) -> tuple[str, Run]:
    """Return a command that runs until it is stopped, as a part, with its name among the programs."""
    found = load_command_class(get_commands()[name], name)
    if not isinstance(found, UntilStopped):
        raise TypeError(f"manage.py {name} does not run until it is stopped")
    return found.program, found.go_on
