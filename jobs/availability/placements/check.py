"""Whether a cluster can hold a placement, by upstream's rule: enough brokers in each rack. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from jobs.availability.placements.placement import Placement


def check_placement(placement: Placement, racks: Mapping[int, str | None]) -> dict[str, str]:
    """Return what keeps a cluster from holding a placement: path -> sentence; empty when it can.

    `racks`: the rack of each broker, None for one without. Each rack must exist and have at least as many
    brokers as the placement wants replicas and observers there, else creating a topic fails.
    """
    here = Counter(rack for rack in racks.values() if rack is not None)
    problems: dict[str, str] = {}
    for name, entries in (("replicas", placement.replicas), ("observers", placement.observers)):
        for index, one in enumerate(entries):
            path = f"{name}[{index}]"
            if one.rack not in here:
                problems[f"{path}.constraints.rack"] = _no_rack(one.rack, here, len(racks))
            elif sum(placement.wanted(one.rack)) > here[one.rack]:
                problems[f"{path}.count"] = _too_many(placement, one.rack, here[one.rack])
    return problems


def _no_rack(rack: str, here: Counter[str], brokers: int) -> str:
    if not brokers:
        return f"No broker is known: nobody can say whether there is a rack {rack}."
    if not here:
        return f"No broker has a rack: set broker.rack, then place topics in rack {rack}."
    return f"No broker is in rack {rack}; racks are {', '.join(sorted(here))}."


def _too_many(placement: Placement, rack: str, brokers: int) -> str:
    replicas, observers = placement.wanted(rack)
    both = f"{replicas} replicas and {observers} observers" if observers else f"{replicas} replicas"
    if not replicas:
        both = f"{observers} observers"
    return f"{both} are wanted in rack {rack}, which has {brokers} broker{'s' * (brokers != 1)}."
