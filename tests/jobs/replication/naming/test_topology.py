"""What the names of topics tell about flows, against MirrorClient's answers."""

import pytest

from jobs.replication.naming import topology
from tests.jobs.replication.policies import FILE, policy_from
from tests.support import conformance_cases


@pytest.mark.parametrize("case", conformance_cases(FILE, "count_hops"))
def test_hops_to_a_cluster_are_counted_in_the_name(case):
    policy = policy_from(case["policy"])
    assert topology.count_hops(policy, case["topic"], case["source_alias"]) == case["expected"]


@pytest.mark.parametrize("case", conformance_cases(FILE, "topic_set"))
def test_questions_over_a_set_of_topics(case):
    ask = getattr(topology, case["function"])
    more = [case["source_alias"]] if "source_alias" in case else []
    answer = ask(policy_from(case["policy"]), case["topics"], *more)
    assert answer == (set(case["expected"]) if isinstance(answer, set) else case["expected"])


def test_a_name_that_goes_in_a_circle_ends_before_a_cluster_comes_twice():
    policy = policy_from(
        {
            "class": "DefaultReplicationPolicy",
            "separator": ".",
            "internal_topic_separator_enabled": True,
        }
    )
    assert list(topology.sources_of(policy, "a.b.a.t")) == ["a", "b"]
