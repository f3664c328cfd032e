"""When copying will be done: rules over what is left and how fast it becomes less.

E1  Nothing left: 0 s.
E2  What is left is unknown, or nothing was copied lately: unknown. No guess is shown.
E3  Up to fixed ends (`--until-caught-up`): what is left over the offsets copied per second.
E4  Behind a source that keeps growing: its growth is subtracted first. A copier that is not faster
    never arrives: unknown.
E5  Of a whole flow: all that is left over all that is copied, because what one partition no longer
    needs serves the others. Partitions that cannot be copied, or are paused, do not count.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Headway:
    """How one partition gets on: offsets left (None: unknown), copied and grown per second."""

    left: int | None
    copied_per_s: float
    grown_per_s: float = 0.0


def eta_s(headway: Headway) -> float | None:
    """Return the seconds until nothing is left (rules E1 to E4), None when that is unknown."""
    if headway.left == 0:
        return 0.0
    gained_per_s = headway.copied_per_s - headway.grown_per_s
    if headway.left is None or gained_per_s <= 0:
        return None
    return round(headway.left / gained_per_s, 1)


def flow_eta_s(headways: Iterable[Headway]) -> float | None:
    """Return the seconds until no partition has anything left (rule E5), None when that is unknown."""
    waiting = [headway for headway in headways if headway.left != 0]
    if any(headway.left is None for headway in waiting):
        return None
    together = Headway(
        sum(headway.left or 0 for headway in waiting),
        sum(headway.copied_per_s for headway in waiting),
        sum(headway.grown_per_s for headway in waiting),
    )
    return eta_s(together)
