"""Names of topics, against what MirrorMaker 2's own classes answer."""

import pytest

from jobs.replication.policy import DefaultReplicationPolicy
from tests.jobs.replication.policies import FILE, policy_from
from tests.support import conformance_cases

PREDICATES = {
    "is_heartbeats": "is_heartbeats_topic",
    "is_checkpoints": "is_checkpoints_topic",
    "is_mm2_internal": "is_mm2_internal_topic",
    "is_internal": "is_internal_topic",
}


IN_3_9 = pytest.mark.parametrize("in_3_9", [False, True], ids=["now", "3.9"])


@IN_3_9
@pytest.mark.parametrize("case", conformance_cases(FILE, "corner_case"))
def test_corner_cases_are_answered_as_upstream_does(case, in_3_9):
    policy = policy_from(case["policy"], names_ending_in_internal=in_3_9)
    answers = {
        "format_remote_topic": policy.format_remote_topic(
            case["format_with_source_alias"], case["topic"]
        ),
        **{
            name: getattr(policy, name)(case["topic"])
            for name in ("topic_source", "upstream_topic", "original_topic")
        },
        **{name: getattr(policy, method)(case["topic"]) for name, method in PREDICATES.items()},
    }
    assert answers == case["expected"] | (case.get("in_3_9", {}) if in_3_9 else {})


@IN_3_9
@pytest.mark.parametrize("case", conformance_cases(FILE, "predicate"))
def test_predicates_over_names(case, in_3_9):
    policy = policy_from(case["policy"], names_ending_in_internal=in_3_9)
    expected = case.get("in_3_9", case["expected"]) if in_3_9 else case["expected"]
    assert getattr(policy, PREDICATES[case["predicate"]])(case["topic"]) is expected


@pytest.mark.parametrize("case", conformance_cases(FILE, "topic_name"))
def test_internal_topics_are_named_with_the_internal_separator(case):
    arguments = [] if case["alias"] is None else [case["alias"]]
    assert getattr(policy_from(case["policy"]), case["function"])(*arguments) == case["expected"]


@pytest.mark.parametrize("case", conformance_cases(FILE, "call"))
def test_single_calls(case):
    assert getattr(policy_from(case["policy"]), case["function"])(*case["args"]) == case["expected"]


@pytest.mark.parametrize("case", conformance_cases(FILE, "offset_syncs_location"))
def test_offset_syncs_are_named_after_the_other_cluster(case):
    other = "target_alias" if case["expected"]["cluster"] == "source" else "source_alias"
    topic = policy_from(case["policy"]).offset_syncs_topic(case[other])
    assert topic == case["expected"]["topic"]


@pytest.mark.parametrize("topic", ["orders", "b.orders", "", "..", "heartbeats"])
def test_the_source_of_a_remote_topic_is_the_alias_it_was_made_with(topic):
    policy = DefaultReplicationPolicy()
    remote = policy.format_remote_topic("east", f"{topic}x")
    assert (policy.topic_source(remote), policy.upstream_topic(remote)) == ("east", f"{topic}x")
