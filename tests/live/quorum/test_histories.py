"""What crosslog reads out of a node's own metadata log is what happened and what the admin tools say."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from jobs.cli import main
from jobs.lab.cluster import Cluster
from jobs.lab.install.jvm import KafkaJvm
from jobs.lab.lab import Lab
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port
from jobs.quorum.history.changes import (
    Anomaly,
    BrokerChange,
    Cause,
    ConfigChange,
    Election,
    FeatureChange,
    TopicChange,
)
from jobs.quorum.log.folder import read_folder
from tests.jobs.quorum.changes import changes_of
from tests.live import kafka_tools as tools
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(900)

# A follower that lags is noticed before its session ends (9 s): so lag and fencing can be told apart.
SETTINGS = {"replica.lag.time.max.ms": "2000"}
# An orderly stop is waited for: one that is killed comes back as after a crash.
STOP_S = 120


@pytest.fixture(scope="module")
def cluster(kafka: KafkaJvm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three nodes, which are voters and brokers at once: two of them must run."""

    def plans(base_port: int) -> list[ClusterPlan]:
        return [replace(ClusterPlan("history", 3, base_port), overrides=SETTINGS)]

    lab = Lab(tmp_path_factory.mktemp("history"), plans(find_base_port(plans)), jvm=kafka)
    lab.start()
    yield lab.cluster("history")
    lab.kill()


def causes(cluster: Cluster, node: int, topic: str) -> list[tuple[Cause, int | None]]:
    return [(one.cause, one.cause_broker) for one in tools.history(cluster, node, topic)]


def test_a_broker_that_leads_nothing_is_fenced_at_once_when_it_stops(cluster: Cluster) -> None:
    """Kafka writes no controlled shutdown for it (BrokerHeartbeatManager): the log holds a fence alone."""
    tools.make_topic(cluster, "followed", (1, 2, 3))
    cluster.node(3).stop(STOP_S)
    tools.wait_for_log(cluster, 1, "followed", isr={1, 2})
    assert causes(cluster, 1, "followed")[-1] == (Cause.BROKER_FENCED, 3)
    cluster.node(3).start()
    cluster.wait_until_serving()
    tools.wait_for_log(cluster, 1, "followed", isr={1, 2, 3})
    assert causes(cluster, 1, "followed")[-1] == (Cause.ISR_EXPAND, 3)


def test_a_follower_that_is_stopped_leaves_the_isr_and_comes_back(cluster: Cluster) -> None:
    tools.make_topic(cluster, "stopped", (1, 2, 3))
    tools.make_topic(cluster, "led", (3, 2, 1))
    cluster.node(3).stop(STOP_S)
    tools.wait_for_log(cluster, 1, "stopped", isr={1, 2})
    assert causes(cluster, 1, "stopped")[-1] == (Cause.CONTROLLED_SHUTDOWN, 3)
    assert causes(cluster, 1, "led")[-1] == (Cause.CONTROLLED_SHUTDOWN, 3)
    tools.assert_tool_agrees(cluster, 1, "stopped")
    cluster.node(3).start()
    cluster.wait_until_serving()
    tools.wait_for_log(cluster, 1, "stopped", isr={1, 2, 3})
    assert causes(cluster, 1, "stopped")[-1] == (Cause.ISR_EXPAND, 3)
    seen = [one.cause for one in changes_of(tools.changes(cluster, 1), BrokerChange, broker_id=3)]
    # Kafka 4.3 also writes a registration change that names no cordoned directory.
    assert [cause for cause in seen if cause is not Cause.NOTHING][-4:] == [
        Cause.CONTROLLED_SHUTDOWN,
        Cause.BROKER_FENCED,
        Cause.BROKER_RESTARTED,
        Cause.BROKER_UNFENCED,
    ]


