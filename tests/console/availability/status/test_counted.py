"""The same partitions counted on the pages and routes of two rooms: Kafka's counts, which overlap."""

import importlib

import pytest
from django.apps import apps

from console.availability.collection import collect
from console.availability.status.broker_models import CountSample
from console.availability.status.models import PartitionStatus, Rollup
from jobs.cluster.capabilities.verdicts import ClusterVersions
from jobs.cluster.protocol.transport.apis import BrokerVersions
from tests.console.clusters.fake_kafka import FakeKafka
from tests.console.clusters.making import NOW, make_cluster, run_rounds

pytestmark = pytest.mark.django_db
# As kafka-topics.sh counts, and beside it as the brokers do.
COUNTS = {"offline": 1, "under_min_isr": 3, "at_min_isr": 1, "under_replicated": 3}
COUNTS |= {"broker_under_min_isr": 1, "broker_at_min_isr": 2}
STATES = {"state_under_min_isr": 1, "state_at_min_isr": 1, "state_under_replicated": 0}
LISTS = ("/clusters/east/partitions/", "/availability/east/partitions/")


@pytest.fixture
def visitor(viewer, sign_in):
    """Partitions of both rooms: at min ISR, under it, without a leader, and complete with one replica."""
    newest = ClusterVersions({1: BrokerVersions({}, {"metadata.version": 30})}).to_mapping()
    kafka, cluster = FakeKafka(), make_cluster(versions=newest)
    kafka.add_topic("orders", 3)
    kafka.set_partition("orders", 0, leader=1, isr=(1, 2))
    kafka.set_partition("orders", 1, leader=1, isr=(1,))
    kafka.set_partition("orders", 2, leader=None, isr=(3,))
    kafka.add_topic("single", 1)
    kafka.set_partition("single", 0, leader=1, replicas=(1,), isr=(1,))
    run_rounds(cluster, kafka)
    assert collect.take_in(cluster.pk, lambda: NOW)
    return sign_in(viewer)


def tiles(page):
    return {
        fact["label"]: int(fact["value"])
        for fact in page.context["facts"]
        if fact["label"] in ("Offline", "Under min ISR", "At min ISR", "Under-replicated")
    }


def test_the_pages_of_a_cluster_count_alike(visitor):
    expected = {"Offline": 1, "Under min ISR": 3, "At min ISR": 1, "Under-replicated": 3}
    for address in ("/clusters/east/", "/availability/east/"):
        assert tiles(visitor.get(address)) == expected, address


def test_the_number_of_the_brokers_stands_beside_that_of_the_tool_where_they_differ(visitor):
    """tests/conformance/reported/counts_beside_kafkas_tool"""
    for address in ("/clusters/east/", "/availability/east/"):
        notes = {one["label"]: one.get("note") for one in visitor.get(address).context["facts"]}
        assert notes["Under min ISR"] == "brokers count 1", address
        assert notes["At min ISR"] == "brokers count 2", address


@pytest.mark.parametrize("address", LISTS)
@pytest.mark.parametrize("name", COUNTS)
def test_a_count_leads_to_as_many_partitions(visitor, address, name):
    page = visitor.get(f"{address}?counted_as={name}")
    assert page.context["table"].count == COUNTS[name]


@pytest.mark.parametrize("route", ["partitions", "availability/partitions"])
@pytest.mark.parametrize("name", COUNTS)
def test_routes_narrow_down_to_a_count(visitor, route, name):
    answer = visitor.get(f"/api/v1/{route}/?cluster=east&counted_as={name}").json()
    assert len(answer["results"]) == COUNTS[name]


def test_the_summary_has_kafkas_counts_and_apart_of_them_states_in_which_each_partition_is_once(
    visitor,
):
    counts = visitor.get("/api/v1/availability/east/").json()["counts"]
    assert {name: counts[name] for name in COUNTS} == COUNTS
    assert {name: counts[name] for name in STATES} == STATES


def test_what_was_counted_by_state_is_counted_as_kafka_does_by_the_migrations(visitor):
    samples = list(CountSample.objects.order_by("pk").values("unwritable"))
    after = list(Rollup.objects.order_by("pk").values())
    texts = sorted(PartitionStatus.objects.values_list("key", "counted_text"))
    rollups, recounted = (
        importlib.import_module(f"console.availability.migrations.{name}")
        for name in ("0006_fill_kafkas_counts", "0010_reassignments_fill_counts")
    )
    recounted.count_as_before(apps, None)
    assert Rollup.objects.get(kind="cluster").under_min_isr == 2
    rollups.count_states(apps, None)
    PartitionStatus.objects.update(counted_text="")
    assert Rollup.objects.get(kind="cluster").under_replicated == 0
    rollups.fill(apps, None)
    recounted.fill(apps, None)
    assert list(CountSample.objects.order_by("pk").values("unwritable")) == samples
    assert list(Rollup.objects.order_by("pk").values()) == after
    assert sorted(PartitionStatus.objects.values_list("key", "counted_text")) == texts
