"""Anomalies of elections, and election storms: the one definition for all. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from jobs.numbers import format_span_ms

# Elections come with restarts; so many in so short a time do not. What does not happen again for so long is
# over.
STORM_ELECTIONS, STORM_MS = 5, 600_000


def in_storm(times_ms: Sequence[int]) -> list[bool]:
    """Say of each election whether it belongs to a storm: `STORM_ELECTIONS` of them within `STORM_MS`."""
    found = [False] * len(times_ms)
    for first in range(len(times_ms) - STORM_ELECTIONS + 1):
        behind = first + STORM_ELECTIONS
        if times_ms[behind - 1] - times_ms[first] <= STORM_MS:
            found[first:behind] = [True] * STORM_ELECTIONS
    return found


def oddities(
    anomalies: Collection[str],
    *,
    skipped_epochs: int = 0,
    silence_ms: int | None = None,
    is_in_storm: bool = False,
) -> list[str]:
    """Return the anomalies of an election, in words.

    `anomalies` are words for what is wrong with its record, `skipped_epochs` the epochs before it that had no
    leader. `silence_ms` is the time without a controller before it, None where it was no longer than usual.
    """
    found = list(anomalies)
    if skipped_epochs:
        found.append(f"{skipped_epochs} epoch{'' if skipped_epochs == 1 else 's'} without a leader")
    if silence_ms is not None:
        found.append(f"no controller for {format_span_ms(silence_ms)}")
    if is_in_storm:
        found.append("election storm")
    return found
