"""The source of a running flow is upgraded, node by node, and then its features."""

import pytest

from jobs.cluster.capabilities.reader import read_versions
from jobs.cluster.client import ClusterClient
from jobs.lab.install.releases import KAFKA_VERSION
from jobs.lab.lab import Lab
from jobs.lab.plan import ClusterPlan
from jobs.lab.ports import find_base_port
from jobs.replication.flow.spec import FlowSpec
from jobs.spark.contract import Outcome
from tests.live.kafka_tools import FEATURES, run_tool
from tests.live.spark.runs import RunningFlow, Writer, assert_copied
from tests.live.topics import new_topic
from tests.waiting import eventually

OLD = "3.9.1"
TOLD = {
    1: "brokers on two versions: 1 on 4.3, 2, 3 on 3.9",
    2: "brokers on two versions: 1, 2 on 4.3, 3 on 3.9",
    3: "Kafka 4.3",
}


@pytest.fixture
def lab(tmp_path):
    def plans(base_port):
        return [
            ClusterPlan("old", 3, base_port, kafka=OLD),
            ClusterPlan("new", 1, base_port + 100),
        ]

    with Lab(tmp_path / "lab", plans(find_base_port(plans))) as lab:
        yield lab


def versions_text(cluster):
    with ClusterClient(cluster.connection) as client:
        return read_versions(client).text


def test_a_rolling_upgrade_of_the_source_loses_and_doubles_nothing(lab, tmp_path):
    old, new = lab.cluster("old"), lab.cluster("new")
    topic = new_topic(old, 3)
    flow = FlowSpec("rolling", old.connection, new.connection, (topic,))
    with (
        RunningFlow(flow, (tmp_path / "run").resolve()) as running,
        Writer(old, topic, range(3)) as writer,
    ):
        running.wait_for_positions(dict.fromkeys(range(3), 1))
        for node_id in old.plan.node_ids:
            before = writer.ends
            lab.upgrade_node(f"old-{node_id}", KAFKA_VERSION)
            eventually(lambda told=TOLD[node_id]: versions_text(old) == told)
            # The flow copies beside every step, before and after the node is back.
            running.wait_for_positions({p: end + 1 for p, end in before.items()})
        servers = ("--bootstrap-server", old.bootstrap_servers)
        run_tool(lab.jvm, tmp_path, FEATURES, *servers, "upgrade", "--release-version", "4.3")
        before = writer.ends
        running.wait_for_positions({p: end + 1 for p, end in before.items()})
        writer.__exit__()
        running.wait_for_positions(writer.ends)
        assert running.stop().outcome is Outcome.STOPPED
    assert {node.jvm.release.version for node in old.nodes.values()} == {KAFKA_VERSION}
    assert_copied(writer.written, new, f"old.{topic}")
