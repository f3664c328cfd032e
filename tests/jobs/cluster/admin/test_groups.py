"""Groups: classic ones and those of KIP-848 in one answer, and offsets that follow their coordinator."""

import struct

import pytest
from kio.schema.consumer_group_describe.v0 import response as consumers
from kio.schema.describe_groups.v6 import response as classics
from kio.schema.errors import ErrorCode
from kio.schema.list_groups.v5 import response as listed
from kio.schema.offset_commit.v8 import response as committed

from jobs.cluster.admin.groups import alter_group_offsets, describe_groups, list_groups
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.cluster.errors import ClusterFault
from tests.jobs.cluster.admin.asking import NEW_APIS, ask, offer_all
from tests.jobs.cluster.protocol import fake_broker
from tests.jobs.cluster.protocol.fake_broker import NOW, FakeBroker
from tests.jobs.cluster.protocol.fake_cluster import brokers
from tests.jobs.cluster.protocol.groups.coordinating import coordinators

WHERE = TopicPartition("orders", 3)
# ConsumerProtocolAssignment 0: one topic with one partition, no user data.
ASSIGNMENT = struct.pack(">hih6sii", 0, 1, 6, b"orders", 1, 3) + struct.pack(">i", -1)


def member(assignment=ASSIGNMENT):
    return classics.DescribedGroupMember(
        member_id="m",
        client_id="c",
        client_host="/127.0.0.1",
        member_metadata=b"",
        member_assignment=assignment,
    )


def classic(group_id, error="none", assignment=ASSIGNMENT, protocol_type="consumer"):
    return classics.DescribedGroup(
        error_code=ErrorCode[error],
        error_message=None,
        group_id=group_id,
        group_state="Stable",
        protocol_type=protocol_type,
        protocol_data="range",
        members=(member(assignment),),
    )


def consumer(group_id, error="none"):
    held = consumers.TopicPartitions(topic_id=None, topic_name="orders", partitions=(3,))
    own = consumers.Assignment(topic_partitions=(held,))
    one = consumers.Member(
        member_id="m",
        member_epoch=1,
        client_id="c",
        client_host="/127.0.0.1",
        subscribed_topic_names=("orders",),
        assignment=own,
        target_assignment=own,
    )
    return consumers.DescribedGroup(
        error_code=ErrorCode[error],
        group_id=group_id,
        group_state="Reconciling",
        group_epoch=1,
        assignment_epoch=1,
        assignor_name="uniform",
        members=(one,),
    )


def describing(broker, classic_groups, consumer_groups=()):
    broker.answers[fake_broker.FIND_COORDINATOR] = coordinators(lambda _: 1)
    broker.answers[NEW_APIS["describe_groups"]] = classics.DescribeGroupsResponse(
        throttle_time=NOW, groups=tuple(classic_groups)
    )
    broker.answers[NEW_APIS["consumer_group_describe"]] = consumers.ConsumerGroupDescribeResponse(
        throttle_time=NOW, groups=tuple(consumer_groups)
    )


async def test_groups_of_both_protocols_are_described_and_one_that_is_not_there_is_dead():
    async with FakeBroker() as broker:
        absent = "group_id_not_found"
        describing(
            broker,
            [classic("old"), classic("new", absent), classic("none", absent)],
            [consumer("new"), consumer("none", absent)],
        )
        found = await ask(broker, describe_groups, ["old", "new", "none"])
    old, new, none = (found[name] for name in ("old", "new", "none"))
    assert (old.type, old.state, old.assignor) == ("classic", "Stable", "range")
    assert (new.type, new.state, new.assignor) == ("consumer", "Reconciling", "uniform")
    assert old.assigned == new.assigned == {WHERE}
    assert (old.member_count, new.coordinator) == (1, 1)
    assert (none.state, none.member_count, none.error) == ("Dead", 0, None)


async def test_where_brokers_offer_a_protocol_and_refuse_it_there_is_no_group_of_it():
    # Kafka 3.9.1, and 4.3.1 where group.version is not finalized.
    async with FakeBroker() as broker:
        absent, refused = "group_id_not_found", "unsupported_version"
        describing(broker, [classic("none", absent)], [consumer("none", refused)])
        (none,) = (await ask(broker, describe_groups, ["none"])).values()
    assert (none.state, none.error) == ("Dead", None)


