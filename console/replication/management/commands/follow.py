"""`manage.py follow`: the offset syncs of all flows into their archives, until Ctrl-C."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand

from console.replication.follower import Follower


class Command(BaseCommand):
    """Follows the offset syncs of every flow; `manage.py up` starts it."""

    help = "Follow the offset syncs of all flows into their archives until Ctrl-C."
    requires_system_checks = ()  # `migrate` and `make check` run them

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()

        def end(_number: int, _frame: FrameType | None) -> None:
            stop.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, end)
        Follower().run(stop)