def test_a_leader_that_is_killed_is_fenced_and_another_leads(cluster: Cluster) -> None:
    tools.make_topic(cluster, "killed", (3, 2, 1))
    cluster.node(3).kill()
    tools.wait_for_log(cluster, 1, "killed", leader=2)
    (last,) = tools.history(cluster, 1, "killed")[-1:]
    assert (last.cause, last.cause_broker) == (Cause.BROKER_FENCED, 3)
    assert (last.previous_leader, last.election, last.is_unclean) == (3, Election.IN_SYNC, False)
    tools.assert_tool_agrees(cluster, 1, "killed")
    cluster.node(3).start()
    cluster.wait_until_serving()
    tools.wait_for_log(cluster, 1, "killed", isr={1, 2, 3})
    words = ["--topic", "killed", "--partition", "0", "--election-type", "preferred"]
    tools.run(cluster, tools.ELECTION, *words)
    tools.wait_for_log(cluster, 1, "killed", leader=3)
    assert causes(cluster, 1, "killed")[-1] == (Cause.PREFERRED_ELECTION, None)


def test_a_follower_that_hangs_while_records_come_falls_behind(cluster: Cluster) -> None:
    tools.make_topic(cluster, "lagging", (1, 2, 3))
    servers = {"bootstrap.servers": cluster.bootstrap_servers, "acks": "1"}
    producer = Producer(servers)

    def write() -> None:
        producer.produce("lagging", b"v", partition=0)
        assert producer.flush(60) == 0

    def hang() -> Cause:
        write()
        cluster.node(3).pause()
        write()
        tools.wait_for_log(cluster, 1, "lagging", isr={1, 2})
        (cause, broker) = causes(cluster, 1, "lagging")[-1]
        assert broker == 3
        cluster.node(3).resume()
        tools.wait_for_log(cluster, 1, "lagging", isr={1, 2, 3})
        assert causes(cluster, 1, "lagging")[-1] == (Cause.ISR_EXPAND, 3)
        return cause

    # Two clocks race: where the machine is slow, its session ends before its lag is noticed.
    seen = [hang()]
    while seen[-1] is Cause.BROKER_FENCED and len(seen) < 4:
        seen.append(hang())
    assert seen[-1] is Cause.ISR_SHRINK


def test_an_eligible_replica_leads_and_an_unclean_election_shows_both_signs(
    cluster: Cluster,
) -> None:
    tools.make_topic(cluster, "eligible", (1, 2), min_insync_replicas="2")
    tools.make_topic(cluster, "unclean", (1, 2), min_insync_replicas="1")
    cluster.node(2).stop(STOP_S)
    tools.wait_for_log(cluster, 3, "eligible", isr={1}, elr={2})
    tools.wait_for_log(cluster, 3, "unclean", isr={1}, elr=set())
    cluster.node(1).kill()
    cluster.node(2).start()
    tools.wait_for_log(cluster, 3, "unclean", leader=-1)
    last = tools.history(cluster, 3, "unclean")[-1]
    assert (last.cause, last.cause_broker) == (Cause.BROKER_FENCED, 1)
    tools.wait_for_log(cluster, 3, "eligible", leader=2, elr={1})
    (found,) = [one for one in tools.history(cluster, 3, "eligible") if one.leader == 2]
    # Where the machine is slow it comes back only after the leader was fenced, and leads by that.
    fenced, back = (
        max(
            one.offset
            for one in changes_of(tools.changes(cluster, 3), BrokerChange, broker_id=broker)
            if one.cause is cause
        )
        for broker, cause in ((1, Cause.BROKER_FENCED), (2, Cause.BROKER_UNFENCED))
    )
    assert (found.cause_broker, found.is_unclean) == (1 if back < fenced else 2, False)
    assert found.election is Election.ELIGIBLE_LEADER_REPLICA
    cluster.wait_until_serving()
    words = ["--topic", "unclean", "--partition", "0", "--election-type", "unclean"]
    tools.run(cluster, tools.ELECTION, *words)
    tools.wait_for_log(cluster, 3, "unclean", leader=2)
    (found,) = [one for one in tools.history(cluster, 3, "unclean") if one.leader == 2]
    assert (found.cause, found.leader_was_outside, found.began_recovering) == (
        Cause.UNCLEAN_ELECTION,
        True,
        True,
    )
    tools.assert_tool_agrees(cluster, 3, "unclean")
    cluster.node(1).start()
    cluster.wait_until_serving()
    tools.wait_for_log(cluster, 3, "unclean", isr={1, 2}, recovery_state=0)


