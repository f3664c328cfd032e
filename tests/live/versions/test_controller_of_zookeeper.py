"""With ZooKeeper one broker is the controller, and the others pass no request on to it."""

import asyncio

import pytest

from jobs.cluster.admin.reassignments import list_reassignments
from jobs.cluster.connection import Connection
from jobs.cluster.protocol.cluster import RawCluster


@pytest.mark.parametrize("version", ["2.8.2", "3.6.2"])
def test_reassignments_are_listed_through_every_broker(small_lab, version):
    cluster = small_lab("old", nodes=2, kafka=version, zookeeper=True).cluster("old")

    async def ask(address: str) -> dict:
        async with RawCluster(Connection("old", address), client_id="live-test") as raw:
            return await list_reassignments(raw)

    for node in cluster.nodes.values():
        assert asyncio.run(ask(node.plan.address)) == {}
