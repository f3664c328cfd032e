"""Moves of replicas, elections, settings and replicas' logs: the requests, and what the answers mean."""

import pytest
from kio.schema.alter_partition_reassignments.v1 import response as altered
from kio.schema.describe_cluster.v2 import response as described
from kio.schema.describe_configs.v4 import response as configs
from kio.schema.describe_log_dirs.v2 import response as old_logs
from kio.schema.describe_log_dirs.v4 import response as logs
from kio.schema.describe_topic_partitions.v0 import response as parts
from kio.schema.errors import ErrorCode
from kio.schema.incremental_alter_configs.v1 import response as changed
from kio.schema.list_offsets.v5 import response as offsets
from kio.schema.list_partition_reassignments.v0 import response as listed

from jobs.cluster.admin.brokers import list_brokers
from jobs.cluster.admin.configs import (
    ConfigSource,
    ConfigValue,
    Resource,
    ResourceType,
    alter_configs,
    read_configs,
)
from jobs.cluster.admin.log_dirs import ReplicaLog, describe_replica_logs
from jobs.cluster.admin.partitions import PartitionReplicas, describe_partitions
from jobs.cluster.admin.reassignments import (
    NoReassignment,
    Reassignment,
    alter_reassignments,
    list_reassignments,
)
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.errors import ClusterFault, NotAuthorized, UnknownTopicOrPartition
from jobs.cluster.protocol.data.offsets import replica_end_offsets
from jobs.cluster.protocol.errors import VersionNotOffered
from jobs.cluster.protocol.transport.connection_pool import COORDINATOR
from jobs.cluster.read_only import VARIABLE, ReadOnly
from tests.jobs.cluster.protocol.fake_broker import LIST_OFFSETS, NOW, OFFERED
from tests.jobs.cluster.protocol.fake_cluster import brokers, cluster_of

CONFIGS, LOG_DIRS, ELECT, ALTER_CONFIGS, ALTER, LIST, CLUSTER, PARTITIONS = (
    32,
    35,
    43,
    44,
    45,
    46,
    60,
    75,
)
ACTING = OFFERED | {
    CONFIGS: (1, 4),
    LOG_DIRS: (1, 5),
    ELECT: (0, 2),
    ALTER_CONFIGS: (0, 1),
    ALTER: (0, 1),
    LIST: (0, 0),
    CLUSTER: (0, 2),
    PARTITIONS: (0, 0),
}
ZERO, ONE = TopicPartition("orders", 0), TopicPartition("orders", 1)
ORDERS = Resource(ResourceType.TOPIC, "orders")


async def asking(ask, answers, offered=ACTING):
    """Return what `ask(cluster)` returns, and the broker that was queried."""
    async with brokers() as (one,), cluster_of(one) as cluster:
        one.offered = dict(offered)
        one.answers.update(answers)
        return await ask(cluster), one


def altered_answer(*errors, whole="none"):
    made = tuple(
        altered.ReassignablePartitionResponse(
            partition_index=n, error_code=ErrorCode[error], error_message=None
        )
        for n, error in enumerate(errors)
    )
    topic = altered.ReassignableTopicResponse(name="orders", partitions=made)
    return altered.AlterPartitionReassignmentsResponse(
        throttle_time=NOW,
        error_code=ErrorCode[whole],
        error_message=None,
        responses=(topic,) if made else (),
    )


async def test_replicas_are_moved_and_a_move_is_cancelled():
    wanted = {ZERO: (1, 3), ONE: None}
    found, one = await asking(
        lambda cluster: alter_reassignments(cluster, wanted),
        {ALTER: altered_answer("none", "none")},
    )
    assert found == {ZERO: None, ONE: None}
    (sent,) = one.of(ALTER)
    (topic,) = sent.topics
    assert [partition.replicas for partition in topic.partitions] == [(1, 3), None]


async def test_a_move_that_is_over_cannot_be_cancelled():
    found, _ = await asking(
        lambda cluster: alter_reassignments(cluster, {ZERO: None, ONE: (1, 9)}),
        {ALTER: altered_answer("no_reassignment_in_progress", "invalid_replica_assignment")},
    )
    assert isinstance(found[ZERO], NoReassignment)
    assert "orders-0" in str(found[ZERO])
    assert "INVALID_REPLICA_ASSIGNMENT" in str(found[ONE])


async def test_who_may_not_move_replicas_is_told_the_right():
    with pytest.raises(NotAuthorized) as told:
        await asking(
            lambda cluster: alter_reassignments(cluster, {ZERO: (1,)}),
            {ALTER: altered_answer(whole="cluster_authorization_failed")},
        )
    assert "ALTER on the cluster" in told.value.hint


