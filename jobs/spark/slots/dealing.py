"""Which slot copies for which task of a flow, and which flow is set apart: pure rules.

A copy is one task of one flow in a slot. Shares of a core are 0 to 1 and more; times are monotonic seconds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

Copy = tuple[str, int]
"""The flow's name and the number of its task."""

# A flow fills a slot above `FULL_SHARE` for `FULL_S`, and has room for others again below `CALM_SHARE`.
FULL_SHARE, FULL_S = 0.6, 20.0
CALM_SHARE, CALM_S = 0.3, 120.0
# What a copy that does nothing counts: they are spread too.
IDLE_SHARE = 0.005
# Copies move between shared slots only where that takes so much from the busier one, one at a time.
UNEVEN_SHARE, EVEN_EVERY_S = 0.25, 30.0
SUSPECT_WITHIN_S = 600.0


def choose_slot(
    copy: Copy, slots: Collection[int], placed: Mapping[Copy, int], shares: Mapping[Copy, float]
) -> int | None:
    """Return the slot that has least to do, rather one without another task of the flow; None: no slot."""
    loads = _loads(slots, placed, shares)
    siblings = {slot for (flow, _), slot in placed.items() if flow == copy[0]}
    return min(slots, key=lambda slot: (slot in siblings, loads[slot], slot), default=None)


def even_out(
    slots: Collection[int], placed: Mapping[Copy, int], shares: Mapping[Copy, float]
) -> tuple[Copy, int] | None:
    """Return the copy to move from the busiest of shared slots, and the idlest one; None: leave all there."""
    if not slots:
        return None
    loads = _loads(slots, placed, shares)
    busiest = max(slots, key=lambda slot: (loads[slot], -slot))
    idlest = min(slots, key=lambda slot: (loads[slot], slot))
    gap = loads[busiest] - loads[idlest]
    if gap < 2 * UNEVEN_SHARE and not _is_idle_beside_several(idlest, busiest, placed):
        return None
    if any(slot == busiest and shares.get(copy, 0.0) > FULL_SHARE for copy, slot in placed.items()):
        return None  # it gets a slot of its own
    best: tuple[float, Copy] | None = None
    for copy, slot in sorted(placed.items()):
        left = abs(gap - 2 * max(shares.get(copy, 0.0), IDLE_SHARE))
        if slot == busiest and left < gap and (best is None or left < best[0]):
            best = left, copy
    return None if best is None else (best[1], idlest)


def _is_idle_beside_several(idlest: int, busiest: int, placed: Mapping[Copy, int]) -> bool:
    """Whether a slot has nothing while another has several: one that came back after its copies had gone."""
    slots = list(placed.values())
    return idlest not in slots and slots.count(busiest) > 1


def _loads(
    slots: Collection[int], placed: Mapping[Copy, int], shares: Mapping[Copy, float]
) -> dict[int, float]:
    loads = dict.fromkeys(sorted(slots), 0.0)
    for copy, slot in placed.items():
        if slot in loads:
            loads[slot] += max(shares.get(copy, 0.0), IDLE_SHARE)
    return loads


@dataclass(slots=True)
class OwnSlots:
    """Says which copies need a slot of their own, and which do not any more."""

    _full_since: dict[Copy, float] = field(default_factory=dict)
    _calm_since: dict[Copy, float] = field(default_factory=dict)

    def leave_shared(
        self, shared: Mapping[Copy, int], shares: Mapping[Copy, float], now_s: float
    ) -> Copy | None:
        """Return a copy that has filled a slot for `FULL_S` and is not alone there; None: there is none."""
        busy = {copy for copy in shared if shares.get(copy, 0.0) > FULL_SHARE}
        self._full_since = {copy: self._full_since.get(copy, now_s) for copy in busy}
        slots = list(shared.values())
        for copy, since_s in sorted(self._full_since.items()):
            if now_s - since_s >= FULL_S and slots.count(shared[copy]) > 1:
                return copy
        return None

    def return_to_shared(
        self, own: Collection[Copy], shares: Mapping[Copy, float], now_s: float
    ) -> Copy | None:
        """Return a copy that has been calm in a slot of its own for `CALM_S`; None: there is none."""
        calm = {copy for copy in own if shares.get(copy, 0.0) < CALM_SHARE}
        self._calm_since = {copy: self._calm_since.get(copy, now_s) for copy in calm}
        due = [copy for copy, since_s in self._calm_since.items() if now_s - since_s >= CALM_S]
        return min(due, default=None)


@dataclass(slots=True)
class SlotDeaths:
    """Says which flow is to be set apart when a slot died."""

    _at_work_s: dict[str, float] = field(default_factory=dict)

    def note(self, at_work: Mapping[str, int], now_s: float) -> str | None:
        """Note the flows that copied when a slot died, with their bytes in flight; returns the suspect.

        That is the one with most in flight among those that copied at another death within ten minutes, too.
        """
        known = {flow: s for flow, s in self._at_work_s.items() if now_s - s <= SUSPECT_WITHIN_S}
        suspects = known.keys() & at_work.keys()
        self._at_work_s = {**known, **dict.fromkeys(at_work, now_s)}
        suspect = max(sorted(suspects), key=lambda flow: at_work[flow], default=None)
        if suspect is not None:
            del self._at_work_s[suspect]
        return suspect
