"""Which producer writes checkpoints."""

import pytest

from jobs.cluster.connection import Connection
from jobs.cluster.errors import TimedOut
from jobs.replication.checkpoints.clusters import FlowClusters
from jobs.replication.flow.spec import FlowSpec


class Producer:
    """A producer that leaves so many records behind."""

    def __init__(self, left: int) -> None:
        self.left = left

    def flush(self, _timeout_s):
        return self.left


class Client:
    """A client of a cluster with these producers."""

    def __init__(self, connection, *producers) -> None:
        self.connection = connection
        self.producers = list(producers)

    def producer(self, _settings):
        return self.producers.pop(0)

    def fault(self):
        return None


def clusters_of(*producers) -> tuple[FlowClusters, Client]:
    source = Client(Connection("east", "127.0.0.1:1"))
    target = Client(Connection("west", "127.0.0.1:2"), *producers)
    flow = FlowSpec("f", source.connection, target.connection)
    return FlowClusters(flow, source, target), target


def test_each_round_that_writes_has_a_producer_of_its_own():
    """It has the secrets of then, and costs nothing between two rounds."""
    clusters, target = clusters_of(Producer(1), Producer(0))
    with pytest.raises(TimedOut):
        clusters.write([], 0, {})
    clusters.write([], 0, {})
    assert target.producers == []
