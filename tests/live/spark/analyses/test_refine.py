"""Committed offsets of real groups translated both ways, and refined by the records of two clusters."""

import pytest

from jobs.cluster.admin.groups import alter_group_offsets
from jobs.cluster.admin.topics import delete_topics
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from tests.jobs.spark.analyses.offsets.archives import make_archive
from tests.live.batches.copying import copy_all, flow_between
from tests.live.reading import read_all
from tests.live.records import new_topic, produce
from tests.live.spark.analyses.asking_offsets import found_by
from tests.support import wait_until

pytestmark = pytest.mark.live
COUNT = 60


def commit(cluster, group, offsets):
    with ClusterClient(cluster.connection) as client:
        done = alter_group_offsets(
            client, group, {where: CommittedOffset(offset) for where, offset in offsets.items()}
        )
    assert set(done.values()) == {None}


@pytest.fixture
def copied(east, west, tmp_path):
    """A copied topic with offset syncs of its first and last records alone, and a group on both sides."""
    topic = new_topic(east, 2)
    for partition in range(2):
        produce(east, topic, COUNT, partition, **{"transactional.id": f"tx-{topic}-{partition}"})
    flow = flow_between(east, west, topic)
    copy_all(flow, east, topic)
    remote = f"{east.connection.alias}.{topic}"
    pairs = {
        (topic, partition): pairs_of(east, west, topic, remote, partition) for partition in (0, 1)
    }
    folder = make_archive(
        tmp_path / "archive", {where: [found[0], found[-1]] for where, found in pairs.items()}
    )
    group = f"reads {topic}"
    commit(east, group, {TopicPartition(*where): found[20][0] for where, found in pairs.items()})
    commit(west, group, {TopicPartition(remote, 0): pairs[topic, 0][30][1]})
    resources = {"flow": {"flow": flow.to_mapping(), "archive": str(folder)}}
    return resources, group, remote, pairs


def pairs_of(east, west, topic, remote, partition):
    here, there = (
        {
            one.value(): one.offset()
            for one in read_all(cluster.connection, name)
            if one.partition() == partition
        }
        for cluster, name in ((east, topic), (west, remote))
    )
    return sorted((offset, there[value]) for value, offset in here.items())


def test_groups_are_translated_both_ways_and_refined_by_records(
    spark, tmp_path, east, west, copied
):
    resources, group, remote, pairs = copied
    (topic, _), *_ = pairs
    true = [found[20][1] for found in pairs.values()]
    forth = found_by(spark, "translate", tmp_path / "a", resources, group=group)["answers"]
    assert [(row["group"], row["line"], row["to_topic"]) for row in forth] == [
        (group, None, remote)
    ] * 2
    assert all(row["lo"] <= place <= row["hi"] for row, place in zip(forth, true, strict=True))
    (back,) = found_by(
        spark, "translate", tmp_path / "b", resources, group=group, direction="reverse"
    )["answers"]
    assert (back["topic"], back["to_topic"]) == (remote, topic)
    assert back["lo"] <= pairs[topic, 0][30][0] <= back["hi"]
    refined = found_by(spark, "refine", tmp_path / "c", resources, group=group)
    assert [(row["lo"], row["hi"], row["exact"]) for row in refined["refined"]] == [
        (place, place, True) for place in true
    ]
    assert (refined.facts["exact_before"], refined.facts["exact"]) == (0, 2)
    assert refined.notes == ()
    few = found_by(spark, "refine", tmp_path / "d", resources, group=group, most_records=5)
    assert "more than 5 records" in few["refined"][0]["reason"]
    with ClusterClient(west.connection) as client:
        delete_topics(client, [remote])
        wait_until(lambda: remote not in client.topic_names(), 30)
