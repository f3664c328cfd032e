"""Groups of a real cluster: listed, described with their members, and those that are not there."""

import asyncio
import uuid
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer

from jobs.cluster.admin.groups import alter_group_offsets
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.errors import NotAuthorized
from jobs.cluster.protocol.groups.classic import describe_classic_groups
from jobs.cluster.protocol.groups.listing import list_all_groups
from jobs.cluster.protocol.groups.streams import describe_streams_groups
from jobs.wire.consumer_protocol import decode_consumer_assignment, decode_consumer_subscription
from tests.live.topics import new_topic
from tests.live.whole_batches import opened
from tests.waiting import PATIENCE, Stalls, eventually

BUDGET_S = 30.0 * PATIENCE
MANY = 1000


def new_group() -> str:
    return f"g-{uuid.uuid4().hex[:8]}"


@contextmanager
def member_of(cluster, group: str, topic: str):
    """A consumer that reads the topic as a member of the group while the block runs."""
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": group}
    consumer = Consumer({**settings, "client.id": "a-reader", "enable.auto.commit": False})
    try:
        consumer.subscribe([topic])
        eventually(lambda: (consumer.poll(0.2), consumer.assignment())[1], 60)
        yield
    finally:
        consumer.close()


def empty_groups(cluster, topic: str, names: list[str]) -> None:
    with ClusterClient(cluster.connection, timeout_s=60) as client:
        for name in names:
            offsets = {TopicPartition(topic, 0): CommittedOffset(0, "")}
            assert alter_group_offsets(client, name, offsets) == dict.fromkeys(offsets)


async def test_members_of_a_group_are_told_with_what_they_wrote(east):
    group, topic = new_group(), new_topic(east, 2)
    with member_of(east, group, topic):
        async with opened(east.connection) as cluster:
            listed = {
                one.group_id: one for one in (await list_all_groups(cluster, BUDGET_S)).groups
            }
            found = (await describe_classic_groups(cluster, [group], budget_s=BUDGET_S))[group]
    assert (listed[group].protocol_type, listed[group].type) == ("consumer", "classic")
    assert (found.state, found.protocol_type, found.protocol) == ("Stable", "consumer", "range")
    (member,) = found.members
    assert (member.client_id, member.client_host) == ("a-reader", "/127.0.0.1")
    assert decode_consumer_subscription(member.metadata).topics == (topic,)
    assert decode_consumer_assignment(member.assignment).assigned == ((topic, 0), (topic, 1))


async def test_an_empty_group_has_neither_members_nor_an_assignor(east):
    group, topic = new_group(), new_topic(east)
    empty_groups(east, topic, [group])
    async with opened(east.connection) as cluster:
        found = (await describe_classic_groups(cluster, [group], budget_s=BUDGET_S))[group]
    assert (found.state, found.protocol, found.members) == ("Empty", "", ())


@pytest.mark.parametrize("describe", [describe_classic_groups, describe_streams_groups])
async def test_a_group_that_is_not_there_is_a_fault_beside_those_that_are(east, describe):
    group, topic = new_group(), new_topic(east)
    empty_groups(east, topic, [group])
    async with opened(east.connection) as cluster:
        found = await describe(cluster, [group, "nobody"], budget_s=BUDGET_S)
    assert "group nobody" in found["nobody"].message
    assert "GROUP_ID_NOT_FOUND" in found["nobody"].message


async def test_groups_that_may_not_be_described_are_not_listed_and_refused_by_name(secure):
    group, topic = new_group(), new_topic(secure.cluster)
    empty_groups(secure.cluster, topic, [group])
    limited = secure.connection(
        "SASL_PLAINTEXT", "PLAIN", user="limited", password="CROSSLOG_SECRET_LAB_LIMITED"
    )
    async with opened(limited) as cluster:
        listed = await list_all_groups(cluster, BUDGET_S)
        found = await describe_classic_groups(cluster, [group], budget_s=BUDGET_S)
    assert (listed.groups, listed.faults) == ((), ())
    assert isinstance(found[group], NotAuthorized)


@pytest.mark.slow
async def test_a_thousand_groups_are_described_within_a_round(east):
    topic, prefix = new_topic(east), new_group()
    names = [f"{prefix}-{number}" for number in range(MANY)]
    await asyncio.to_thread(empty_groups, east, topic, names)
    async with opened(east.connection) as cluster:
        with Stalls() as stalls:
            listed = await list_all_groups(cluster, BUDGET_S)
            found = await describe_classic_groups(cluster, names, budget_s=BUDGET_S)
    assert {one.group_id for one in listed.groups} >= set(names)
    assert {one.state for one in found.values()} == {"Empty"}
    assert stalls.took_s < BUDGET_S
