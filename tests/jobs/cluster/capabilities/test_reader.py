"""Requests to the brokers of a cluster, and what is made of answers that do not come."""

import asyncio
from uuid import UUID

import pytest

from jobs.cluster.capabilities.reader import read_versions
from jobs.cluster.capabilities.verdicts import Verdict
from jobs.cluster.client import ClusterClient
from jobs.cluster.errors import ClusterFault
from tests.jobs.cluster.capabilities.recorded import recorded
from tests.jobs.cluster.protocol import fake_broker
from tests.jobs.cluster.protocol.fake_cluster import brokers

ID = UUID(int=7)


async def versions_of(one):
    with ClusterClient(one.connection, timeout_s=5) as client:
        return await asyncio.to_thread(read_versions, client)


@pytest.mark.parametrize(
    ("name", "topic_id", "expected"),
    [
        pytest.param("2.8.2-zookeeper", ID, None, id="ids that its Metadata 9 does not tell"),
        pytest.param("3.6.2-zookeeper", ID, True, id="ids"),
        pytest.param("3.6.2-zookeeper", None, False, id="no ids"),
        pytest.param("3.6.2-kraft", None, True, id="KRaft always has them"),
    ],
)
async def test_whether_topics_have_ids_is_known_where_metadata_tell_it(name, topic_id, expected):
    async with brokers() as (one,):
        one.offered = dict(recorded(name).ranges)
        one.topics = (fake_broker.topic("orders", {0: 1}, topic_id=topic_id),)
        assert (await versions_of(one)).has_topic_ids is expected


async def test_a_broker_that_hangs_is_silent_and_the_others_are_told():
    async with brokers(3) as made:
        for one in made:
            one.offered = dict(recorded("3.9.1-kraft").ranges)
        made[2].answers[fake_broker.API_VERSIONS] = fake_broker.Hang
        found = await versions_of(made[0])
    assert found.text == "Kafka 3.9; broker 3 did not tell"
    assert list(found.silent) == [3]
    judged = {one.code: one.verdict for one in found.judge()}
    assert (judged["copy_from"], judged["quorum"]) == (Verdict.UNKNOWN, Verdict.WORKS)


async def test_without_any_answer_there_is_a_fault_and_no_empty_reading():
    async with brokers() as (one,):
        await asyncio.to_thread(ClusterClient(one.connection).ask, "Reading", _metadata)
        one.answers[fake_broker.API_VERSIONS] = fake_broker.Close
        with pytest.raises(ClusterFault):
            await versions_of(one)


async def _metadata(cluster):
    return await cluster.metadata()
