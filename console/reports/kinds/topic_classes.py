"""Classes of topics: internal, remote, and those of users."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from console.clusters import queries as clusters
from console.clusters.models import Cluster
from console.replication.flows import queries as flows
from jobs.replication.policy import DefaultReplicationPolicy
from jobs.reports.kinds.clusters.watched_time import Ints

INTERNAL = "Internal topics"
REMOTE = "Remote topics"
USER = "User topics"


class TopicClasses:
    """The classes of a cluster's topics.

    Internal are those of Kafka, Connect and MirrorMaker 2, remote those that a flow replicates to here.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._policy = DefaultReplicationPolicy()
        internal = clusters.list_topics(cluster).filter(is_internal=True)
        self._internal = set(internal.values_list("name", flat=True))
        remote = flows.list_topics().filter(flow__target=cluster)
        self._remote = set(remote.values_list("remote_topic", flat=True))

    def of(self, topic: str) -> str:
        if topic in self._internal or self._policy.is_internal_topic(topic):
            return INTERNAL
        return REMOTE if topic in self._remote else USER

    @staticmethod
    def numbered(classes: Sequence[str], labels: Sequence[str]) -> tuple[Ints, Ints]:
        """Return the number of the class of each topic, and the number of each topic itself."""
        known = {label: number for number, label in enumerate(labels)}
        numbers = [known[one] for one in classes]
        return np.array(numbers, dtype=np.int64), np.arange(len(classes), dtype=np.int64)
