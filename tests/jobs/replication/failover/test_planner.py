import json
from dataclasses import replace

import pytest

from jobs.cluster.errors import InvalidFields
from jobs.replication.failover.model import CheckState, FailoverPlan, FailoverRequest
from jobs.replication.failover.planner import check_request, make_plan
from tests.jobs.replication.failover.making import (
    GROUP,
    NOW_MS,
    empty,
    failback_evidence,
    failover_evidence,
    plan_of,
    settings,
    topic,
)


def topic_checks(found):
    (one,) = plan_of(found).topics
    return {check.key: check.state.value for check in one.checks}


@pytest.mark.parametrize(
    ("fields", "key", "state"),
    [
        pytest.param({}, "partitions", "passed", id="as many partitions"),
        pytest.param(
            {"here": {"topics": {"orders": topic("orders", 3)}}}, "partitions", "failed", id="fewer"
        ),
        pytest.param(
            {"west": {"topics": {"east.orders": topic("east.orders", 3)}}}, "partitions", "warning",
            id="more",
        ),
        pytest.param({"west": {"topics": {}}}, "topic_exists", "failed", id="no remote topic"),
        pytest.param({}, "settings", "passed", id="settings alike"),
        pytest.param({"west": {"configs": {}}}, "settings", "unknown", id="settings unreadable"),
        pytest.param(
            {"west": {"configs": {"east.orders": settings(retention_ms="1000")}}}, "retention.ms",
            "warning", id="kept for less long",
        ),
        pytest.param(
            {"here": {"configs": {"orders": settings(retention_ms="-1")}}}, "retention.ms", "warning",
            id="kept for ever here only",
        ),
        pytest.param(
            {"west": {"configs": {"east.orders": settings(cleanup_policy="compact")}}},
            "cleanup.policy", "warning", id="cleaned up otherwise",
        ),
        pytest.param(
            {"west": {"configs": {"east.orders": settings(max_message_bytes="1000")}}},
            "max.message.bytes", "warning", id="takes smaller records",
        ),
    ],
)  # fmt: skip
def test_checks_of_a_topic(fields, key, state):
    assert topic_checks(failover_evidence(**fields))[key] == state


def test_longer_retention_there_is_fine():
    found = failover_evidence(west={"configs": {"east.orders": settings(retention_ms="-1")}})
    assert topic_checks(found)["settings"] == "passed"


def test_a_topic_that_blocks_blocks_its_groups():
    assert plan_of(failover_evidence(west={"topics": {}})).group(GROUP).verdict is CheckState.FAILED


def plan_check(found, key):
    (one,) = [check for check in plan_of(found).checks if check.key == key]
    return one


def test_what_is_not_copied_yet_is_counted_once_for_all_groups():
    found = failover_evidence(here_end=300)
    both = {GROUP: found.origin.committed[GROUP], "other": found.origin.committed[GROUP]}
    found = replace(found, origin=replace(found.origin, committed=both), time_behind_ms=1800)
    check = plan_check(found, "copied")
    assert check.state is CheckState.WARNING
    assert check.what == "99 records of east are not on west yet, 1.8 s by record times."


def test_offsets_of_a_cluster_that_is_away_are_said_to_be_old():
    away = {"fault": "east: no broker answered", "committed_at_ms": NOW_MS - 12_000}
    check = plan_check(failover_evidence(here=away), "origin_answers")
    assert (check.state, check.evidence) == (CheckState.WARNING, "east: no broker answered")
    assert "12 s old" in check.what


@pytest.mark.parametrize(
    ("read_at_ms", "state"),
    [
        pytest.param(NOW_MS - 500, "passed", id="fresh"),
        pytest.param(NOW_MS - 100_000, "warning", id="old"),
        pytest.param(None, "unknown", id="not known"),
    ],
)
def test_how_old_the_offset_syncs_are(read_at_ms, state):
    found = failover_evidence()
    found = replace(found, legs=(replace(found.legs[0], read_at_ms=read_at_ms),))
    assert plan_check(found, "offset_syncs").state == state


@pytest.mark.parametrize(
    "found", [failover_evidence(), failback_evidence()], ids=["failover", "failback"]
)
def test_a_plan_survives_json(found):
    plan = plan_of(found)
    assert FailoverPlan.from_mapping(json.loads(json.dumps(plan.to_mapping()))) == plan


@pytest.mark.parametrize(
    ("wish", "fields"),
    [
        pytest.param(FailoverRequest(groups=("(",)), {"groups"}, id="no regular expression"),
        pytest.param(
            FailoverRequest(groups=(), topics=("",)), {"groups", "topics"}, id="nothing named"
        ),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused_at_its_field(wish, fields):
    with pytest.raises(InvalidFields) as wrong:
        check_request(wish)
    assert wrong.value.errors.keys() == fields


def test_a_share_group_is_in_the_plan_as_one_that_is_not_moved():
    """tests/conformance/reported/share_groups_left_out"""
    shares = {"g-share": empty("g-share", type="share")}
    found = failover_evidence(here={"groups": shares, "committed": {"g-share": {}}})
    plan = make_plan("to west", FailoverRequest(), found)
    assert [(one.group, one.verdict) for one in plan.groups] == [("g-share", CheckState.FAILED)]
