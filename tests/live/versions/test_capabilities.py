"""What brokers of several versions offer, and what crosslog makes of it."""

import asyncio
import re

import pytest

from jobs.cluster.admin.groups import describe_groups
from jobs.cluster.admin.quorum import NoQuorum, describe_quorum
from jobs.cluster.capabilities.reader import read_versions
from jobs.cluster.capabilities.releases import Mode
from jobs.cluster.capabilities.verdicts import Verdict
from jobs.cluster.check import check_connection
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import TopicPartition
from jobs.cluster.protocol.cluster import RawCluster
from jobs.cluster.protocol.data.fetch import FetchPosition, fetch
from jobs.cluster.protocol.data.fetch_format import FetchLimits
from jobs.commands.replication import replicate
from jobs.lab.lab import Lab
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port
from jobs.replication.flow.spec import FlowSpec
from tests.jobs.cluster.capabilities.recorded import recorded
from tests.live.kafka_tools import FEATURES, run_tool
from tests.live.records import produce
from tests.live.topics import new_topic
from tests.waiting import eventually

API_VERSIONS = "org.apache.kafka.tools.BrokerApiVersionsCommand"
# "Produce(0): 0 to 9 [usable: 9]"; "UNSUPPORTED" for what is not there.
TOOLS_RANGE = re.compile(r"\((\d+)\): (\d+)(?: to (\d+))?")
BEHIND = {"inter.broker.protocol.version": "2.7"}


def versions_of(cluster):
    with ClusterClient(cluster.connection) as client:
        return read_versions(client)


@pytest.mark.parametrize(
    ("version", "zookeeper", "name"),
    [
        pytest.param("2.8.2", True, "2.8.2-zookeeper", id="2.8.2"),
        pytest.param("3.3.2", False, "3.3.2-kraft", id="3.3.2"),
        pytest.param("3.6.2", False, "3.6.2-kraft", id="3.6.2"),
        pytest.param("3.9.1", True, "3.9.1-zookeeper", id="3.9.1 with ZooKeeper"),
        pytest.param("4.0.2", False, "4.0.2-kraft", id="4.0.2"),
    ],
)
def test_a_broker_answers_as_it_was_recorded_and_its_release_is_told(
    small_lab, kafka, tmp_path, version, zookeeper, name
):
    cluster = small_lab(kafka=version, zookeeper=zookeeper).cluster("small")
    found = versions_of(cluster)
    assert found.brokers[1].ranges == recorded(name).ranges
    servers = ("--bootstrap-server", cluster.bootstrap_servers)
    told = TOOLS_RANGE.findall(run_tool(kafka, tmp_path, API_VERSIONS, *servers))
    assert found.brokers[1].ranges == {
        int(key): (int(low), int(high or low)) for key, low, high in told
    }
    assert found.text == f"Kafka {version[:3]}"
    assert found.mode is (Mode.ZOOKEEPER if zookeeper else Mode.KRAFT)
    with ClusterClient(cluster.connection) as client:
        assert describe_groups(client, ["absent"])["absent"].state == "Dead"


def test_topics_without_ids_are_told_and_fetched_by_name(small_lab):
    lab = small_lab(kafka="3.6.2", zookeeper=True, overrides=BEHIND)
    cluster = lab.cluster("small")
    topic = new_topic(cluster, 1)
    produce(cluster, topic, 2)
    found = versions_of(cluster)
    judged = {one.code: one for one in found.judge()}
    assert (found.text, found.has_topic_ids) == ("Kafka 3.6", False)
    assert judged["topic_ids"].verdict is Verdict.ANOTHER_WAY
    assert "inter.broker.protocol.version" in judged["topic_ids"].why
    topic_id, fetched = asyncio.run(fetched_from(cluster.connection, topic))
    assert topic_id is None
    assert (fetched.error, fetched.high_watermark) == (None, 2)
    assert len(fetched.records) > 0


async def fetched_from(connection, topic):
    async with RawCluster(connection, client_id="test") as cluster:
        known = (await cluster.metadata([topic])).topics[topic]
        position = FetchPosition(topic, known.topic_id, 0, 0)
        answer = await fetch(cluster, 1, [position], FetchLimits(1000, 1, 1 << 20, False))
        return known.topic_id, answer.partitions[TopicPartition(topic, 0)]


def test_a_check_and_the_quorum_say_what_a_cluster_with_zookeeper_cannot_have(small_lab):
    connection = small_lab(kafka="2.8.2").cluster("small").connection
    found = check_connection(connection)
    (lacks,) = [text for text in found.findings if "does not have" in text]
    assert lacks.startswith("Kafka 2.8 with ZooKeeper does not have:")
    assert "Voters of the quorum" in lacks
    with pytest.raises(NoQuorum, match="runs with ZooKeeper") as told:
        describe_quorum(connection)
    assert "by polling" in told.value.hint


def test_replicate_says_before_it_starts_what_the_target_lacks(tmp_path, capsys):
    def plans(base_port):
        return [
            ClusterPlan("new", 1, base_port),
            ClusterPlan("old", 1, base_port + 100, kafka="2.8.2"),
        ]

    with Lab(tmp_path / "lab", plans(find_base_port(plans))) as lab:
        new, old = lab.cluster("new"), lab.cluster("old")
        replicate._check(FlowSpec("orders", new.connection, old.connection), "orders")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(
        "old: Write whole batches into this cluster exactly once: works another way."
    )
    assert "__transaction_state" in line


def test_brokers_on_two_versions_are_told_while_they_are_upgraded(small_lab, kafka, tmp_path):
    lab = small_lab(nodes=3, kafka="3.9.1")
    cluster = lab.cluster("small")
    assert versions_of(cluster).text == "Kafka 3.9"
    lab.upgrade_node("small-3", "4.0.2")
    mixed = "brokers on two versions: 1, 2 on 3.9, 3 on 4.0"
    eventually(lambda: versions_of(cluster).text == mixed)
    found = versions_of(cluster)
    assert found.metadata_version == "21 (Kafka 3.9)"
    judged = {one.code: one for one in found.judge()}
    # Any broker may be asked for the one, coordinators are asked for the other.
    assert judged["fenced_brokers"].verdict is Verdict.WORKS
    assert judged["consumer_groups"].verdict is Verdict.UNKNOWN
    for node in (1, 2):
        lab.upgrade_node(f"small-{node}", "4.0.2")
    eventually(lambda: versions_of(cluster).text == "Kafka 4.0")
    assert versions_of(cluster).metadata_version == "21 (Kafka 3.9)"
    servers = ("--bootstrap-server", cluster.bootstrap_servers)
    run_tool(kafka, tmp_path, FEATURES, *servers, "upgrade", "--release-version", "4.0")
    eventually(lambda: versions_of(cluster).metadata_version == "25 (Kafka 4.0)")
    judged = {one.code: one for one in versions_of(cluster).judge()}
    assert judged["consumer_groups"].verdict is Verdict.WORKS
