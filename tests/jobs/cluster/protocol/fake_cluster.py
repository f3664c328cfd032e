"""Fake clusters: brokers that know of each other, and the door to them."""

import contextlib
from typing import Any

from jobs.cluster.connection import Connection
from jobs.cluster.protocol.cluster import RawCluster
from tests.jobs.cluster.protocol.fake_broker import PATIENT, FakeBroker


@contextlib.asynccontextmanager
async def brokers(count: int = 1):
    """Start brokers 1, 2, ... of one cluster."""
    async with contextlib.AsyncExitStack() as stack:
        made = [await stack.enter_async_context(FakeBroker(n + 1)) for n in range(count)]
        for broker in made:
            broker.brokers = made
        yield made


def cluster_of(*servers: FakeBroker, timing=PATIENT, rack=None, **settings: Any) -> RawCluster:
    """Return the door to a cluster whose bootstrap list has these brokers."""
    text = ",".join(f"127.0.0.1:{one.port}" for one in servers)
    connection = Connection("east", text, **settings)
    return RawCluster(connection, client_id="test", timing=timing, rack=rack)
