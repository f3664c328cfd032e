"""`manage.py follow`: the offset syncs of all flows into their archives, until Ctrl-C."""

from __future__ import annotations

import threading

from console.frame.processes.commands import UntilStopped
from console.replication.translation.follower import syncs_follower


class Command(UntilStopped):
    """Follows the offset syncs of every flow; `manage.py up` starts it."""

    help = "Follow the offset syncs of all flows into their archives until Ctrl-C."
    program = "follower"

    def go_on(self, stop: threading.Event) -> None:
        syncs_follower().run(stop)
