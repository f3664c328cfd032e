"""What a cluster of each version tells of itself, beside what the version's own tools say."""

from __future__ import annotations

import asyncio
import json

import pytest

from jobs.cluster.admin.configs import describe_topic_configs
from jobs.cluster.admin.groups import describe_groups, list_groups
from jobs.cluster.admin.log_dirs import describe_replica_logs, read_log_dirs
from jobs.cluster.admin.offsets import read_offset_ranges, read_open_transactions
from jobs.cluster.admin.quorum import NoQuorum, describe_quorum
from jobs.cluster.admin.reassignments import list_reassignments
from jobs.cluster.check import check_connection
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import OpenTransaction, TopicPartition
from tests.live.groups import committed, consume, consuming, new_group
from tests.live.records import produce
from tests.live.topics import new_topic
from tests.live.versions.versions import GROUPS, LOG_DIRS, QUORUM, TOPICS, tool
from tests.live.whole_batches import Transactions, opened
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def client(cluster):
    with ClusterClient(cluster.connection, timeout_s=60) as client:
        yield client


@pytest.mark.capability("Registration")
def test_the_check_at_registration_names_the_cluster_and_its_rights(cluster):
    found = check_connection(cluster.connection, timeout_s=60)
    assert found.cluster_id == cluster.cluster_id
    assert [(one.broker_id, one.rack) for one in found.brokers] == [(1, "dc-a")]
    assert {"CREATE", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"} <= found.operations
    assert not [text for text in found.findings if "cannot be" in text]


@pytest.mark.capability("Topics and their configs")
def test_topics_and_their_configs_are_those_of_the_tool(cluster, client):
    topic = new_topic(cluster, 2, cleanup_policy="compact", max_message_bytes="2000000")
    lines = tool(cluster, TOPICS, "--describe", "--topic", topic).splitlines()
    said = next(line for line in lines if line.startswith("Topic: "))
    assert "PartitionCount: 2" in said
    told = dict(pair.split("=") for pair in said.partition("Configs: ")[2].strip().split(","))
    found = describe_topic_configs(client, [topic])[topic]
    overrides = {key: one.value for key, one in found.items() if one.is_override}
    assert {key: told[key] for key in overrides} == overrides
    assert overrides == {"cleanup.policy": "compact", "max.message.bytes": "2000000"}


@pytest.mark.capability("Consumer groups and lag")
def test_a_group_its_members_and_its_lag_are_those_of_the_tool(cluster, client):
    topic, group = new_topic(cluster), new_group()
    produce(cluster, topic, 50)
    consume(cluster, group, topic, 20)
    with consuming(cluster, group, topic) as member:
        eventually(lambda: member.consume(1, 0.5) or member.assignment(), 60)
        found = describe_groups(client, [group])[group]
        said = tool(cluster, GROUPS, "--describe", "--group", group, "--state")
    assert (found.state, found.member_count, found.error) == ("Stable", 1, None)
    assert "Stable" in said
    offsets = tool(cluster, GROUPS, "--describe", "--group", group)
    told = next(line.split() for line in offsets.splitlines() if topic in line)
    where = TopicPartition(topic, 0)
    end = read_offset_ranges(client, [where], with_timestamps=True)[where]
    at = committed(cluster, group)[str(where)]
    assert [str(at), str(end.end_offset), str(end.end_offset - at)] == told[3:6]
    assert (end.error, at) == (None, 20)
    assert group in {one.group_id for one in list_groups(client).groups}


@pytest.mark.capability("Open transactions")
def test_an_open_transaction_is_found_with_its_name(cluster, client):
    topic = new_topic(cluster, 2)
    where, other = TopicPartition(topic, 0), TopicPartition(topic, 1)
    assert read_open_transactions(client, [where, other]) == {where: None, other: None}
    writer = Transactions(cluster, topic)
    writer.begin()
    writer.write(3)
    found = read_open_transactions(client, [where, other])
    writer.end(commit=False)
    assert found[other] is None
    assert isinstance(found[where], OpenTransaction)
    named = (found[where].transactional_id, found[where].state, found[where].is_known)
    assert named == (writer.name, "Ongoing", True)
    assert (found[where].start_offset, found[where].timeout_ms) == (0, 600_000)


@pytest.mark.capability("Log directories")
def test_the_size_of_a_replica_is_that_of_the_tool(cluster):
    topic = new_topic(cluster)
    produce(cluster, topic, 100)
    where = TopicPartition(topic, 0)

    async def ask():
        async with opened(cluster.connection) as door:
            return await describe_replica_logs(await door.connection_to(1, "offsets"), [where])

    said = tool(cluster, LOG_DIRS, "--describe", "--topic-list", topic)
    told = json.loads(next(line for line in said.splitlines() if line.startswith("{")))
    sizes = [
        replica["size"]
        for broker in told["brokers"]
        for folder in broker["logDirs"]
        for replica in folder["partitions"]
    ]
    assert sizes == [asyncio.run(ask()).replicas[where].size_bytes]


@pytest.mark.capability("Log directories")
def test_the_space_of_a_volume_is_told_from_kafka_3_3_on(client, version):
    (answer,) = read_log_dirs(client, [1]).values()
    assert (answer.replicas, answer.faults) == ({}, {})
    for total, usable in answer.volumes.values():
        assert 0 < usable <= total
    assert bool(answer.volumes) is (version.number >= (3, 3))


@pytest.mark.capability("Reassignments")
def test_that_no_partition_is_reassigned_is_told(cluster):
    topic = new_topic(cluster)

    async def ask():
        async with opened(cluster.connection) as door:
            return await list_reassignments(door, [TopicPartition(topic, 0)])

    assert asyncio.run(ask()) == {}


@pytest.mark.capability("Quorum")
def test_the_quorum_is_that_of_the_tool_and_zookeeper_has_none(cluster, version):
    if version.has_zookeeper:
        with pytest.raises(NoQuorum, match="ZooKeeper"):
            describe_quorum(cluster.connection)
        return
    found = describe_quorum(cluster.connection)
    said = tool(cluster, QUORUM, "describe", "--status")
    told = dict(line.split(":", 1) for line in said.splitlines() if ":" in line)
    assert (found.leader_id, found.leader_epoch) == (
        int(told["LeaderId"]),
        int(told["LeaderEpoch"]),
    )
    assert [one.id for one in found.voters] == [1]
    assert [one.directory_id is not None for one in found.voters] == [
        "directoryId" in told["CurrentVoters"]
    ]
    assert [one.last_caught_up_at_ms is not None for one in found.voters] == [True]
