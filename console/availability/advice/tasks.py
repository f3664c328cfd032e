"""Rounds and upkeep of promotion advice."""

from __future__ import annotations

from console.availability.advice import store
from console.availability.advice.round import ADVICE, advise_cluster
from console.frame.rounds import KINDS, Kind
from console.frame.tasks import PRUNES

KINDS[ADVICE.name] = Kind(ADVICE.due, advise_cluster, rounds=ADVICE)
PRUNES["promotions"] = store.prune
