"""A cluster of each version in the console: registered, collected, its availability by polling, its pages."""

from __future__ import annotations

from functools import partial

import pytest
from confluent_kafka import Producer
from django.utils import timezone

from console.availability.collection.collect import take_in
from console.availability.status.models import PartitionStatus
from console.clusters import actions
from console.clusters.collection import collect
from console.clusters.models import Cluster, CollectionRound, Topic
from jobs.availability.status.severity import Severity
from jobs.cluster.check import check_connection
from tests.live.groups import consume, new_group
from tests.live.records import produce
from tests.live.topics import new_topic

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(900)]
# KAFKA-15583: before, a leader asked for so many replicas, however few the partition has.
SINCE_EFFECTIVE_MIN_ISR = (3, 7)
PAGES = (
    "/clusters/old/",
    "/clusters/old/topics/",
    "/clusters/old/groups/",
    "/quorum/",
    "/availability/",
)


@pytest.fixture
def registered(cluster) -> Cluster:
    values = {"alias": "old", "bootstrap_servers": cluster.bootstrap_servers}
    check = partial(check_connection, timeout_s=60)
    return actions.create_cluster(values, timezone.now(), check=check)


def collected(registered: Cluster) -> dict[str, CollectionRound]:
    CollectionRound.objects.filter(cluster=registered).update(claimed_until=None)
    collect.collect_cluster(registered.pk)
    return {row.noun: row for row in registered.rounds.all()}


@pytest.mark.capability("Console: collection")
def test_rounds_collect_everything_without_an_error(cluster, registered):
    topic, group = new_topic(cluster, 2), new_group()
    produce(cluster, topic, 30)
    consume(cluster, group, topic, 10)
    rounds = collected(registered)
    assert {noun: row.error for noun, row in rounds.items() if row.error} == {}
    assert Topic.objects.get(cluster=registered, name=topic).partition_count == 2


@pytest.mark.capability("Availability by polling")
def test_partitions_and_their_isr_are_told_by_polls(cluster, registered):
    topic = new_topic(cluster)
    assert verdict(registered, topic) == ("poll", Severity.OK)
    assert PartitionStatus.objects.get(cluster=registered, topic=topic).isr == [1]


@pytest.mark.capability("Availability: more min.insync.replicas than replicas")
def test_more_min_insync_replicas_than_replicas_are_judged_as_the_leader_judges(
    cluster, registered, version
):
    topic = new_topic(cluster, min_insync_replicas="2")
    takes_writes = version.number >= SINCE_EFFECTIVE_MIN_ISR
    refused = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "retries": 0})
    producer.produce(topic, b"v", on_delivery=lambda error, _: refused.append(error))
    producer.flush(60)
    assert [error is None for error in refused] == [takes_writes]
    expected = Severity.OK if takes_writes else Severity.UNDER_MIN_ISR
    assert verdict(registered, topic)[1] is expected


def verdict(registered: Cluster, topic: str) -> tuple[str, Severity]:
    collected(registered)
    assert take_in(registered.pk)
    row = PartitionStatus.objects.get(cluster=registered, topic=topic)
    return row.source, Severity(row.severity)


@pytest.mark.capability("Console: pages")
@pytest.mark.parametrize("path", PAGES)
def test_pages_answer(cluster, registered, sign_in, admin, path):
    collected(registered)
    assert sign_in(admin).get(path).status_code == 200
