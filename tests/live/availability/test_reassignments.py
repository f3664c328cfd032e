"""A throttled reassignment: our counts beside `kafka-topics.sh`, of a polled and of a followed cluster."""

import json
import os
import re

import pytest
from django.utils import timezone

from console.availability.collection import collect
from console.availability.status.models import OutOfSyncSpan, PartitionStatus
from console.availability.what_if.cluster_models import cluster_model
from console.clusters.models import Partition
from jobs.availability.status.preferred_leaders import leader_shares
from tests.live.availability.test_status import Watched
from tests.live.kafka_tools import ELECTION, REASSIGN, TOPICS, make_topic, reassign, run
from tests.live.records import Record, write
from tests.waiting import eventually

pytestmark = pytest.mark.django_db
FLAGS = {
    "under_replicated": "--under-replicated-partitions",
    "at_min_isr": "--at-min-isr-partitions",
    "under_min_isr": "--under-min-isr-partitions",
    "offline": "--unavailable-partitions",
}
MOVED = [1, 2, 4]


def by_tool(cluster):
    """Return the partitions that Kafka's own tool lists for each count."""
    found = {}
    for name, flag in FLAGS.items():
        said = run(cluster, TOPICS, "--describe", flag)
        found[name] = set(re.findall(r"Topic: (\S+)\s+Partition: (\d+)", said))
    return found


def counted(rows):
    """Return the same of rows (topic, partition, counts)."""
    every = list(rows)
    return {
        name: {(topic, str(number)) for topic, number, text in every if f"|{name}|" in text}
        for name in FLAGS
    }


def by_topics(watched):
    watched.collect()
    rows = Partition.objects.filter(cluster=watched.row)
    return counted(rows.values_list("topic__name", "partition", "counted_text"))


def by_availability(watched, source):
    rows = PartitionStatus.objects.filter(cluster=watched.row)
    assert set(rows.values_list("source", flat=True)) == {source}
    return counted(rows.values_list("topic", "partition", "counted_text"))


def polled(watched):
    watched.collect()
    assert collect.take_in(watched.row.pk, timezone.now)
    return by_availability(watched, "poll")


def moved():
    return PartitionStatus.objects.get(topic="moved")


def begin_slowly(cluster, folder):
    """Move a replica of 6 MB with 1 kB/s: it is being added for as long as the test looks."""
    make_topic(cluster, "moved", (1, 2, 3))
    write(cluster, "moved", [Record(0, b"k", os.urandom(60_000)) for _ in range(100)])
    file = folder / "moved.json"
    plan = {"topic": "moved", "partition": 0, "replicas": MOVED}
    file.write_text(json.dumps({"version": 1, "partitions": [plan]}), encoding="utf-8")
    words = ["--reassignment-json-file", str(file), "--execute", "--throttle", "1000"]
    run(cluster, REASSIGN, *words)


@pytest.mark.timeout(900)
def test_counts_are_those_of_kafkas_tool_while_a_replica_is_moved(small_lab, settings, tmp_path):
    settings.CROSSLOG_ARCHIVE = tmp_path / "archive"
    quiet = {"auto.leader.rebalance.enable": "false"}
    cluster = small_lab("moving", nodes=4, overrides=quiet).cluster("moving")
    watched = Watched(cluster)
    make_topic(cluster, "single", (1,), min_insync_replicas="2")
    make_topic(cluster, "turned", (1, 2, 3))
    reassign(cluster, tmp_path, "turned", (2, 1, 3))
    begin_slowly(cluster, tmp_path)

    told = by_tool(cluster)
    assert ("moved", "0") not in told["under_replicated"]
    assert ("single", "0") in told["under_min_isr"]
    assert polled(watched) == told == by_topics(watched)
    assert (moved().adding, moved().removing, moved().missing) == ([4], [3], [])
    assert not OutOfSyncSpan.objects.filter(topic="moved").exists()
    _assert_preferred_leaders(watched)

    cluster.node(3).kill()
    eventually(lambda: ("moved", "0") in by_tool(cluster)["under_replicated"], 60, every=1)
    told = by_tool(cluster)
    eventually(lambda: polled(watched) == told, 30, every=1)
    assert (moved().adding, moved().missing) == ([4], [3])
    assert by_topics(watched) == told

    watched.until(lambda: PartitionStatus.objects.filter(topic="moved", source="log").exists()
                  and moved().missing == [3])  # fmt: skip
    assert (moved().adding, moved().removing) == ([4], [3])
    assert by_availability(watched, "log") == told == by_tool(cluster)
    (one,) = (one for one in cluster_model(watched.row).partitions if one.topic == "moved")
    assert (one.adding, one.removing) == ((4,), (3,))


def _assert_preferred_leaders(watched):
    """What the tool elects is what is counted as lost."""
    lost = {place for one in leader_shares(cluster_model(watched.row)) for place in one.lost}
    said = run(watched.cluster, ELECTION, "--election-type", "PREFERRED", "--all-topic-partitions")
    elected = re.search(r"Successfully completed leader election.*?partitions (.*)", said)
    assert elected is not None, said
    assert lost == set(re.findall(r"[^\s,]+", elected[1]))
    assert "turned-0" in lost
