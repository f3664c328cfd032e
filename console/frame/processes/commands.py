"""Commands that run until SIGTERM or Ctrl-C."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from console.frame.processes import gc_freeze, liveness


def stop_at_signals(stop: threading.Event) -> None:
    """Set an event at SIGTERM and Ctrl-C."""

    def end(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)


class UntilStopped(BaseCommand):
    """A command that runs until SIGTERM or Ctrl-C, and then ends in order."""

    requires_system_checks = ()  # `migrate` and `make check` run them
    # Its name among the programs of `manage.py up`; it signs with every turn of its loop.
    program = ""

    def handle(self, *args: Any, **options: Any) -> None:
        """Run with an event that a signal sets."""
        stop = threading.Event()
        stop_at_signals(stop)
        gc_freeze.freeze_gc()
        if self.program:
            liveness.begin(settings.SIGNS_DIR, self.program)
        self.go_on(stop)

    def go_on(self, stop: threading.Event) -> None:
        """Do what the command is for until `stop` is set."""
        raise NotImplementedError
