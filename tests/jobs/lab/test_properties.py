from pathlib import Path

import pytest

from jobs.lab.plan import ClusterPlan
from jobs.lab.properties import NodePlan, render, replication_settings, server_properties

EAST = ClusterPlan("east", 3, 9092, racks=("dc-a", "dc-b", "dc-c"))


def settings(plan=EAST, node_id=1, **changes):
    return server_properties(NodePlan(plan, node_id, Path("/lab/east/node"), **changes))


def test_a_node_is_broker_and_controller_at_once():
    assert settings()["process.roles"] == "broker,controller"


def test_every_listener_is_on_the_loopback_address():
    found = settings(ClusterPlan("secure", 1, 9092, is_secure=True))["listeners"].split(",")
    assert len(found) == 5
    assert all("://127.0.0.1:" in listener for listener in found)


def test_the_quorum_is_found_through_the_first_controllers():
    found = settings()["controller.quorum.bootstrap.servers"]
    assert found == "127.0.0.1:9112,127.0.0.1:9113,127.0.0.1:9114"


def test_a_static_quorum_is_never_configured():
    assert "controller.quorum.voters" not in settings()


def test_the_node_is_in_its_rack():
    assert settings(node_id=2)["broker.rack"] == "dc-b"


def test_a_later_controller_has_only_its_own_listener():
    found = settings(node_id=4, is_broker=False)
    assert found["process.roles"] == "controller"
    assert found["listeners"] == "CONTROLLER://127.0.0.1:9115"


def test_overrides_win():
    plan = ClusterPlan("east", 1, 9092, overrides={"num.io.threads": "1"})
    assert settings(plan)["num.io.threads"] == "1"


@pytest.mark.parametrize(
    ("nodes", "factor", "min_isr"),
    [
        pytest.param(1, "1", "1", id="one-node"),
        pytest.param(2, "2", "1", id="two-nodes-either-may-be-down"),
        pytest.param(3, "3", "2", id="three-nodes"),
        pytest.param(5, "3", "2", id="five-nodes"),
    ],
)
def test_replication_fits_the_number_of_nodes(nodes, factor, min_isr):
    found = replication_settings(nodes)
    assert (found["default.replication.factor"], found["min.insync.replicas"]) == (factor, min_isr)


@pytest.mark.parametrize(
    ("value", "line"),
    [
        pytest.param("plain", "a=plain\n", id="plain"),
        pytest.param(r"C:\lab", "a=C:\\\\lab\n", id="backslash"),
        pytest.param(" x", "a=\\ x\n", id="leading-space"),
    ],
)
def test_values_are_written_as_java_reads_them(value, line):
    assert render({"a": value}) == line


def test_a_value_of_two_lines_is_refused():
    with pytest.raises(ValueError, match="one line"):
        render({"a": "x\nsuper.users=User:ANONYMOUS"})


def test_before_3_9_the_quorum_is_static():
    found = settings(ClusterPlan("old", 2, 9092, kafka="3.6.2"))
    assert found["controller.quorum.voters"] == "1@127.0.0.1:9112,2@127.0.0.1:9113"
    assert "controller.quorum.bootstrap.servers" not in found


def test_a_broker_with_zookeeper_is_no_controller():
    found = settings(ClusterPlan("old", 1, 9092, kafka="2.8.2", is_secure=True))
    assert (found["broker.id"], found["zookeeper.connect"]) == ("1", "127.0.0.1:9112")
    assert found["authorizer.class.name"] == "kafka.security.authorizer.AclAuthorizer"
    assert not {"process.roles", "node.id", "controller.listener.names"} & set(found)


def test_remote_storage_of_a_tiered_cluster_is_a_folder_of_all_its_nodes():
    found = settings(ClusterPlan("tier", 2, 9092, tiered=True))
    assert found["remote.log.storage.system.enable"] == "true"
    assert found["rsm.config.dir"] == "/lab/east/remote"
    assert found["remote.log.storage.manager.class.path"].endswith("kafka-storage-4.3.1-test.jar")
    assert "rsm.config.dir" not in settings()
