"""A cluster of each version in the console: registered, collected, its availability by polling, its pages."""

from __future__ import annotations

from functools import partial

import pytest
from django.utils import timezone

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
def test_partitions_under_min_isr_are_told_by_polls(cluster, registered):
    fine, short = new_topic(cluster), new_topic(cluster, min_insync_replicas="2")
    collected(registered)
    rows = PartitionStatus.objects.filter(cluster=registered, topic__in=(fine, short))
    told = {row.topic: (row.source, Severity(row.severity)) for row in rows}
    assert told[fine] == ("poll", Severity.OK)
    assert told[short][0] == "poll"
    assert told[short][1] is not Severity.OK


@pytest.mark.capability("Console: pages")
@pytest.mark.parametrize("path", PAGES)
def test_pages_answer(cluster, registered, sign_in, admin, path):
    collected(registered)
    assert sign_in(admin).get(path).status_code == 200
