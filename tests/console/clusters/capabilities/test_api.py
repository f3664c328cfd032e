"""What works on a cluster: collected in rounds, shown on its page, in the API and in a flow's preview."""

import pytest

from console.clusters.models import Cluster
from jobs.cluster.errors import TimedOut
from tests.console.clusters.fake_kafka import FakeKafka
from tests.console.clusters.making import make_cluster, run_rounds
from tests.console.replication.flow_form import flow_form
from tests.jobs.cluster.capabilities.recorded import recorded_cluster

pytestmark = pytest.mark.django_db
CALL = "/api/v1/clusters/east/capabilities/"


def old_kafka() -> FakeKafka:
    kafka = FakeKafka()
    kafka.versions = recorded_cluster("2.8.2-zookeeper", brokers=(1, 2, 3))
    return kafka


def test_a_round_keeps_what_brokers_offer(admin_client):
    run_rounds(make_cluster(), old_kafka())
    found = admin_client.get(CALL).json()
    assert (found["versions"], found["mode"]) == ("Kafka 2.8", "ZooKeeper")
    assert [one["release"] for one in found["brokers"]] == ["2.8"] * 3
    verdicts = {one["code"]: one["verdict"] for one in found["capabilities"]}
    assert verdicts["copy_from"] == "works"
    assert verdicts["copy_into"] == "another_way"
    assert verdicts["quorum"] == "does_not_work"


def test_a_round_without_that_answer_keeps_the_last_one():
    cluster, kafka = make_cluster(), old_kafka()
    run_rounds(cluster, kafka)
    before = Cluster.objects.get(pk=cluster.pk).versions
    kafka.faults["read_versions"] = TimedOut("No answer.", cluster="east")
    rounds = run_rounds(cluster, kafka)
    assert rounds["brokers"].failing_since is None
    assert Cluster.objects.get(pk=cluster.pk).versions == before


def test_nothing_is_known_before_the_first_answer(admin_client):
    make_cluster()
    found = admin_client.get(CALL).json()
    assert found["brokers"] == []
    assert {one["verdict"] for one in found["capabilities"]} == {"not_known"}


def test_the_page_shows_what_lacks_and_the_other_way(admin_client):
    run_rounds(make_cluster(), old_kafka())
    page = admin_client.get("/clusters/east/").content.decode()
    assert "Kafka version and capabilities" in page
    assert "__transaction_state" in page
    assert "The cluster runs with ZooKeeper; this needs KRaft." in page


def test_the_preview_of_a_flow_says_what_its_clusters_lack(admin_client):
    run_rounds(make_cluster(), FakeKafka())
    west = old_kafka()
    west.cluster_id = "west-abcdefghijklmnopq"
    run_rounds(make_cluster("west"), west)
    settings = {"name": "orders", "source": "east", "target": "west"}
    (told,) = admin_client.post(
        "/api/v1/flows/preview/capabilities/", settings, "application/json"
    ).json()
    assert (told["cluster"], told["code"], told["verdict"]) == ("west", "copy_into", "another_way")
    page = admin_client.post(
        "/replication/preview/", flow_form(copied_by="crosslog")
    ).content.decode()
    assert "west: Write whole batches into this cluster exactly once" in page
