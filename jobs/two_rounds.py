"""Confirmation by two rounds: one alone may have seen a state in between. Pure.

For all rooms that ask in rounds: the caller keeps `Sightings` between two of them. A key is a code and a
subject.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Sighting:
    """Since when rounds in a row saw it (ms since 1970), and how many did."""

    first_ms: int
    rounds: int = 1


@dataclass(frozen=True, slots=True)
class Sightings:
    """What the last round saw, which was at `round_ms` on the same clock; None: there was no round."""

    seen: Mapping[Key, Sighting] = field(default_factory=dict)
    round_ms: int | None = None

    def after(self, keys: Collection[Key], now_ms: int, within_ms: int) -> Sightings:
        """Return the sightings after the next round; rounds further apart than `within_ms` do not agree."""
        is_near = self.round_ms is not None and 0 <= now_ms - self.round_ms <= within_ms
        known = self.seen if is_near else {}
        found = {
            key: replace(known[key], rounds=known[key].rounds + 1)
            if key in known
            else Sighting(now_ms)
            for key in keys
        }
        return Sightings(found, now_ms)

    def is_agreed(self, key: Key) -> bool:
        """Whether at least two rounds in a row saw it."""
        return key in self.seen and self.seen[key].rounds > 1

    def without(self, codes: Collection[str]) -> Sightings:
        """Return the sightings without those of some codes."""
        return replace(self, seen={k: one for k, one in self.seen.items() if k[0] not in codes})

    def to_mapping(self) -> dict[str, Any]:
        seen = [[*key, one.first_ms, one.rounds] for key, one in self.seen.items()]
        return {"round_ms": self.round_ms, "seen": seen}

    @classmethod
    def from_mapping(cls, told: Mapping[str, Any]) -> Sightings:
        """Return what `to_mapping` made; no sighting for an empty mapping."""
        seen = {(code, subject): Sighting(at, n) for code, subject, at, n in told.get("seen", ())}
        return cls(seen, told.get("round_ms"))