def test_a_reassignment_starts_and_completes(cluster: Cluster, tmp_path: Path) -> None:
    tools.make_topic(cluster, "moved", (1, 2))
    tools.reassign(cluster, tmp_path, "moved", (2, 3))
    tools.wait_for_log(cluster, 1, "moved", replicas={2, 3}, adding=set(), removing=set())
    found = [cause for cause, _ in causes(cluster, 1, "moved")]
    assert found[:2] == [Cause.TOPIC_CREATED, Cause.REASSIGNMENT_STARTED]
    assert Cause.REASSIGNMENT_COMPLETED in found[2:]
    tools.assert_tool_agrees(cluster, 1, "moved")


def test_a_topic_that_is_made_again_is_another_topic(cluster: Cluster) -> None:
    tools.make_topic(cluster, "again", (1, 2, 3))
    tools.run(cluster, tools.TOPICS, "--delete", "--topic", "again")
    eventually(lambda: "again" not in tools.image(cluster, 1).topic_ids, 60)
    tools.make_topic(cluster, "again", (3, 2, 1))
    tools.wait_for_log(cluster, 1, "again", leader=3)
    first, gone, second = changes_of(tools.changes(cluster, 1), TopicChange, topic="again")
    assert [first.cause, gone.cause, second.cause] == [
        Cause.TOPIC_CREATED,
        Cause.TOPIC_DELETED,
        Cause.TOPIC_RECREATED,
    ]
    assert second.previous_topic_id == first.topic_id == gone.topic_id != second.topic_id
    assert second.topic_id in tools.run(cluster, tools.TOPICS, "--describe", "--topic", "again")


def test_a_setting_that_is_changed_has_its_history(cluster: Cluster) -> None:
    tools.make_topic(cluster, "set", (1, 2, 3), retention_ms="1000000")
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    for value in ("2000000", None):
        how = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
        entry = ConfigEntry("retention.ms", value or "", incremental_operation=how)
        wanted = ConfigResource(ResourceType.TOPIC, "set", incremental_configs=[entry])
        for done in admin.incremental_alter_configs([wanted]).values():
            done.result(30)
    eventually(lambda: ("TOPIC", "set") not in tools.image(cluster, 1).configs, 60)
    found = changes_of(
        tools.changes(cluster, 1), ConfigChange, resource_name="set", name="retention.ms"
    )
    assert [(one.previous_value, one.value) for one in found] == [
        (None, "1000000"),
        ("1000000", "2000000"),
        ("2000000", None),
    ]


def test_a_feature_goes_down_and_up_again(cluster: Cluster) -> None:
    before = tools.image(cluster, 1).features["streams.version"]
    tools.run(cluster, tools.FEATURES, "downgrade", "--feature", "streams.version=0")
    tools.run(cluster, tools.FEATURES, "upgrade", "--feature", f"streams.version={before}")
    eventually(lambda: tools.image(cluster, 1).features.get("streams.version") == before, 60)
    found = changes_of(tools.changes(cluster, 1), FeatureChange, name="streams.version")
    assert [one.level for one in found[-2:]] == [None, before]
    said = tools.run(cluster, tools.FEATURES, "describe")
    for name, level in tools.image(cluster, 1).features.items():
        assert name in said
        if name != "metadata.version":  # printed by its release's name
            line = next(line for line in said.splitlines() if f"Feature: {name}" in line)
            assert f"FinalizedVersionLevel: {level}" in line


def test_every_node_s_log_says_what_the_tools_say(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    for node in (1, 2, 3):
        tools.assert_tool_agrees(cluster, node)
        assert [one for one in tools.changes(cluster, node) if isinstance(one, Anomaly)] == []
    folder = read_folder(tools.log_folder(cluster, 1))
    assert main(["history", str(folder.path), "--topic", "unclean", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["cause"] for one in lines].count("unclean_election") == 1
