"""The way of a drill to its cluster; a fake of it stands in for Kafka in tests."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from console.availability.acting.store import DatabaseStore
from console.clusters.models import Cluster
from jobs.availability.drills import DrillMeasure, DrillShape, Heard, drill, remove_topics


class DrillDoor(Protocol):
    """What a drill asks of a cluster."""

    def drill(self, cluster: Cluster, topic: str, shape: DrillShape, heard: Heard) -> DrillMeasure:
        """Try one actor on a topic of its own; faults are measures that are not good."""
        ...

    def remove(self, cluster: Cluster, topics: Collection[str]) -> None:
        """Remove topics that a drill left; raises `ClusterFault`."""
        ...


class KafkaDrills:
    """The real cluster."""

    def drill(self, cluster: Cluster, topic: str, shape: DrillShape, heard: Heard) -> DrillMeasure:
        """Try one actor."""
        return drill(cluster.connection(), DatabaseStore(cluster.pk), topic, shape, heard)

    def remove(self, cluster: Cluster, topics: Collection[str]) -> None:
        remove_topics(cluster.connection(), topics)


KAFKA_DRILLS = KafkaDrills()
