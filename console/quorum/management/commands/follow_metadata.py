"""`manage.py follow_metadata`: the metadata logs of all clusters into archive and database, until Ctrl-C."""

from __future__ import annotations

import threading

from console.frame.processes.commands import UntilStopped
from console.quorum.log.follower import metadata_follower


class Command(UntilStopped):
    """Follows the metadata log of every cluster; `manage.py up` starts it."""

    help = "Follow the metadata logs of all clusters into archive and database until Ctrl-C."
    program = "metadata"

    def go_on(self, stop: threading.Event) -> None:
        metadata_follower().run(stop)