async def test_moves_in_progress_are_listed():
    partition = listed.OngoingPartitionReassignment(
        partition_index=0, replicas=(1, 2, 3), adding_replicas=(3,), removing_replicas=(2,)
    )
    answer = listed.ListPartitionReassignmentsResponse(
        throttle_time=NOW,
        error_code=ErrorCode.none,
        error_message=None,
        topics=(listed.OngoingTopicReassignment(name="orders", partitions=(partition,)),),
    )
    found, one = await asking(list_reassignments, {LIST: answer})
    assert found == {ZERO: Reassignment((1, 2, 3), (3,), (2,))}
    assert one.of(LIST)[0].topics is None


async def test_settings_are_read_with_where_they_are_set():
    def entry(name, value, source):
        return configs.DescribeConfigsResourceResult(
            name=name,
            value=value,
            read_only=False,
            config_source=source,
            is_sensitive=False,
            synonyms=(),
            documentation=None,
        )

    result = configs.DescribeConfigsResult(
        error_code=ErrorCode.none,
        error_message=None,
        resource_type=2,
        resource_name="orders",
        configs=(entry("min.insync.replicas", "2", 1), entry("retention.ms", "7", 5)),
    )
    answer = configs.DescribeConfigsResponse(throttle_time=NOW, results=(result,))
    found, _ = await asking(
        lambda cluster: read_configs(cluster, ORDERS, ("min.insync.replicas", "retention.ms")),
        {CONFIGS: answer},
    )
    assert found == {
        "min.insync.replicas": ConfigValue("2", ConfigSource.DYNAMIC_TOPIC_CONFIG),
        "retention.ms": ConfigValue("7", ConfigSource.DEFAULT_CONFIG),
    }


def changed_answer(error="none"):
    one = changed.AlterConfigsResourceResponse(
        error_code=ErrorCode[error], error_message="no", resource_type=2, resource_name="orders"
    )
    return changed.IncrementalAlterConfigsResponse(throttle_time=NOW, responses=(one,))


async def test_settings_are_set_and_deleted():
    _, one = await asking(
        lambda cluster: alter_configs(cluster, ORDERS, {"a": "1", "b": None}),
        {ALTER_CONFIGS: changed_answer()},
    )
    (sent,) = one.of(ALTER_CONFIGS)
    told = [(c.name, c.config_operation, c.value) for c in sent.resources[0].configs]
    assert told == [("a", 0, "1"), ("b", 1, None)]


async def test_a_refused_setting_says_what_the_cluster_said():
    with pytest.raises(ClusterFault, match=r"topic orders.*no"):
        await asking(
            lambda cluster: alter_configs(cluster, ORDERS, {"a": "1"}),
            {ALTER_CONFIGS: changed_answer("invalid_config")},
        )


def partition_of(index, leader, error="none", elr=None):
    return parts.DescribeTopicPartitionsResponsePartition(
        error_code=ErrorCode[error],
        partition_index=index,
        leader_id=leader,
        leader_epoch=7,
        replica_nodes=(1, 2, 4),
        isr_nodes=(1,),
        eligible_leader_replicas=elr,
        last_known_elr=None,
        offline_replicas=(4,),
    )


def parts_answer(*partitions, error="none", cursor=None):
    topic = parts.DescribeTopicPartitionsResponseTopic(
        error_code=ErrorCode[error], name="orders", topic_id=None, partitions=partitions
    )
    following = None
    if cursor is not None:
        following = parts.Cursor(topic_name="orders", partition_index=cursor)
    return parts.DescribeTopicPartitionsResponse(
        throttle_time=NOW, topics=(topic,), next_cursor=following
    )


async def test_partitions_are_told_with_their_eligible_leaders_also_without_a_leader():
    answer = parts_answer(partition_of(0, 1, elr=(2,)), partition_of(1, -1, "leader_not_available"))
    found, _ = await asking(
        lambda cluster: describe_partitions(cluster, ["orders"]), {PARTITIONS: answer}
    )
    assert found[ZERO] == PartitionReplicas(
        "orders", 0, 1, 7, (1, 2, 4), (1,), elr=(2,), offline=(4,)
    )
    assert found[ONE].leader is None


async def test_partitions_are_read_to_the_last_page():
    pages = [parts_answer(partition_of(0, 1), cursor=1), parts_answer(partition_of(1, 1))]
    found, one = await asking(describe_partitions, {PARTITIONS: lambda _: pages.pop(0)})
    assert set(found) == {ZERO, ONE}
    assert one.of(PARTITIONS)[1].cursor.partition_index == 1


async def test_a_topic_that_does_not_exist_is_a_fault():
    with pytest.raises(UnknownTopicOrPartition, match="orders"):
        await asking(
            lambda cluster: describe_partitions(cluster, ["orders"]),
            {PARTITIONS: parts_answer(error="unknown_topic_or_partition")},
        )


