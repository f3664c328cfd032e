"""Which replicas of a partition are observers, by a placement. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from jobs.availability.placements.placement import Placement


@dataclass(frozen=True, slots=True)
class Roles:
    """The replicas of a partition by role, each in the order of `replicas`.

    `unplaced` are replicas that the placement knows no room for: a rack it does not name, or one too many.
    Kafka counts them as sync replicas.
    """

    sync: tuple[int, ...]
    observers: tuple[int, ...] = ()
    unplaced: tuple[int, ...] = ()


def assign_roles(
    placement: Placement | None, replicas: Sequence[int], racks: Mapping[int, str | None]
) -> Roles:
    """Return the role of each replica; without a placement all are sync replicas.

    In a rack that is to hold both, the first replicas of the list are sync replicas, as brokers assign them.
    """
    if placement is None:
        return Roles(tuple(replicas))
    room = {rack: list(placement.wanted(rack)) for rack in placement.racks}
    found: tuple[list[int], list[int], list[int]] = ([], [], [])
    for one in replicas:
        left = room.get(racks.get(one) or "", [0, 0])
        role = next((role for role in (0, 1) if left[role]), 2)
        if role != 2:  # noqa: PLR2004  the third list is that of replicas without room
            left[role] -= 1
        found[role].append(one)
    return Roles(*map(tuple, found))


def observers_of(
    placement: Placement | None,
    replicas: Sequence[int],
    racks: Mapping[int, str | None],
    adding: Collection[int] = (),
    removing: Collection[int] = (),
) -> tuple[int, ...]:
    """Return the observers of a partition: of a reassignment those after it, and the ones that it removes."""
    after = assign_roles(placement, [b for b in replicas if b not in removing], racks).observers
    if not removing:
        return after
    before = assign_roles(placement, [b for b in replicas if b not in adding], racks).observers
    return tuple(b for b in replicas if b in after or (b in before and b in removing))
