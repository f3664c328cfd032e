"""`manage.py follow_metadata`: the metadata logs of all clusters into archive and database, until Ctrl-C."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand

from console.quorum.follower import MetadataFollower


class Command(BaseCommand):
    """Follows the metadata log of every cluster; `manage.py up` starts it."""

    help = "Follow the metadata logs of all clusters into archive and database until Ctrl-C."
    requires_system_checks = ()  # `migrate` and `make check` run them

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()

        def end(_number: int, _frame: FrameType | None) -> None:
            stop.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, end)
        MetadataFollower().run(stop)
