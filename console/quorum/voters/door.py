"""What is asked of a quorum; a fake of it stands in for Kafka in tests."""

from __future__ import annotations

from typing import Protocol

from jobs.cluster.admin.quorum import QuorumDescription, describe_quorum
from jobs.cluster.connection import Connection


class DescribeDoor(Protocol):
    """One question to a cluster; raises `ClusterFault`."""

    def __call__(self, connection: Connection) -> QuorumDescription:
        """Return who votes, who leads, how far each has come."""
        ...


def describe(connection: Connection) -> QuorumDescription:
    """Ask the real cluster."""
    return describe_quorum(connection)
