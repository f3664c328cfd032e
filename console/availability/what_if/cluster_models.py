"""A cluster as the rules of availability take it: from what was collected, or as it was in the past."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from console.availability.placements.models import WhatIfPicture
from console.availability.placements.placements import Proposed, rules_of
from console.availability.promotion.acted_topics import acted_topics_of
from console.availability.what_if.cluster_snapshots import ClusterSnapshot, unpack
from console.availability.what_if.partition_classes import whole_model
from console.availability.what_if.recent import Recent
from console.availability.what_if.snapshot_reader import UnknownMoment, read_now, read_then
from console.clusters.models import Cluster
from jobs.availability.what_if.model.cluster import ClusterModel

__all__ = [
    "Proposed",
    "SeenCluster",
    "UnknownMoment",
    "cluster_model",
    "seen_cluster",
    "snapshot_of",
]

_PICTURES: Recent[ClusterSnapshot | None] = Recent(4)
# A snapshot that is older than this although rounds went on is not kept up by anybody: it is read anew.
OLDEST_PICTURE = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class SeenCluster:
    """A cluster and what could not be known of it.

    `gaps` are sentences for people; `seen_at` is how old the facts are (None: never collected), the moment
    itself where one of the past was asked for.
    """

    model: ClusterModel
    gaps: tuple[str, ...]
    seen_at: datetime | None


def cluster_model(
    cluster: Cluster, at: datetime | None = None, proposed: Sequence[Proposed] = ()
) -> ClusterModel:
    """Return a cluster now, or as the metadata log says that it was; a fixed number of queries.

    Raises `UnknownMoment` for a time before the history.
    """
    return seen_cluster(cluster, at, proposed).model


def seen_cluster(
    cluster: Cluster, at: datetime | None = None, proposed: Sequence[Proposed] = ()
) -> SeenCluster:
    """Return the same with what could not be known; it is read from the rows, not from a snapshot."""
    snapshot = read_now(cluster) if at is None else read_then(cluster, at)
    model = whole_model(snapshot, rules_of(cluster, proposed), acted_topics_of(cluster))
    return SeenCluster(model, tuple(snapshot.gaps), snapshot.seen_at)


def snapshot_of(cluster: Cluster, at: datetime | None = None) -> ClusterSnapshot:
    """Return the snapshot of a cluster: the one that is kept while it is kept up, else made now.

    Raises `UnknownMoment` for a time before the history.
    """
    if at is not None:
        return read_then(cluster, at)
    row = WhatIfPicture.objects.filter(cluster=cluster).first()
    if row is not None and _is_kept_up(cluster, row):
        kept = _PICTURES.get(row.digest, lambda: unpack(bytes(row.packed), (), None))
        if kept is not None:
            return replace(kept, gaps=tuple(row.gaps), seen_at=row.seen_at, digest=row.digest)
    return read_now(cluster)


def _is_kept_up(cluster: Cluster, row: WhatIfPicture) -> bool:
    rounds = cluster.rounds.filter(noun__in=["brokers", "topics"])
    newest = [at for at in rounds.values_list("succeeded_at", flat=True) if at is not None]
    return not newest or max(newest) - row.made_at <= OLDEST_PICTURE
