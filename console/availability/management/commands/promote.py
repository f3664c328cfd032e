"""`manage.py promote`: the promotions of all clusters, until Ctrl-C."""

from __future__ import annotations

import threading

from console.availability.acting.promoter import Promoter
from console.frame.processes.commands import UntilStopped


class Command(UntilStopped):
    """Keeps promotions and acts; `manage.py up` starts one, and any number may run."""

    help = "Keep promoted brokers in the ISR and act where it is wanted, until Ctrl-C."
    program = "promoter"

    def go_on(self, stop: threading.Event) -> None:
        Promoter().run(stop)
