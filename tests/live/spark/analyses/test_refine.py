"""Committed offsets of real groups translated both ways, and refined by the records of two clusters."""

from dataclasses import dataclass

import pytest

from jobs.cluster.admin.groups import alter_group_offsets
from jobs.cluster.client import ClusterClient
from jobs.cluster.descriptions import CommittedOffset, TopicPartition
from jobs.replication.translation.record_comparison import TOO_MANY
from tests.jobs.spark.analyses.offsets.archives import make_archive
from tests.live.copiers import copy_all, flow_between
from tests.live.records import produce, read_messages
from tests.live.spark.analyses.asking_offsets import found_by
from tests.live.topics import new_topic

COUNT = 60
FORTH, BACK = 20, 30


def commit(cluster, group, offsets):
    with ClusterClient(cluster.connection) as client:
        done = alter_group_offsets(
            client, group, {where: CommittedOffset(offset) for where, offset in offsets.items()}
        )
    assert set(done.values()) == {None}


@dataclass
class Copied:
    """A copied topic with offset syncs of its first and last records alone, and a group on both sides."""

    resources: dict
    topic: str
    remote: str
    group: str
    pairs: list

    @property
    def places(self):
        """Where the group goes on, on the target."""
        return [pairs[FORTH][1] for pairs in self.pairs]


@pytest.fixture(scope="module")
def copied(east, west, tmp_path_factory):
    topic = new_topic(east, 2)
    for partition in range(2):
        produce(east, topic, COUNT, partition)
    flow = flow_between(east, west, topic)
    copy_all(flow, east, topic)
    remote, group = f"{east.connection.alias}.{topic}", f"reads {topic}"
    pairs = [pairs_of(east, west, topic, remote, partition) for partition in (0, 1)]
    syncs = {(topic, number): [found[0], found[-1]] for number, found in enumerate(pairs)}
    folder = make_archive(tmp_path_factory.mktemp("syncs") / "archive", syncs)
    commit(east, group, {TopicPartition(topic, n): own[FORTH][0] for n, own in enumerate(pairs)})
    commit(west, group, {TopicPartition(remote, 0): pairs[0][BACK][1]})
    resources = {"flow": {"flow": flow.to_mapping(), "archive": str(folder)}}
    return Copied(resources, topic, remote, group, pairs)


def pairs_of(east, west, topic, remote, partition):
    here, there = (
        {
            one.value(): one.offset()
            for one in read_messages(cluster, name)
            if one.partition() == partition
        }
        for cluster, name in ((east, topic), (west, remote))
    )
    return sorted((offset, there[value]) for value, offset in here.items())


def test_groups_are_translated_to_where_they_may_go_on(spark, tmp_path, copied):
    found = found_by(spark, "translate", tmp_path, copied.resources, group=copied.group)["answers"]
    assert [(row["group"], row["line"], row["to_topic"]) for row in found] == [
        (copied.group, None, copied.remote)
    ] * 2
    assert all(
        row["lo"] <= true < row["hi"] for row, true in zip(found, copied.places, strict=True)
    )


def test_groups_on_the_target_are_translated_back(spark, tmp_path, copied):
    asked = {"group": copied.group, "direction": "reverse"}
    (found,) = found_by(spark, "translate", tmp_path, copied.resources, **asked)["answers"]
    assert (found["topic"], found["to_topic"]) == (copied.remote, copied.topic)
    assert found["lo"] <= copied.pairs[0][BACK][0] <= found["hi"]


def test_where_the_records_are_the_same_every_place_is_exact(spark, tmp_path, copied):
    found = found_by(spark, "refine", tmp_path, copied.resources, group=copied.group)
    assert [(row["lo"], row["hi"], row["exact"]) for row in found["refined"]] == [
        (place, place, True) for place in copied.places
    ]
    assert {row["compared"] for row in found["refined"]} == {COUNT - 2}
    assert (found.facts["exact_before"], found.facts["exact"]) == (0, 2)
    assert found.notes == ()


def test_no_more_records_are_read_than_was_said(spark, tmp_path, copied):
    asked = {"group": copied.group, "most_records": 5}
    found = found_by(spark, "refine", tmp_path, copied.resources, **asked)
    assert {row["reason"] for row in found["refined"]} == {TOO_MANY.format(5)}


def test_a_topic_that_is_gone_from_the_target_is_told_in_its_rows(spark, tmp_path, copied):
    known = copied.resources["flow"]
    (tmp_path / "list").write_text(f"{copied.topic},0,20\n{copied.topic},0,0\n")
    resources = {
        "flow": {**known, "flow": {**known["flow"], "separator": "_"}},
        "offsets": {"path": str(tmp_path / "list")},
    }
    found = found_by(spark, "refine", tmp_path, resources)
    gone, exact = found["refined"]
    assert gone["reason"].startswith("west: ")
    assert (gone["lo"], gone["hi"], gone["exact"]) == (gone["lo_before"], gone["hi_before"], False)
    assert exact["exact"] is True
    assert len(found.notes) == 1
