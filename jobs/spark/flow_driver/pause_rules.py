"""Paused partitions and the reasons: an operator, or a closed catch-up window.

H1  A partition that is named, or whose topic is, is held back.
H2  Outside of the windows, a partition in bulk copying is held back. Without windows nothing is.
H3  A partition is in bulk copying while it has never been seen less than `bulk_lag` records behind.
    From then on it belongs to the daily work: a burst does not stop it until the evening.
H4  Unknown lag holds nothing back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.flow.windows import is_open, next_change
from jobs.spark.control import Control, is_named

PAUSED_BY_USER = "Paused by an operator."


class PauseRules:
    """Applies the rules; remembers which partitions have been near the end of their log (H3)."""

    def __init__(self) -> None:
        self._daily: set[TopicPartition] = set()
        self._opens: tuple[Control, datetime | None] | None = None

    def reasons(
        self,
        partitions: Iterable[TopicPartition],
        lags: Mapping[TopicPartition, int],
        control: Control,
        now: datetime,
    ) -> dict[TopicPartition, str]:
        """Return the partitions that are held back, each with the reason; `now` is aware."""
        self._daily |= {where for where, lag in lags.items() if lag <= control.bulk_lag}
        waits = not is_open(control.windows, now)
        held: dict[TopicPartition, str] = {}
        for where in partitions:
            if is_named(where, control.paused):
                held[where] = PAUSED_BY_USER
            elif waits and where in lags and where not in self._daily:
                held[where] = self._why_closed(control, now)
        return held

    def _why_closed(self, control: Control, now: datetime) -> str:
        known = self._opens
        if known is None or known[0] is not control or known[1] is None or known[1] <= now:
            known = self._opens = (control, next_change(control.windows, now))
        windows = ", ".join(window.text for window in control.windows)
        opens = f"; it opens {known[1]:%a %d %b %H:%M} UTC" if known[1] else ""
        return f"Waiting for the catch-up window ({windows}){opens}."
