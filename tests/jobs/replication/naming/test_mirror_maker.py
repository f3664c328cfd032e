"""Small answers of MirrorMaker 2, against upstream's own."""

import pytest

from jobs.cluster.descriptions import TopicPartition
from jobs.replication.naming.mirror_maker import assign_round_robin, rename_topic
from jobs.replication.policy import DefaultReplicationPolicy
from tests.jobs.replication.policies import FILE, policy_from
from tests.support import conformance_cases


@pytest.mark.parametrize("case", conformance_cases(FILE, "rename_topic"))
def test_topics_are_renamed_as_upstream_does(case):
    renamed = rename_topic(
        policy_from(case["policy"]),
        case["topic"],
        source_alias=case["source_alias"],
        target_alias=case["target_alias"],
    )
    assert renamed == case["expected"]


def test_a_topic_that_came_home_over_two_hops_loses_both_names():
    renamed = rename_topic(
        DefaultReplicationPolicy(), "west.north.t", source_alias="east", target_alias="west"
    )
    assert renamed == "t"


@pytest.mark.parametrize("case", conformance_cases(FILE, "task_assignment"))
def test_partitions_are_dealt_as_upstream_does(case):
    partitions = [
        TopicPartition(topic, number)
        for topic, count in case["partitions"].items()
        for number in range(count)
    ]
    dealt = assign_round_robin(partitions, case["tasks"])
    assert [[str(where) for where in task] for task in dealt] == case["expected"]


@pytest.mark.parametrize(("count", "tasks", "expected"), [(0, 3, 0), (2, 3, 2), (3, 1, 1)])
def test_no_task_is_without_a_partition(count, tasks, expected):
    partitions = [TopicPartition("t", number) for number in range(count)]
    assert len(assign_round_robin(partitions, tasks)) == expected
