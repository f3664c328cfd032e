"""Clusters registered and collected for real."""

from functools import partial

import pytest
from confluent_kafka import TopicPartition

from console.clusters import actions
from console.clusters.collection import collect
from console.clusters.models import Cluster, CollectionRound, Partition, Topic
from console.frame.errors import ActionRefused
from jobs.availability.status.severity import Severity
from jobs.cluster.admin.topics import NewTopicSpec, create_topics, delete_topics
from jobs.cluster.check import check_connection
from jobs.cluster.client import ClusterClient
from tests.console.clusters import contract
from tests.console.clusters.making import NOW
from tests.live.topics import wait_until_known
from tests.waiting import Stalls, eventually

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def shop(west):
    """The shop of the contract on a real cluster."""
    with ClusterClient(west.connection) as client:
        create_topics(client, {contract.TOPIC: NewTopicSpec(3, 1)})
        wait_until_known(west.connection, contract.TOPIC, 3)
        producer = client.producer({})
        for i in range(contract.RECORDS):
            at = contract.FIRST_MS + i * 1000
            producer.produce(contract.TOPIC, str(i), partition=0, timestamp=at)
        producer.flush()
        commit(client, contract.GROUP, contract.TOPIC, contract.COMMITTED)
        yield west
        delete_topics(client, [contract.TOPIC])


def commit(client, group_id, topic, offset):
    consumer = client.consumer({"group.id": group_id})
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def register(cluster, **values):
    settings = {"alias": "real", "bootstrap_servers": cluster.bootstrap_servers} | values
    return actions.create_cluster(settings, NOW, check=partial(check_connection, timeout_s=60))


def run_rounds(cluster):
    CollectionRound.objects.filter(cluster=cluster).update(claimed_until=None)
    collect.collect_cluster(cluster.pk)
    return {row.noun: row for row in cluster.rounds.all()}


def test_a_real_cluster_passes_the_checks_that_the_fake_passes(shop):
    cluster = register(shop)
    run_rounds(cluster)
    contract.check_collected(cluster)


def test_registering_says_which_cluster_it_is_and_what_we_may_do(west):
    cluster = register(west)
    assert cluster.cluster_id == west.identity.cluster_id
    assert "CREATE" in cluster.operations


def test_an_address_that_leads_to_another_cluster_is_refused_until_it_is_confirmed(shop):
    cluster = register(shop)
    run_rounds(cluster)
    Cluster.objects.update(cluster_id="the-old-cluster-id")
    assert {row.error_code for row in run_rounds(cluster).values()} == {"cluster_id_changed"}
    assert Topic.objects.filter(name=contract.TOPIC).exists()
    cluster.refresh_from_db()
    actions.confirm_cluster_id(cluster, shop.identity.cluster_id)
    run_rounds(cluster)
    contract.check_collected(cluster)


def test_a_registration_of_two_clusters_collects_nothing_of_either(east, shop):
    servers = f"{shop.bootstrap_servers},{east.bootstrap_servers}"
    mixed = Cluster.objects.create(alias="mixed", bootstrap_servers=servers, created_at=NOW)
    assert {row.error_code for row in run_rounds(mixed).values()} == {"several_clusters"}
    assert not mixed.topics.exists()
    assert not mixed.brokers.exists()


def test_one_cluster_is_not_registered_twice(west):
    register(west)
    with pytest.raises(ActionRefused, match=west.identity.cluster_id):
        register(west, alias="mirror")


@pytest.mark.parametrize(
    ("protocol", "listener", "field"),
    [
        pytest.param("SSL", "PLAINTEXT", "security_protocol", id="TLS to a plaintext port"),
        pytest.param("PLAINTEXT", "SSL", "security_protocol", id="plaintext to a TLS port"),
        pytest.param(
            "PLAINTEXT", "SASL_PLAINTEXT", "security_protocol", id="no SASL to a SASL port"
        ),
    ],
)
def test_the_wrong_protocol_is_explained_at_its_field(secure, protocol, listener, field):
    servers = secure.cluster.plan.bootstrap_servers(listener)
    with pytest.raises(ActionRefused) as refusal:
        register(secure.cluster, bootstrap_servers=servers, security_protocol=protocol)
    assert list(refusal.value.fields) == [field]


