"""Upkeep of findings."""

from __future__ import annotations

from console.findings import store
from console.findings.incidents.store import prune
from console.findings.objectives.store import prune as prune_steps
from console.frame.tasks import PRUNES

PRUNES["findings"] = store.prune
PRUNES["incidents"] = prune
PRUNES["objectives"] = prune_steps
