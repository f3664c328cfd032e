"""A client whose cluster are fake brokers in the test's own event loop."""

import asyncio
from typing import Any

from jobs.cluster.client import ClusterClient
from tests.jobs.cluster.protocol.fake_broker import OFFERED, FakeBroker

NEW_APIS = {
    "offset_commit": 8, "describe_groups": 15, "list_groups": 16, "create_topics": 19,
    "delete_topics": 20, "describe_acls": 29, "create_acls": 30, "describe_configs": 32,
    "create_partitions": 37, "consumer_group_describe": 69,
}  # fmt: skip


def offer_all(broker: FakeBroker) -> None:
    """Let a broker offer what Kafka 4.3 offers of the requests of `jobs.cluster.admin`."""
    broker.offered = OFFERED | dict.fromkeys(NEW_APIS.values(), (0, 12))


async def ask(broker: FakeBroker, question: Any, *arguments: Any, timeout_s: float = 30.0) -> Any:
    """Ask a question of `jobs.cluster.admin`, away from the loop in which the brokers answer."""
    offer_all(broker)

    def asked() -> Any:
        with ClusterClient(broker.connection, timeout_s=timeout_s) as client:
            return question(client, *arguments)

    return await asyncio.to_thread(asked)
