"""What the timeline of an incident says of its changes, and how often."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jobs.severity import Severity

# Two entries about changes are so far apart, unless it became worse.
EVERY_S = 30.0
# A count that changed less is the same news.
_FACTOR = 2
Told = list[Any]


def told_of(severity: str, effects: Sequence[Mapping[str, Any]]) -> Told:
    """Return what the timeline said last: the severity, the effects, and how long ago (s)."""
    return [severity, {one["check"]: one["text"] for one in effects}, 0.0]


def change_of(before: Told, now: Told, lasted_s: float) -> str:
    """Return the sentence about a change, empty while there is none to tell; `before` gets older."""
    before[2] += lasted_s
    severities = [Severity(one[0]) for one in (before, now)]
    is_worse = severities[1].rank > severities[0].rank
    if before[2] < EVERY_S and not is_worse:
        return ""
    parts = []
    if severities[0] is not severities[1]:
        parts.append(f"Severity from {severities[0].word} to {severities[1].word}.")
    if _differ(before[1], now[1]):
        parts.append(f"Effects from {_listed(before[1])} to {_listed(now[1])}.")
    return " ".join(parts)


def _differ(before: Mapping[str, str], now: Mapping[str, str]) -> bool:
    if before.keys() != now.keys():
        return True
    sizes = [(_size(before[check]), _size(now[check])) for check in now]
    return any(max(pair) >= _FACTOR * min(pair) and len(set(pair)) > 1 for pair in sizes)


def _size(text: str) -> int:
    """Return the count that an effect has, 0 without one."""
    digits = "".join(one for one in text.partition(" ")[0] if one.isdecimal())
    return int(digits or 0)


def _listed(effects: Mapping[str, str]) -> str:
    return f"({', '.join(effects.values()) or 'none'})"
