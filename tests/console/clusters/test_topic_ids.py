"""Topic ids that 0.5.0 wrote in the standard alphabet of base64 are the ids of the same topics."""

import importlib

import pytest
from django.apps import apps

from console.availability.status.models import PartitionStatus
from console.clusters.models import Topic
from console.replication.flows.models import ReplicationFlow
from tests.console.making import NOW, make_cluster, make_flow, make_topic

pytestmark = pytest.mark.django_db
OLD, KAFKAS = "/oQyWsMsQS+po8kSreACEQ", "_oQyWsMsQS-po8kSreACEQ"
MIGRATION = "console.replication.migrations.0025_write_topic_ids_as_kafka_does"


def test_stored_ids_are_written_in_kafkas_alphabet_by_the_migration():
    cluster = make_cluster("east")
    make_topic(cluster, "orders", topic_id=OLD)
    PartitionStatus.objects.create(
        cluster=cluster, key=f"{OLD}:2", topic="orders", topic_id=OLD, partition=2,
        since=NOW, known_since=NOW, seen_at=NOW,
    )  # fmt: skip
    flow = make_flow(topic_ids={"orders": OLD, "a.b-c_d": KAFKAS})
    importlib.import_module(MIGRATION).write(apps, None)
    assert Topic.objects.get().topic_id == KAFKAS
    status = PartitionStatus.objects.get()
    assert (status.key, status.topic_id) == (f"{KAFKAS}:2", KAFKAS)
    assert ReplicationFlow.objects.get(pk=flow.pk).topic_ids == {
        "orders": KAFKAS,
        "a.b-c_d": KAFKAS,
    }
