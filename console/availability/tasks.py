"""Rounds and upkeep of availability."""

from __future__ import annotations

from functools import partial

from console.availability.collection import retention
from console.availability.collection.collect import STATUS, due_clusters, take_in
from console.availability.collection.lag import LAGS, ask_lags
from console.availability.status.queries import COUNTS
from console.availability.what_if.matrices import SNAPSHOTS, keep_due_picture
from console.frame.rounds import KINDS, Kind
from console.frame.series import roll_up
from console.frame.tasks import PRUNES, ROLL_UPS

KINDS[STATUS.name] = Kind(due_clusters, take_in, rounds=STATUS)
KINDS[LAGS.name] = Kind(LAGS.due, ask_lags, rounds=LAGS)
KINDS[SNAPSHOTS.name] = Kind(SNAPSHOTS.due, keep_due_picture, rounds=SNAPSHOTS)
ROLL_UPS["counts of partitions"] = partial(roll_up, COUNTS)
PRUNES["history of partitions"] = retention.prune
