"""Which standby brokers are to be unfenced, for all partitions at once: `standbys.wanted_standbys`. Pure."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import numpy as np

from jobs.availability.what_if.matrix.rules import wanted_observers
from jobs.availability.what_if.matrix.tables import States, Tables


def unfenced_after(
    tables: Tables,
    states: States,
    unfenced: AbstractSet[int],
    *,
    able: AbstractSet[int],
    governed: AbstractSet[int],
) -> frozenset[int]:
    """Return the standbys that are to be unfenced, by the states with those that are unfenced now."""
    ids = {number: id_ for id_, number in tables.numbers.items()}
    alone = states.isr & (states.isr.sum(axis=1) == 1)[:, None]
    sole = alone & tables.flags(unfenced)[tables.replicas]
    wanted = {ids[int(one)] for one in np.unique(tables.replicas[sole])}
    rows = np.flatnonzero(tables.is_governed & (states.leader >= 0))
    some, now = tables.of(rows), states.of(rows)
    ready = tables.flags(able)[some.replicas]
    kept = wanted_observers(some, now, now.isr, some.standby, ready)
    wanted |= {ids[int(one)] for one in np.unique(some.replicas[kept])}
    return frozenset(unfenced - governed) | wanted