@pytest.mark.parametrize(
    ("assignment", "protocol_type"),
    [
        pytest.param(b"", "consumer", id="in a rebalance"),
        pytest.param(b"\xff\xff", "consumer", id="no assignment"),
        pytest.param(ASSIGNMENT, "connect", id="another protocol"),
    ],
)
async def test_what_members_wrote_is_not_trusted(assignment, protocol_type):
    async with FakeBroker() as broker:
        one = classic("g", assignment=assignment, protocol_type=protocol_type)
        describing(broker, [one])
        found = (await ask(broker, describe_groups, ["g"]))["g"]
    assert (found.assigned, found.member_count, found.error) == (frozenset(), 1, None)


async def test_a_group_that_may_not_be_described_has_its_error():
    async with FakeBroker() as broker:
        describing(broker, [classic("g", "group_authorization_failed")])
        found = (await ask(broker, describe_groups, ["g"]))["g"]
    assert (found.state, found.member_count) == ("Unknown", None)
    assert "GROUP_AUTHORIZATION_FAILED" in found.error


async def test_consumer_groups_are_listed_and_those_that_only_commit():
    kinds = {"a": "consumer", "b": "", "c": "share", "d": "connect"}
    async with FakeBroker() as broker:
        broker.answers[NEW_APIS["list_groups"]] = listed.ListGroupsResponse(
            throttle_time=NOW,
            error_code=ErrorCode.none,
            groups=tuple(
                listed.ListedGroup(
                    group_id=name, protocol_type=kind, group_state="Empty", group_type="Classic"
                )
                for name, kind in kinds.items()
            ),
        )
        found = await ask(broker, list_groups)
    assert [(one.group_id, one.state, one.type) for one in found.groups] == [
        ("a", "Empty", "classic"),
        ("b", "Empty", "classic"),
    ]


def answer(error="none"):
    one = committed.OffsetCommitResponsePartition(partition_index=3, error_code=ErrorCode[error])
    topic = committed.OffsetCommitResponseTopic(name="orders", partitions=(one,))
    return committed.OffsetCommitResponse(throttle_time=NOW, topics=(topic,))


async def test_offsets_follow_a_coordinator_that_moves():
    async with brokers(2) as (one, other):
        for broker in (one, other):
            offer_all(broker)
        told = iter([1, 2])
        one.answers[fake_broker.FIND_COORDINATOR] = coordinators(lambda _: next(told))
        other.answers[fake_broker.FIND_COORDINATOR] = one.answers[fake_broker.FIND_COORDINATOR]
        one.answers[NEW_APIS["offset_commit"]] = answer("not_coordinator")
        other.answers[NEW_APIS["offset_commit"]] = answer()
        wanted = {WHERE: CommittedOffset(7, "m"), TopicPartition("x", 0): CommittedOffset(None)}
        assert await ask(one, alter_group_offsets, "g", wanted) == {WHERE: None}
        (sent,) = other.of(NEW_APIS["offset_commit"])
    (topic,) = sent.topics
    assert [(p.committed_offset, p.committed_metadata) for p in topic.partitions] == [(7, "m")]
    assert (sent.member_id, sent.generation_id_or_member_epoch) == ("", -1)


async def test_a_partition_that_is_refused_says_why():
    async with FakeBroker() as broker:
        broker.answers[fake_broker.FIND_COORDINATOR] = coordinators(lambda _: 1)
        broker.answers[NEW_APIS["offset_commit"]] = answer("unknown_member_id")
        found = await ask(broker, alter_group_offsets, "g", {WHERE: CommittedOffset(7)})
    assert "UNKNOWN_MEMBER_ID" in found[WHERE]


async def test_a_coordinator_that_never_comes_is_a_fault_in_time():
    async with FakeBroker() as broker:
        broker.answers[fake_broker.FIND_COORDINATOR] = coordinators(
            lambda _: 1, ErrorCode.coordinator_not_available
        )
        offsets = {WHERE: CommittedOffset(7)}
        with pytest.raises(ClusterFault, match="COORDINATOR_NOT_AVAILABLE"):
            await ask(broker, alter_group_offsets, "g", offsets, timeout_s=0.5)
