"""`manage.py promote`: the promotions of all clusters, until Ctrl-C."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand

from console.availability.promoter import Promoter


class Command(BaseCommand):
    """Keeps promotions and acts; `manage.py up` starts one, and any number may run."""

    help = "Keep promoted brokers in the ISR and act where it is wanted, until Ctrl-C."
    requires_system_checks = ()  # `migrate` and `make check` run them

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()

        def end(_number: int, _frame: FrameType | None) -> None:
            stop.set()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, end)
        Promoter().run(stop)
