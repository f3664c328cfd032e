"""Queries for other pages: the loss of each rack, and runbooks for the current state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.urls import reverse

from console.availability.placements.placements import rules_of
from console.availability.promotion.acted_topics import acted_topics_of
from console.availability.runbooks.partition_runbooks import current_runbooks
from console.availability.watched import Watch, log_told, read_watch, watched_in
from console.availability.what_if.cluster_models import PlacedClasses, classes_of, snapshot_of
from console.availability.what_if.cluster_snapshots import ClusterSnapshot
from console.availability.what_if.query import write_step
from console.availability.what_if.simulation import simulate_classes
from console.availability.what_if.snapshot_reader import UnknownMoment
from console.clusters.models import Cluster
from jobs.availability.runbooks.runbook import Runbook
from jobs.availability.what_if.matrix import single_failures
from jobs.availability.what_if.outcome import Counts

__all__ = [
    "RackLossAnswer",
    "RackLosses",
    "Watch",
    "log_told",
    "open_runbooks",
    "rack_losses",
    "read_watch",
    "watched_in",
]


@dataclass(frozen=True, slots=True)
class RackLossAnswer:
    """What the loss of a rack does; `href` shows it. `has_majority` None: the voters are not known."""

    rack: str
    counts: Counts
    has_majority: bool | None
    href: str


@dataclass(frozen=True, slots=True)
class RackLosses:
    """The loss of each single rack, by name; `seen_at` is the time of the data, `gaps` are missing data.

    `why` is the reason if that is not the requested time; else empty.
    """

    losses: tuple[RackLossAnswer, ...]
    seen_at: datetime | None
    gaps: tuple[str, ...]
    why: str = ""


def open_runbooks(cluster: Cluster) -> list[Runbook]:
    """Return one runbook per current state and cause of the partitions, by severity."""
    return current_runbooks(cluster, {})


def rack_losses(cluster: Cluster, at: datetime | None = None) -> RackLosses:
    """Return the simulated loss of each rack at a time, with the current placements.

    None: now. A time that the metadata log does not cover: the newest snapshot is used.
    """
    why = ""
    try:
        snapshot = snapshot_of(cluster, at)
    except UnknownMoment as problem:
        snapshot, at, why = snapshot_of(cluster), None, str(problem)
    units = classes_of(snapshot, rules_of(cluster), acted=acted_topics_of(cluster))
    losses = tuple(_losses(cluster, snapshot, units, at))
    return RackLosses(losses, snapshot.seen_at, tuple(snapshot.gaps), why)


def _losses(
    cluster: Cluster, snapshot: ClusterSnapshot, units: PlacedClasses, at: datetime | None
) -> Iterator[RackLossAnswer]:
    known = {rack for rack in snapshot.racks.values() if rack}
    for loss in single_failures(units.model):
        racks = sorted(loss.racks & known)
        if racks:
            answer = simulate_classes(units, [loss])
            asked = {"steps": write_step(loss)} | ({"at": at.isoformat()} if at else {})
            path = reverse("availability:what-if", args=[cluster.alias])
            href = f"{path}?{urlencode(asked, safe=':;,')}"
            has_majority = answer.quorum.has_majority if answer.quorum.is_known else None
            yield RackLossAnswer(racks[0], answer.counts, has_majority, href)
