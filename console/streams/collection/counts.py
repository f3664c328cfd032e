"""The counts of an application that lists show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jobs.numbers import largest_of, sum_of
from jobs.streams.application import Application, Role
from jobs.streams.lag import input_lags
from jobs.streams.lookup.own_answer import misrouted_share
from jobs.streams.metadata_state import NotKnowable, metadata_state
from jobs.streams.observation import Facts


def counts_of(application: Application, facts: Facts) -> dict[str, Any]:
    """Return the fields of a row; None: absent, or it follows from tasks that are left out."""
    inputs = [one for own in input_lags(application, facts).values() for one in own]
    lag = sum_of(one.records for one in inputs)
    share = worst_misrouted_share(application)
    is_whole = not application.left_out
    return {
        "left_out": " ".join(application.left_out),
        "instances": len(application.processes),
        "threads": len(application.threads),
        "tasks": len(application.placements),
        "tasks_without_thread": sum(
            not any(one.role is Role.ACTIVE for one in own)
            for own in application.placements.values()
        )
        if is_whole
        else None,
        "stores": len(application.stores),
        "lag_records": lag.value,
        "lag_unknown_count": lag.unknown,
        "lag_at_most_ms": _largest(one.at_most_ms for one in inputs) if is_whole else None,
        "event_time_lag_ms": _largest(one.event_time_ms for one in inputs) if is_whole else None,
        "answers_wrong": None if share is None else share > 0,
        "misrouted_share": share,
    }


def worst_misrouted_share(application: Application) -> float | None:
    """Return the largest share of keys, over all stores, that are routed to the wrong instance.

    None where nobody can say what the application answers.
    """
    state = metadata_state(application)
    if isinstance(state, NotKnowable):
        return None
    # Stores of one subtopology that are fed alike are routed alike.
    alike = {
        (one.subtopology, one.source_topics): one
        for one in application.stores.values()
        if not one.is_global
    }
    shares = (misrouted_share(application, one, state) for one in alike.values())
    return max((one for one in shares if one is not None), default=None)


def _largest(values: Iterable[int | None]) -> int | None:
    """Return the largest, None where any is not known: it may be beyond the others."""
    found = largest_of(values)
    return None if found.unknown else found.value
