"""Connections that a process keeps between questions: shared, bounded, closed when they are not used."""

import asyncio
import contextlib
from dataclasses import replace

import pytest

from jobs.cluster.connection import Connection
from jobs.cluster.errors import ClusterFault
from jobs.cluster.protocol.kept_connections import KeptConnections
from tests.jobs.cluster.protocol import fake_broker
from tests.jobs.cluster.protocol.fake_broker import FakeBroker, Hang
from tests.jobs.cluster.protocol.fake_cluster import brokers
from tests.jobs.cluster.protocol.transport.test_login import answered, handshake
from tests.waiting import eventually_async


async def ask(kept, connection, *, client_id="test", timeout_s=60.0, question=None):
    """Ask for the metadata, away from the loop in which the brokers answer."""

    async def metadata(cluster):
        return await cluster.metadata()

    return await asyncio.to_thread(kept.ask, connection, client_id, timeout_s, question or metadata)


async def test_questions_share_a_connection_and_no_metadata():
    async with FakeBroker() as broker:
        kept = KeptConnections()
        for _ in range(3):
            await ask(kept, broker.connection)
        assert broker.connections == 1
        assert len(broker.of(fake_broker.METADATA)) == 3


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"client_id": "other"}, id="client id"),
        pytest.param({"alias": "west"}, id="cluster"),
    ],
)
async def test_another_client_id_or_cluster_has_connections_of_its_own(change):
    async with FakeBroker() as broker:
        kept = KeptConnections()
        await ask(kept, broker.connection)
        client_id = change.pop("client_id", "test")
        await ask(kept, replace(broker.connection, **change), client_id=client_id)
        assert broker.connections == 2


async def test_connections_that_are_not_used_are_closed():
    async with FakeBroker() as broker:
        kept = KeptConnections(idle_s=0.2)
        await ask(kept, broker.connection)
        await eventually_async(lambda: broker.open == 0)
        await ask(kept, broker.connection)
        assert broker.connections == 2


async def test_the_least_used_connections_make_room():
    async with brokers(3) as found:
        kept = KeptConnections(most_pools=2)
        for broker in found:
            broker.brokers = [broker]
            await ask(kept, broker.connection)
        await eventually_async(lambda: [b.open for b in found] == [0, 1, 1])


async def test_a_broker_that_hangs_costs_its_own_question_only():
    async with brokers(2) as (hangs, answers):
        hangs.answers[fake_broker.METADATA] = Hang
        answers.brokers = [answers]
        kept = KeptConnections()

        async def give_up() -> str:
            try:
                await ask(kept, hangs.connection, timeout_s=0.5)
            except (TimeoutError, ClusterFault):
                return "gave up"
            return "answered"

        waiting = asyncio.create_task(give_up())
        for _ in range(3):
            assert (await ask(kept, answers.connection)).cluster_id == "the-cluster"
        assert await waiting == "gave up"


async def test_a_connection_that_was_closed_by_its_broker_is_opened_again():
    async with FakeBroker() as broker:
        kept = KeptConnections()
        await ask(kept, broker.connection)
        for task in list(broker._tasks):
            task.cancel()
        await eventually_async(lambda: broker.open == 0)
        with contextlib.suppress(ClusterFault):
            await ask(kept, broker.connection)
        assert (await ask(kept, broker.connection)).cluster_id == "the-cluster"


async def test_a_secret_that_was_replaced_leads_to_new_connections(monkeypatch):
    async with FakeBroker() as broker:
        kept = KeptConnections()
        monkeypatch.setenv("CROSSLOG_SECRET_X", "first-secret")
        connection = Connection.from_mapping(
            {
                "alias": "east",
                "bootstrap_servers": f"127.0.0.1:{broker.port}",
                "security_protocol": "SASL_PLAINTEXT",
                "sasl_mechanism": "PLAIN",
                "sasl_username": "ada",
                "sasl_password": "env:CROSSLOG_SECRET_X",
            }
        )
        broker.answers[fake_broker.SASL_HANDSHAKE] = handshake()
        broker.answers[fake_broker.SASL_AUTHENTICATE] = answered()
        await ask(kept, connection)
        monkeypatch.setenv("CROSSLOG_SECRET_X", "next-secret")
        await ask(kept, connection)
        sent = [asked.auth_bytes for asked in broker.of(fake_broker.SASL_AUTHENTICATE)]
        assert sent == [b"\0ada\0first-secret", b"\0ada\0next-secret"]
