"""The lab with other versions of Kafka, with and without ZooKeeper."""

import pytest

from jobs.cluster.admin.brokers import describe_cluster
from jobs.cluster.client import ClusterClient
from jobs.lab.errors import LabError
from jobs.lab.lab import Lab, lab_status
from jobs.lab.ports import is_free
from tests.live.records import produce, read_all
from tests.live.topics import new_topic


@pytest.fixture(
    params=[
        pytest.param(("2.8.2", False), id="2.8.2"),
        pytest.param(("3.3.2", False), id="3.3.2"),
        pytest.param(("3.6.2", False), id="3.6.2"),
        pytest.param(("3.6.2", True), id="3.6.2-zookeeper"),
        pytest.param(("3.9.1", False), id="3.9.1"),
        pytest.param(("4.0.2", False), id="4.0.2"),
    ],
)
def old(request, small_lab):
    kafka, zookeeper = request.param
    return small_lab("old", nodes=2, kafka=kafka, zookeeper=zookeeper)


def test_a_lab_of_another_version_keeps_its_data_when_nodes_and_the_lab_end(old):
    cluster = old.cluster("old")
    topic = new_topic(cluster, 2)
    written = produce(cluster, topic, 100)
    cluster.node(2).kill()
    cluster.node(2).start()
    cluster.wait_until_serving()
    old.stop()
    assert all(is_free(port) for port in cluster.plan.ports())
    with Lab(old.root) as again:
        assert [r.value for r in read_all(again.cluster("old"), topic)] == [
            r.value for r in written
        ]
        told = lab_status(again)["clusters"][0]
        with ClusterClient(cluster.connection) as client:
            assert describe_cluster(client).cluster_id == told["cluster_id"]
        assert {node["kafka"] for node in told["nodes"]} == {cluster.plan.kafka}


@pytest.mark.parametrize("version", ["2.8.2", "3.6.2"])
def test_a_controller_cannot_be_added_before_quorums_were_dynamic(small_lab, version):
    lab = small_lab(kafka=version, start=False)
    with pytest.raises(LabError, match=r"voters are added from Kafka 3\.9 on"):
        lab.cluster("small").add_controller()
