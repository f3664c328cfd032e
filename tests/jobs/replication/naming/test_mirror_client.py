"""Small answers of MirrorMaker 2, against upstream's own."""

import pytest

from jobs.replication.naming.mirror_client import rename_topic
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
