"""Topics: all of one moment, what is there already is no fault, and changes go to the controller."""

import uuid

import pytest
from kio.schema.create_partitions.v2 import response as grown
from kio.schema.create_topics.v5 import response as created
from kio.schema.delete_topics.v5 import response as deleted
from kio.schema.errors import ErrorCode
from kio.schema.metadata.v12 import response as described

from jobs.cluster.admin.topics import (
    NewTopicSpec,
    create_partitions,
    create_topics,
    delete_topics,
    describe_topics,
    is_missing,
    list_topic_names,
)
from jobs.cluster.descriptions import PartitionDescription
from jobs.cluster.errors import NotAuthorized
from jobs.cluster.protocol.pieces import Pieces
from tests.jobs.cluster.admin.asking import NEW_APIS, ask, offer_all
from tests.jobs.cluster.protocol import fake_broker
from tests.jobs.cluster.protocol.fake_broker import NOW, FakeBroker, Hang
from tests.jobs.cluster.protocol.fake_cluster import brokers, cluster_of

ID = uuid.UUID(int=7)


def partition(number, leader, isr=(1, 2)):
    error = ErrorCode.none if leader >= 0 else ErrorCode.leader_not_available
    return described.MetadataResponsePartition(
        error_code=error,
        partition_index=number,
        leader_id=leader,
        leader_epoch=3,
        replica_nodes=(1, 2),
        isr_nodes=isr,
        offline_replicas=(),
    )


def topic(name, *partitions, error=ErrorCode.none, topic_id=ID):
    return described.MetadataResponseTopic(
        error_code=error, name=name, topic_id=topic_id, partitions=partitions
    )


def missing(name):
    return topic(name, error=ErrorCode.unknown_topic_or_partition, topic_id=None)


def made(**errors):
    return created.CreateTopicsResponse(
        throttle_time=NOW,
        topics=tuple(
            created.CreatableTopicResult(
                name=name, error_code=ErrorCode[error], error_message="no: it says", configs=()
            )
            for name, error in errors.items()
        ),
    )


async def test_all_topics_are_those_of_one_answer_sorted_by_name():
    async with FakeBroker() as broker:
        broker.topics = (
            topic("b", partition(1, -1, ()), partition(0, 2)),
            topic("a"),
            missing("c"),
        )
        found = await ask(broker, describe_topics)
        assert [one.name for one in found] == ["a", "b"]
        assert found[1].topic_id == "AAAAAAAAAAAAAAAAAAAABw"
        assert found[1].partitions == (
            PartitionDescription(0, 2, (1, 2), (1, 2)),
            PartitionDescription(1, None, (1, 2), ()),
        )
        assert await ask(broker, list_topic_names) == ["a", "b"]


async def test_an_answer_that_changed_is_read_again():
    async with FakeBroker() as broker:
        offer_all(broker)
        found = []
        for topics in ((topic("a", partition(0, 1)),), (), (topic("a", partition(0, 2)),)):
            broker.topics = topics
            found += [await ask(broker, describe_topics) for _ in range(2)]
    leaders = [[p.leader for one in topics for p in one.partitions] for topics in found]
    assert leaders == [[1], [1], [], [], [2], [2]]


async def test_a_named_topic_that_does_not_exist_is_a_description_with_its_error():
    async with FakeBroker() as broker:
        broker.topics = (topic("a", partition(0, 1)), missing("gone"))
        known, gone = await ask(broker, describe_topics, ["a", "gone"])
    assert (known.error, is_missing(known)) == (None, False)
    assert is_missing(gone)
    assert gone.partitions == ()


async def test_a_topic_that_is_there_already_is_as_wanted_and_a_refusal_has_the_brokers_words():
    async with FakeBroker() as broker:
        answer = made(old="topic_already_exists", new="none", bad="invalid_config")
        broker.answers[NEW_APIS["create_topics"]] = answer
        wanted = dict.fromkeys(("old", "new", "bad"), NewTopicSpec(3, configs={"a": "1"}))
        found = await ask(broker, create_topics, wanted)
        (sent,) = broker.of(NEW_APIS["create_topics"])
    assert (found["old"], found["new"]) == (None, None)
    assert "Creating topic bad" in found["bad"].message
    assert "no: it says" in found["bad"].message
    assert [(one.num_partitions, one.replication_factor) for one in sent.topics] == [(3, -1)] * 3


async def test_named_replicas_say_how_many_partitions_there_are():
    async with FakeBroker() as broker:
        broker.answers[NEW_APIS["create_topics"]] = made(new="none")
        await ask(broker, create_topics, {"new": NewTopicSpec(2, replicas=[[1, 2], [2, 1]])})
        (one,) = broker.of(NEW_APIS["create_topics"])[0].topics
    assert (one.num_partitions, one.replication_factor) == (-1, -1)
    assert [tuple(a.broker_ids) for a in one.assignments] == [(1, 2), (2, 1)]


async def test_a_topic_that_is_gone_already_is_as_wanted():
    async with FakeBroker() as broker:
        broker.answers[NEW_APIS["delete_topics"]] = deleted.DeleteTopicsResponse(
            throttle_time=NOW,
            responses=tuple(
                deleted.DeletableTopicResult(name=name, error_code=ErrorCode[error])
                for name, error in (
                    ("gone", "unknown_topic_or_partition"),
                    ("mine", "topic_authorization_failed"),
                )
            ),
        )
        found = await ask(broker, delete_topics, ["gone", "mine"])
    assert found["gone"] is None
    assert isinstance(found["mine"], NotAuthorized)


async def test_partitions_that_are_there_already_are_a_fault():
    async with FakeBroker() as broker:
        broker.answers[NEW_APIS["create_partitions"]] = grown.CreatePartitionsResponse(
            throttle_time=NOW,
            results=(
                grown.CreatePartitionsTopicResult(
                    name="a", error_code=ErrorCode.invalid_partitions
                ),
            ),
        )
        found = await ask(broker, create_partitions, {"a": 3})
    assert "INVALID_PARTITIONS" in found["a"].message


async def test_a_change_goes_to_the_controller_and_when_that_hangs_to_another_broker():
    async with brokers(2) as (controller, other):
        key = NEW_APIS["create_topics"]
        for broker in (controller, other):
            offer_all(broker)
            broker.answers[key] = made(new="none")
        assert await ask(other, create_topics, {"new": NewTopicSpec(1)}) == {"new": None}
        assert len(controller.of(key)) == 1
        controller.answers[key] = Hang
        found = await ask(other, create_topics, {"new": NewTopicSpec(1)}, timeout_s=3.0)
        assert found == {"new": None}
        assert len(other.of(key)) == 1


@pytest.mark.parametrize("is_lost", [False, True], ids=["in time", "after the first piece"])
async def test_what_was_answered_is_kept_when_the_budget_ends(is_lost):
    async with FakeBroker() as broker:

        async def send(connection, items):
            if is_lost and "b" in items:
                await connection.request(*hanging)
            return dict.fromkeys(items, 1)

        from jobs.cluster.protocol.metadata import metadata_request
        from jobs.cluster.protocol.transport.apis import METADATA

        hanging = (METADATA, metadata_request([]))
        if is_lost:
            broker.answers[fake_broker.METADATA] = Hang
        async with cluster_of(broker) as cluster:
            found = await Pieces("Asking", send, 1).ask(cluster, ["a", "b", "c"], 0.5)
        assert found["a"] == 1
        assert [isinstance(found[one], int) for one in "bc"] == [not is_lost, not is_lost]