async def test_fenced_brokers_are_listed_too():
    def broker(number, *, is_fenced):
        return described.DescribeClusterBroker(
            broker_id=number, host="b", port=9092, rack="r", is_fenced=is_fenced
        )

    answer = described.DescribeClusterResponse(
        throttle_time=NOW,
        error_code=ErrorCode.none,
        cluster_id="the-cluster",
        brokers=(broker(1, is_fenced=False), broker(4, is_fenced=True)),
    )
    found, one = await asking(list_brokers, {CLUSTER: answer})
    assert {number: each.is_fenced for number, each in found.items()} == {1: False, 4: True}
    assert one.of(CLUSTER)[0].include_fenced_brokers is True


async def test_a_cluster_that_does_not_tell_of_fenced_brokers_is_named():
    with pytest.raises(VersionNotOffered):
        await asking(list_brokers, {}, ACTING | {CLUSTER: (0, 1)})


async def at_a_broker(ask, answers, offered=ACTING):
    async with brokers() as (one,), cluster_of(one) as cluster:
        one.offered = dict(offered)
        one.answers.update(answers)
        return await ask(await cluster.connection_at(one.server, COORDINATOR)), one


async def test_the_end_of_a_replica_is_asked_for_as_a_debugging_consumer():
    def partition(index, error, offset):
        return offsets.ListOffsetsPartitionResponse(
            partition_index=index, error_code=ErrorCode[error], offset=offset
        )

    answer = offsets.ListOffsetsResponse(
        throttle_time=NOW,
        topics=(
            offsets.ListOffsetsTopicResponse(
                name="orders",
                partitions=(
                    partition(0, "none", 42),
                    partition(1, "unknown_topic_or_partition", -1),
                ),
            ),
        ),
    )
    found, one = await at_a_broker(
        lambda connection: replica_end_offsets(connection, [ZERO, ONE]), {LIST_OFFSETS: answer}
    )
    assert found[ZERO] == 42
    assert isinstance(found[ONE], UnknownTopicOrPartition)
    assert one.of(LIST_OFFSETS)[0].replica_id == -2


async def test_a_copy_between_disks_does_not_hide_the_replica_and_a_broken_disk_is_told():
    def directory(name, error, *found, **sizes):
        made = tuple(
            logs.DescribeLogDirsPartition(
                partition_index=0, partition_size=size, offset_lag=0, is_future_key=is_future
            )
            for size, is_future in found
        )
        topic = logs.DescribeLogDirsTopic(name="orders", partitions=made)
        return logs.DescribeLogDirsResult(
            error_code=ErrorCode[error], log_dir=name, topics=(topic,) if made else (), **sizes
        )

    answer = logs.DescribeLogDirsResponse(
        throttle_time=NOW,
        error_code=ErrorCode.none,
        results=(
            directory("/a", "none", (700, False), total_bytes=1000, usable_bytes=300),
            directory("/b", "none", (90, True)),
            directory("/c", "kafka_storage_error"),
        ),
    )
    found, _ = await at_a_broker(describe_replica_logs, {LOG_DIRS: answer})
    assert found.replicas == {ZERO: ReplicaLog("/a", 700, 0, is_future=False)}
    assert set(found.faults) == {"/c"}
    assert found.volumes == {"/a": (1000, 300)}


async def test_replicas_of_a_broker_that_does_not_tell_the_sizes_of_volumes_are_read():
    partition = old_logs.DescribeLogDirsPartition(
        partition_index=0, partition_size=700, offset_lag=0, is_future_key=False
    )
    topics = (old_logs.DescribeLogDirsTopic(name="orders", partitions=(partition,)),)
    result = old_logs.DescribeLogDirsResult(error_code=ErrorCode.none, log_dir="/a", topics=topics)
    answer = old_logs.DescribeLogDirsResponse(throttle_time=NOW, results=(result,))
    found, _ = await at_a_broker(
        describe_replica_logs, {LOG_DIRS: answer}, ACTING | {LOG_DIRS: (0, 2)}
    )
    assert found.replicas == {ZERO: ReplicaLog("/a", 700, 0, is_future=False)}
    assert found.volumes == {}


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda c: alter_reassignments(c, {ZERO: (1,)}), id="moves"),
        pytest.param(lambda c: alter_configs(c, ORDERS, {"a": "1"}), id="settings"),
    ],
)
async def test_nothing_is_sent_while_crosslog_is_read_only(ask, monkeypatch):
    monkeypatch.setenv(VARIABLE, "1")
    with pytest.raises(ReadOnly):
        await asking(ask, {})
