"""Rounds of clusters."""

from __future__ import annotations

from console.clusters.collection.collect import collect_cluster, due_clusters
from console.frame.rounds import KINDS, Kind

KINDS["clusters"] = Kind(due_clusters, collect_cluster)
