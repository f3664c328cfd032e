import json
from itertools import chain

import pytest

from jobs.lab.errors import LabError
from jobs.lab.plan import ClusterPlan, standard_plans


def test_the_standard_lab_has_three_nodes_in_the_east_and_one_in_the_west():
    assert [(plan.alias, plan.nodes) for plan in standard_plans()] == [("east", 3), ("west", 1)]


def test_no_port_is_planned_twice():
    secure = ClusterPlan("secure", 5, 20_292, is_secure=True)
    ports = list(chain.from_iterable(p.ports() for p in [*standard_plans(20_092), secure]))
    assert len(ports) == len(set(ports)) == 6 + 2 + 25


def test_every_broker_is_in_the_bootstrap_list():
    assert ClusterPlan("east", 2, 9092).bootstrap_servers() == "127.0.0.1:9092,127.0.0.1:9093"


def test_racks_are_given_out_in_turn():
    plan = ClusterPlan("east", 4, 9092, racks=("a", "b", "c"))
    assert [plan.rack(node_id) for node_id in plan.node_ids] == ["a", "b", "c", "a"]


def test_a_plan_survives_its_way_through_json():
    plan = ClusterPlan("east", 3, 9092, ("a",), {"log.retention.ms": "1"}, is_secure=True)
    assert ClusterPlan.from_mapping(plan.to_mapping()) == plan


@pytest.mark.parametrize(
    ("alias", "nodes", "base_port"),
    [
        pytest.param("East.1", 1, 9092, id="dot-in-alias"),
        pytest.param("", 1, 9092, id="no-alias"),
        pytest.param("../up", 1, 9092, id="alias-leads-out-of-the-folder"),
        pytest.param("east", 0, 9092, id="no-nodes"),
        pytest.param("east", 20, 9092, id="too-many-nodes"),
        pytest.param("east", 1, 80, id="port-of-root"),
        pytest.param("east", 1, 65_500, id="block-beyond-the-last-port"),
    ],
)
def test_an_impossible_plan_is_refused(alias, nodes, base_port):
    with pytest.raises(LabError):
        ClusterPlan(alias, nodes, base_port)


def test_the_connection_leads_to_the_plaintext_listener():
    connection = ClusterPlan("east", 1, 9092).connection
    assert (connection.alias, connection.bootstrap_servers) == ("east", "127.0.0.1:9092")


def test_settings_of_one_node_outlive_json():
    plan = ClusterPlan("east", 2, 19092, node_overrides={2: {"broker.rack": "z"}})
    assert ClusterPlan.from_mapping(json.loads(json.dumps(plan.to_mapping()))) == plan


def test_settings_of_a_node_that_is_not_there_are_refused():
    with pytest.raises(LabError, match="settings for \\[3\\]"):
        ClusterPlan("east", 2, 19092, node_overrides={3: {}})


@pytest.mark.parametrize(
    ("kafka", "zookeeper", "has_zookeeper"),
    [
        pytest.param("2.8.2", False, True, id="before-kraft"),
        pytest.param("3.3.2", False, False, id="kraft"),
        pytest.param("3.9.1", True, True, id="asked-for"),
    ],
)
def test_a_cluster_has_a_zookeeper_before_kraft_or_when_asked_for(kafka, zookeeper, has_zookeeper):
    plan = ClusterPlan("old", 2, 9092, kafka=kafka, zookeeper=zookeeper)
    assert plan.has_zookeeper is has_zookeeper
    assert ("CONTROLLER" in plan.listeners) is not has_zookeeper
    assert plan.port("CONTROLLER", 1) in plan.ports()


def test_kafka_4_with_a_zookeeper_is_refused():
    with pytest.raises(LabError, match=r"which Kafka 4\.0\.2 cannot use"):
        ClusterPlan("east", 1, 9092, kafka="4.0.2", zookeeper=True)


def test_the_version_of_an_upgraded_node_outlives_json():
    plan = ClusterPlan("east", 2, 19092, kafka="3.9.1", node_versions={2: "4.3.1"})
    again = ClusterPlan.from_mapping(json.loads(json.dumps(plan.to_mapping())))
    assert again == plan
    assert [again.release(node_id).version for node_id in again.node_ids] == ["3.9.1", "4.3.1"]


def test_tiered_storage_with_a_version_of_which_the_lab_has_no_listing_is_refused():
    with pytest.raises(LabError, match=r"tiered storage with Kafka 4\.3\.1 only"):
        ClusterPlan("tier", 1, 20_092, kafka="3.9.1", tiered=True)
