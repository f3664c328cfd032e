"""Every node describes the quorum, and what is missing is named."""

import base64
import uuid

import pytest
from kio.schema.describe_quorum.v0 import response as v0
from kio.schema.describe_quorum.v2 import response as v2
from kio.schema.errors import ErrorCode

from jobs.cluster.admin.quorum import (
    NoQuorum,
    QuorumEndpoint,
    QuorumNode,
    QuorumReplica,
    read_quorum,
)
from jobs.cluster.errors import ClusterFault, ClusterIdChanged, NotAuthorized
from jobs.cluster.protocol.errors import LeaderMoved
from tests.jobs.cluster.protocol.fake_broker import FETCH, OFFERED
from tests.jobs.cluster.protocol.fake_cluster import brokers, cluster_of
from tests.jobs.cluster.protocol.fake_controller import controllers, log_answer

DESCRIBE_QUORUM = 55
DISK = uuid.UUID(int=77 << 64)
KRAFT = OFFERED | {DESCRIBE_QUORUM: (0, 2)}


def replica(node, *, end=100, fetched=1_000, caught_up=2_000, disk=DISK):
    return v2.ReplicaState(
        replica_id=node,
        replica_directory_id=disk,
        log_end_offset=end,
        last_fetch_timestamp=fetched,
        last_caught_up_timestamp=caught_up,
    )


def partition(**fields):
    standard = {
        "partition_index": 0,
        "error_code": ErrorCode.none,
        "error_message": None,
        "leader_id": 2,
        "leader_epoch": 9,
        "high_watermark": 99,
        "current_voters": (replica(2, fetched=-1), replica(1)),
        "observers": (replica(7, end=-1, fetched=-1, caught_up=-1, disk=None),),
    }
    return v2.PartitionData(**(standard | fields))


def answer(*partitions, error=ErrorCode.none, message=None):
    topics = (v2.TopicData(topic_name="__cluster_metadata", partitions=partitions),)
    listener = v2.Listener(name="CONTROLLER", host="c2", port=9093)
    return v2.DescribeQuorumResponse(
        error_code=error,
        error_message=message,
        topics=topics if partitions else (),
        nodes=(v2.Node(node_id=2, listeners=(listener,)),),
    )


async def described(given, *, offered=KRAFT, budget_s=10.0, **settings):
    async with brokers() as (one,), cluster_of(one, **settings) as cluster:
        one.offered = dict(offered)
        one.answers[DESCRIBE_QUORUM] = given
        return await read_quorum(cluster, budget_s=budget_s, now_s=lambda: 5.0)


async def test_leader_replicas_and_endpoints_are_told():
    found = await described(answer(partition()))
    disk = base64.urlsafe_b64encode(DISK.bytes).decode().rstrip("=")
    assert (found.leader_id, found.leader_epoch, found.high_watermark) == (2, 9, 99)
    assert found.voters == (
        QuorumReplica(1, disk, 100, 1_000, 2_000),
        QuorumReplica(2, disk, 100, None, 2_000),
    )
    assert found.observers == (QuorumReplica(7, None, None, None, None),)
    assert found.nodes == (QuorumNode(2, (QuorumEndpoint("CONTROLLER", "c2", 9093),)),)
    assert found.described_at_ms == 5_000


async def test_a_leader_that_knows_no_high_watermark_yet_tells_none():
    found = await described(answer(partition(high_watermark=-1, leader_id=-1)))
    assert (found.leader_id, found.high_watermark) == (None, None)


async def test_an_old_controller_tells_neither_times_nor_directories():
    old = v0.ReplicaState(replica_id=1, log_end_offset=3)
    given = v0.DescribeQuorumResponse(
        error_code=ErrorCode.none,
        topics=(
            v0.TopicData(
                topic_name="__cluster_metadata",
                partitions=(
                    v0.PartitionData(
                        partition_index=0,
                        error_code=ErrorCode.none,
                        leader_id=1,
                        leader_epoch=1,
                        high_watermark=3,
                        current_voters=(old,),
                        observers=(),
                    ),
                ),
            ),
        ),
    )
    found = await described(given, offered=OFFERED | {DESCRIBE_QUORUM: (0, 0)})
    assert found.voters == (QuorumReplica(1, None, 3, None, None),)
    assert found.nodes == ()


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(answer(error=ErrorCode.cluster_authorization_failed), id="of the request"),
        pytest.param(
            answer(partition(error_code=ErrorCode.topic_authorization_failed)),
            id="of the partition",
        ),
    ],
)
async def test_who_may_not_describe_the_quorum_is_told_which_right_is_missing(given):
    with pytest.raises(NotAuthorized) as told:
        await described(given)
    assert "DESCRIBE on the cluster" in told.value.hint


@pytest.mark.parametrize(
    ("given", "offered"),
    [
        pytest.param(answer(partition()), OFFERED, id="which does not know the request"),
        pytest.param(answer(error=ErrorCode.unsupported_version), KRAFT, id="which refuses it"),
        pytest.param(answer(), KRAFT, id="which has no such log"),
    ],
)
async def test_a_cluster_with_zookeeper_is_named(given, offered):
    with pytest.raises(NoQuorum, match="ZooKeeper"):
        await described(given, offered=offered)


async def test_what_the_cluster_says_about_an_error_is_passed_on():
    with pytest.raises(ClusterFault, match="not today"):
        await described(answer(error=ErrorCode.invalid_request, message="not today"))


async def test_of_the_controllers_the_one_that_leads_is_found():
    refused = answer(partition(error_code=ErrorCode.not_leader_or_follower))
    async with brokers(3) as made, cluster_of(*made) as cluster:
        for one in made:
            one.offered = {18: (0, 4), DESCRIBE_QUORUM: (0, 2)}
            one.answers[DESCRIBE_QUORUM] = refused
        made[2].answers[DESCRIBE_QUORUM] = answer(partition())
        assert (await read_quorum(cluster)).leader_id == 2


async def test_a_leader_outside_of_the_bootstrap_list_is_found_through_the_log():
    refused = answer(partition(error_code=ErrorCode.not_leader_or_follower))
    async with controllers(2) as (one, two), cluster_of(one) as cluster:
        one.answers[DESCRIBE_QUORUM] = refused
        one.answers[FETCH] = log_answer(
            error="not_leader_or_follower", leader=(2, 1), at=("127.0.0.1", two.port)
        )
        two.answers[FETCH] = log_answer(leader=(2, 1))
        two.answers[DESCRIBE_QUORUM] = answer(partition())
        assert (await read_quorum(cluster)).leader_id == 2


async def test_a_quorum_that_elects_is_asked_again():
    refused = [answer(partition(error_code=ErrorCode.not_leader_or_follower))] * 3
    found = await described(lambda _: refused.pop() if refused else answer(partition()))
    assert found.leader_id == 2


async def test_a_quorum_without_a_leader_is_given_up_when_the_budget_is_over():
    refused = answer(partition(error_code=ErrorCode.not_leader_or_follower))
    with pytest.raises(LeaderMoved):
        await described(refused, budget_s=0.1)


async def test_the_quorum_of_another_cluster_is_not_taken_for_the_registered_one():
    with pytest.raises(ClusterIdChanged):
        await described(answer(partition()), cluster_id="the-registered-one", budget_s=0.1)
