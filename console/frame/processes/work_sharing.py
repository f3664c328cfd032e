"""Fair scheduling: a queued task carries no id; the worker takes the row that is longest overdue.

An overloaded queue drops tasks that waited too long. If each task named its cluster, in the order of the
aliases, these would always be the last ones: under overload the last cluster would never be queried.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sized
from typing import Any, Protocol

from django.db.models import F, QuerySet

from console.frame.processes import liveness

# So many workers may take turns at the same thing at once; each continues while a row is due.
TICKETS = 8
# How long a worker continues before the next kind of work has a turn: one period of the scheduler.
SHARE_S = 5.0
# What waited longer in the queue is dropped: newer tickets follow it, and any of them does.
EXPIRES_S = 30.0


class Ticket(Protocol):
    """A Celery task that takes no argument and calls `work_through_due`."""

    def apply_async(self, *, expires: float) -> object:
        """Put it into its queue."""


def longest_waiting(due: QuerySet[Any], since: str) -> list[int]:
    """Return the keys of rows in the order of their turns: those first whose `since` is null, or oldest."""
    return list(due.order_by(F(since).asc(nulls_first=True), "pk").values_list("pk", flat=True))


def enqueue_tickets(ticket: Ticket, due: Sized) -> None:
    """Send one ticket for each row that is due, but not more than workers could use."""
    for _ in range(min(len(due), TICKETS)):
        ticket.apply_async(expires=EXPIRES_S)


def work_through_due(
    due: Callable[[], Iterable[int]],
    take: Callable[[int], bool],
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Take due rows, longest waiting first, until none is left or the share is used up; return how many.

    `due` lists them in that order, `take` returns False when another worker has this one already.
    """
    until, taken = clock() + SHARE_S, 0
    while any(take(each) for each in due()):
        taken += 1
        liveness.sign()
        if clock() >= until:
            break
    return taken
