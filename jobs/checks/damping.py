"""Flap damping: when an incident opens, and when it is resolved, in time that rounds saw pass. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

# So long the effects of a cause that is over stay with it.
RECOVERY_S = 600.0
_AGREEING = 2


@dataclass(frozen=True, slots=True)
class Wait:
    """How long a cause lasts before its incident opens, and is absent before it is resolved."""

    open_after_s: float
    close_after_s: float


@dataclass(frozen=True, slots=True)
class Damping:
    """What rounds saw so far.

    `pending`: causes without an incident, in how many rounds in a row, and how long they lasted. `absent`:
    for how long an incident has had no cause. `recovering`: for how long only effects were left.
    """

    pending: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    absent: Mapping[str, float] = field(default_factory=dict)
    recovering: Mapping[str, float] = field(default_factory=dict)

    def after(
        self,
        waits: Mapping[str, Wait],
        present: Collection[str],
        over: Collection[str],
        incidents: Collection[str],
        lasted_s: float,
    ) -> tuple[Damping, set[str], set[str]]:
        """Return the next state, the keys whose incidents open, and those that are resolved.

        `present` are causes, `over` those of which only effects are left, `incidents` the open ones;
        `lasted_s` is the time since the round before.
        """
        pending, opened = dict[str, tuple[int, float]](), set[str]()
        for key in (one for one in present if one not in incidents):
            rounds, waited_s = self.pending.get(key, (0, -lasted_s))
            pending[key] = (rounds + 1, waited_s + lasted_s)
            if rounds + 1 >= _AGREEING and waited_s + lasted_s >= waits[key].open_after_s:
                opened.add(key)
                del pending[key]
        absent = {
            key: self.absent.get(key, 0.0) + lasted_s
            for key in incidents
            if key not in present and key not in over
        }
        resolved = {key for key, time_s in absent.items() if time_s >= waits[key].close_after_s}
        recovering = {
            key: self.recovering.get(key, 0.0) + lasted_s
            for key in incidents
            if key not in present and key not in resolved
        }
        kept = {key: time_s for key, time_s in absent.items() if key not in resolved}
        return Damping(pending, kept, recovering), opened, resolved

    def is_recovering(self, key: str) -> bool:
        """Say whether effects of a cause that is over still belong to it."""
        return self.recovering.get(key, 0.0) < RECOVERY_S

    def to_mapping(self) -> dict[str, Any]:
        return {
            "pending": self.pending,
            "absent": self.absent,
            "recovering": self.recovering,
        }

    @classmethod
    def from_mapping(cls, told: Mapping[str, Any]) -> Damping:
        """Return what `to_mapping` made; for an empty mapping the state before the first round."""
        pending = {
            key: (rounds, time_s) for key, (rounds, time_s) in told.get("pending", {}).items()
        }
        return cls(pending, told.get("absent", {}), told.get("recovering", {}))


def plausible_s(passed_s: float | None, every_s: float) -> float:
    """Return the time between two rounds: one interval where the clock was set, or rounds paused.

    None: there was no round before.
    """
    if passed_s is None:
        return 0.0
    return passed_s if 0 <= passed_s <= max(60.0, 3 * every_s) else every_s
