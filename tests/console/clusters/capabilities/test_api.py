"""What works on a cluster: collected in rounds, shown on its page, in the API and in a flow's preview."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils.dateparse import parse_datetime

from console.clusters.models import Cluster
from jobs.cluster.capabilities.reader import findings_of
from jobs.cluster.capabilities.verdicts import ClusterVersions
from jobs.cluster.errors import TimedOut
from tests.console.clusters.fake_kafka import FakeKafka
from tests.console.clusters.making import make_cluster, run_rounds
from tests.console.replication.flow_form import flow_form
from tests.jobs.cluster.capabilities.recorded import recorded, recorded_cluster

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


def test_it_is_told_when_the_brokers_said_so_while_they_do_not_answer_any_more(admin_client):
    cluster, kafka = make_cluster(), old_kafka()
    run_rounds(cluster, kafka)
    read_at = Cluster.objects.get(pk=cluster.pk).versions_at
    kafka.faults["read_versions"] = TimedOut("No answer.", cluster="east")
    run_rounds(cluster, kafka)
    found = admin_client.get(CALL).json()
    assert parse_datetime(found["read_at"]) == read_at
    Cluster.objects.filter(pk=cluster.pk).update(versions_at=read_at - timedelta(days=1))
    page = admin_client.get("/clusters/east/").content.decode()
    panel = page[page.index('id="capabilities-title"') :]
    assert "Stale" in panel[: panel.index("</header>")]


def test_why_a_broker_told_nothing_is_on_the_page_and_in_the_api(admin_client):
    kafka = old_kafka()
    kafka.versions = replace(kafka.versions, silent={4: "Broker 4 is older than Kafka 2.4."})
    run_rounds(make_cluster(), kafka)
    found = admin_client.get(CALL).json()
    told = {"broker_id": 4, "release": "not known", "why": "Broker 4 is older than Kafka 2.4."}
    assert told in found["brokers"]
    page = admin_client.get("/clusters/east/").content.decode()
    assert "Kafka 2.8; broker 4 did not tell" in page
    assert told["why"] in page


def test_what_a_check_said_of_older_versions_goes_with_them():
    cluster, kafka = make_cluster(), old_kafka()
    run_rounds(cluster, kafka)
    old = findings_of(kafka.versions)
    Cluster.objects.filter(pk=cluster.pk).update(findings=[*old, "No broker has broker.rack set."])
    kafka.versions = recorded_cluster("4.3.1-kraft", brokers=(1, 2, 3))
    run_rounds(Cluster.objects.get(pk=cluster.pk), kafka)
    assert "does not have" in old[0]
    assert Cluster.objects.get(pk=cluster.pk).findings == ["No broker has broker.rack set."]


def test_brokers_on_two_versions_are_told_while_they_are_upgraded_and_not_after(admin_client):
    cluster, kafka = make_cluster(), FakeKafka()
    old, new = recorded("3.9.1-kraft"), recorded("4.3.1-kraft")
    told = []
    for brokers in ({1: old, 2: old, 3: new}, {1: new, 2: new, 3: new}):
        kafka.versions = ClusterVersions(brokers, has_topic_ids=True)
        run_rounds(cluster, kafka)
        told.append(admin_client.get(CALL).json()["versions"])
        assert told[-1][1:] in admin_client.get("/clusters/east/").content.decode()
    assert told == ["brokers on two versions: 1, 2 on 3.9, 3 on 4.3", "Kafka 4.3"]


def test_nothing_is_known_before_the_first_answer(admin_client):
    make_cluster()
    found = admin_client.get(CALL).json()
    assert found["brokers"] == []
    assert (found["read_at"], found["mode"]) == (None, "not known")
    assert {one["verdict"] for one in found["capabilities"]} == {"not_known"}
    assert "Not collected yet" in admin_client.get("/clusters/east/").content.decode()


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
    assert parse_datetime(told["read_at"]) == Cluster.objects.get(alias="west").versions_at
    page = admin_client.post(
        "/replication/preview/", flow_form(copied_by="crosslog")
    ).content.decode()
    assert "west: Write whole batches into this cluster exactly once" in page


def test_the_preview_of_a_flow_promises_nothing_of_clusters_that_were_not_asked(admin_client):
    make_cluster()
    make_cluster("west")
    settings = {"name": "orders", "source": "east", "target": "west"}
    told = admin_client.post(
        "/api/v1/flows/preview/capabilities/", settings, "application/json"
    ).json()
    assert {one["verdict"] for one in told} == {"not_known"}
    assert {one["cluster"] for one in told} == {"east", "west"}
    assert {one["read_at"] for one in told} == {None}