SCRAM = {
    "security_protocol": "SASL_SSL",
    "sasl_mechanism": "SCRAM-SHA-512",
    "sasl_username": "admin",
    "sasl_password": "env:CROSSLOG_SECRET_LAB_ADMIN",
    "ssl_ca": "env:CROSSLOG_SECRET_LAB_CA",
}


def test_wrong_credentials_are_explained_at_the_password(secure):
    servers = secure.cluster.plan.bootstrap_servers("SASL_SSL")
    wrong = {"sasl_password": "env:CROSSLOG_SECRET_LAB_WRONG"}
    with pytest.raises(ActionRefused) as refusal:
        register(secure.cluster, **(SCRAM | wrong), bootstrap_servers=servers)
    assert list(refusal.value.fields) == ["sasl_password"]


def test_a_secured_cluster_is_collected_with_references_only(secure):
    servers = secure.cluster.plan.bootstrap_servers("SASL_SSL")
    cluster = register(secure.cluster, **SCRAM, bootstrap_servers=servers)
    rounds = run_rounds(cluster)
    assert {row.error for row in rounds.values()} == {""}
    cluster.refresh_from_db()
    assert cluster.sasl_password == "env:CROSSLOG_SECRET_LAB_ADMIN"


def test_a_principal_without_rights_leaves_its_traces_and_not_a_blank_page(secure):
    servers = secure.cluster.plan.bootstrap_servers("SASL_SSL")
    limited = {"sasl_username": "limited", "sasl_password": "env:CROSSLOG_SECRET_LAB_LIMITED"}
    cluster = register(secure.cluster, **(SCRAM | limited), bootstrap_servers=servers)
    assert any("No topic is visible" in text for text in cluster.findings)
    assert any("no right on the cluster itself" in text for text in cluster.findings)
    assert run_rounds(cluster)["brokers"].failing_since is None


@pytest.mark.campaign("faults")
def test_a_killed_broker_shows_in_the_severities_and_its_return_too(small_lab):
    lab = small_lab("three", nodes=3)
    cluster = lab.cluster("three")
    with ClusterClient(cluster.connection) as client:
        wanted = {"orders": NewTopicSpec(6, 3, {"min.insync.replicas": "2"})}
        create_topics(client, wanted)
    wait_until_known(cluster.connection, "orders", 6)
    registered = register(cluster)
    eventually(lambda: severities(registered) == {Severity.OK}, 30, every=0.5)
    lab.node("three-3").kill()
    eventually(lambda: severities(registered) == {Severity.AT_MIN_ISR}, 60, every=0.5)
    # The round that asked for brokers first may have been too early.
    eventually(
        lambda: run_rounds(registered) and not broker_of(registered, 3).is_live, 30, every=0.5
    )
    lab.node("three-3").start()
    eventually(lambda: severities(registered) == {Severity.OK}, 60, every=0.5)


def broker_of(cluster, number):
    return cluster.brokers.get(broker_id=number)


def severities(cluster):
    run_rounds(cluster)
    rows = Partition.objects.filter(cluster=cluster, topic__name="orders")
    return {Severity(value) for value in rows.values_list("severity", flat=True)}


def test_a_hung_cluster_costs_a_bounded_time_and_keeps_its_rows(small_lab):
    lab = small_lab("hung")
    with ClusterClient(lab.cluster("hung").connection) as client:
        create_topics(client, {"orders": NewTopicSpec(1, 1)})
    cluster = register(lab.cluster("hung"))
    known = Topic.objects.filter(cluster=cluster, name="orders")
    eventually(lambda: run_rounds(cluster) and known.exists(), 30, every=0.5)
    lab.node("hung-1").pause()
    with Stalls() as stalls:
        rounds = run_rounds(cluster)
    lab.node("hung-1").resume()
    assert all(row.failing_since for row in rounds.values())
    assert max(row.duration_ms for row in rounds.values()) - stalls.seconds * 1000 < 15_000
    assert known.exists()
