"""Who is there: asked again while no broker is named, which aborts the client library's process."""

import asyncio
import contextlib

import pytest
from kio.schema.describe_cluster.v2 import response as described
from kio.schema.errors import ErrorCode

from jobs.cluster.admin.brokers import describe_cluster, describe_whole_cluster
from jobs.cluster.client import ClusterClient
from jobs.cluster.connection import Connection
from jobs.cluster.descriptions import BrokerDescription
from jobs.cluster.errors import NotAuthorized, ProtocolMismatch, TimedOut, Unreachable
from tests.jobs.cluster.protocol.fake_broker import NOW, OFFERED, Close
from tests.jobs.cluster.protocol.fake_cluster import brokers, cluster_of

DESCRIBE_CLUSTER = 60
DESCRIBE, DESCRIBE_CONFIGS = 1 << 8, 1 << 10


def answer(*ids: int, error=ErrorCode.none, operations=DESCRIBE | DESCRIBE_CONFIGS):
    found = tuple(
        described.DescribeClusterBroker(
            broker_id=id_,
            host=f"host-{id_}",
            port=9092,
            rack="a" if id_ == 1 else None,
            is_fenced=False,
        )
        for id_ in ids
    )
    return described.DescribeClusterResponse(
        throttle_time=NOW,
        error_code=error,
        cluster_id="the-cluster",
        brokers=found,
        cluster_authorized_operations=operations,
    )


@contextlib.asynccontextmanager
async def describing():
    """Start a broker that describes a cluster of two."""
    async with brokers(1) as (one,):
        one.offered = OFFERED | {DESCRIBE_CLUSTER: (0, 2)}
        one.answers[DESCRIBE_CLUSTER] = answer(2, 1)
        yield one


async def test_brokers_and_what_the_principal_may_are_told():
    async with describing() as broker:
        async with cluster_of(broker) as cluster:
            found = await describe_whole_cluster(cluster, budget_s=30)
        assert found.cluster_id == "the-cluster"
        assert found.brokers == (
            BrokerDescription(1, "host-1", 9092, "a"),
            BrokerDescription(2, "host-2", 9092, None),
        )
        assert found.authorized_operations == {"DESCRIBE", "DESCRIBE_CONFIGS"}
        (asked,) = broker.of(DESCRIBE_CLUSTER)
        assert not asked.include_fenced_brokers


@pytest.mark.parametrize(
    ("bits", "operations"),
    [pytest.param(0, frozenset(), id="none"), pytest.param(-(1 << 31), None, id="not reported")],
)
async def test_no_operations_are_not_those_that_were_not_told(bits, operations):
    async with describing() as broker:
        broker.answers[DESCRIBE_CLUSTER] = answer(1, operations=bits)
        async with cluster_of(broker) as cluster:
            found = await describe_whole_cluster(cluster, budget_s=30)
        assert found.authorized_operations == operations


async def test_a_cluster_whose_brokers_are_all_fenced_is_asked_again():
    async with describing() as broker:
        answers = iter([answer(), answer(), answer(1)])
        broker.answers[DESCRIBE_CLUSTER] = lambda _: next(answers)
        async with cluster_of(broker) as cluster:
            found = await describe_whole_cluster(cluster, budget_s=30)
        assert [one.broker_id for one in found.brokers] == [1]


async def test_a_cluster_whose_brokers_stay_fenced_is_a_fault_that_says_so():
    async with describing() as broker:
        broker.answers[DESCRIBE_CLUSTER] = answer()
        async with cluster_of(broker) as cluster:
            with pytest.raises(TimedOut, match="all of them are fenced"):
                await describe_whole_cluster(cluster, budget_s=1)


async def test_a_refusal_is_told_at_once():
    async with describing() as broker:
        broker.answers[DESCRIBE_CLUSTER] = answer(error=ErrorCode.cluster_authorization_failed)
        async with cluster_of(broker) as cluster:
            with pytest.raises(NotAuthorized):
                await describe_whole_cluster(cluster, budget_s=30)
        assert len(broker.of(DESCRIBE_CLUSTER)) == 1


async def test_a_listener_that_closes_with_the_first_request_probably_expects_sasl():
    async with describing() as broker:
        broker.answers[DESCRIBE_CLUSTER] = Close
        async with cluster_of(broker) as cluster:
            with pytest.raises(ProtocolMismatch) as caught:
                await describe_whole_cluster(cluster, budget_s=30)
    assert "expects SASL" in caught.value.hint
    assert caught.value.field == "security_protocol"
    assert caught.value.retriable


async def test_before_kafka_2_8_brokers_are_told_without_operations():
    async with describing() as broker:
        broker.offered = OFFERED
        async with cluster_of(broker) as cluster:
            found = await describe_whole_cluster(cluster, budget_s=30)
        assert [one.broker_id for one in found.brokers] == [1]
        assert found.authorized_operations is None


async def test_where_nobody_listens_it_is_not_asked_for_the_whole_budget():
    async with describing() as broker:
        await broker.stop()
        async with asyncio.timeout(60), cluster_of(broker) as cluster:
            with pytest.raises(Unreachable):
                await describe_whole_cluster(cluster, budget_s=600)


async def test_it_can_be_asked_from_inside_of_a_loop():
    async with describing() as broker:
        with ClusterClient(Connection("east", f"127.0.0.1:{broker.port}"), timeout_s=30) as client:
            question = asyncio.create_task(asyncio.to_thread(describe_cluster, client))
            assert (await question).cluster_id == "the-cluster"
